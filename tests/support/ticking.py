"""What the tests of the scheduler share: an application on a movable clock, and its turns by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from jobtrail.testing import MovableClock, drain

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday


def at(text: str, day: datetime = NOON) -> datetime:
    """A time of the day, "12:30" or "12:30:05"."""
    parts = [int(part) for part in text.split(":")]
    return day.replace(hour=parts[0], minute=parts[1], second=parts[2] if len(parts) > 2 else 0)


class Ticking:
    """An application whose time is moved by hand, one scheduler beside it, and a task ``work``."""

    def __init__(self, make_jobs: Any, start: datetime = NOON, **settings: Any) -> None:
        self.clock = MovableClock(start)
        self.jobs = make_jobs(clock=self.clock, **settings)
        self.slots_seen: list[datetime | None] = []
        self.fails = False

        @self.jobs.task
        def work(ctx, number: int = 0):
            self.slots_seen.append(ctx.slot)
            if self.fails:
                raise RuntimeError("it fails")
            return number

        self.work = work
        self.scheduler = self.jobs.schedules.scheduler()

    def declare(self, rule: Any, **options: Any) -> None:
        """Declare a schedule called "s" (or ``name``) and store it."""
        self.jobs.schedule(rule, name=options.pop("name", "s"), **options)(self.work)
        self.jobs.schedules.sync()

    def turn(self, moment: datetime | str | None = None, *, run: bool = True) -> Any:
        """A turn of the scheduler at a moment, and then (``run``) the jobs that are due."""
        if moment is not None:
            self.clock.set(at(moment) if isinstance(moment, str) else moment)
        turn = self.scheduler.run_once()
        while turn.wait == 0:
            turn = self.scheduler.run_once()
        if run:
            drain(self.jobs)
        return turn

    def settle(self, *, seconds: float = 1.5, times: int = 60) -> None:
        """Turn after turn with the jobs in between, until nothing is submitted any more."""
        for _ in range(times):
            self.clock.move(seconds=seconds)
            if not self.turn().submitted and self.jobs.schedules.get("s").row.waits_for is None:
                return

    def get(self, name: str = "s") -> Any:
        """The schedule."""
        return self.jobs.schedules.get(name)

    def told(self, name: str = "s") -> list[tuple[str, str]]:
        """(time, what became of it), oldest first: ("12:10", "ran"), ("12:20", "paused")."""
        found = sorted(self.jobs.schedules.slots(name, limit=5000), key=lambda slot: slot.planned_at)
        return [(f"{slot.planned_at:%H:%M}", "ran" if slot.state == "submitted" else slot.reason) for slot in found]

    def ran(self, name: str = "s") -> list[str]:
        """The times that were run."""
        return [time for time, what in self.told(name) if what == "ran"]

    def events(self, name: str = "s") -> list[str]:
        """The names in the schedule's trail."""
        return [one.name for one in self.jobs.schedules.events(name)]


def minutes(first: str, last: str, step: int) -> list[str]:
    """The times from first to last."""
    found, moment = [], at(first)
    while moment <= at(last):
        found.append(f"{moment:%H:%M}")
        moment += timedelta(minutes=step)
    return found
