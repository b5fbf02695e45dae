"""Modules that have lived for a day under a movable clock, and messages about them; for tests of pages and for pictures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobtrail import JobTrail
from jobtrail.notify import AlertRule, Notify, OutgoingMessage
from jobtrail.office import Office
from jobtrail.testing import MovableClock, drain

if TYPE_CHECKING:
    from pathlib import Path

MODULES: dict[str, dict[str, Any]] = {
    "parser": {"warn_after": 360}, "feed": {"warn_after": 600, "error_after": 1800}, "prices": {}, "backup": {}, "scanner": {"warn_after": 86_400, "error_after": 172_800},
}  # fmt: skip


class Pager:
    """A channel that nobody answers."""

    kind, target, fallback, secrets, knows_ids = "pager", "pager.example.org", None, (), False

    def send(self, message: OutgoingMessage) -> None:
        """Fail: the number is not known there."""
        from jobtrail.notify.channels.base import SendingFailed

        raise SendingFailed("550 no such number", permanent=True)


def application(url: str, clock: MovableClock, **options: Any) -> JobTrail:
    """An application with Office, whose beats are written at once, and with a channel that fails."""
    rules = [AlertRule("on-call", kinds="module.*", channels=["pager"], quiet="22:00-07:00 Europe/Berlin", remind=3600)]
    office = Office(modules=MODULES, blind_after=600, **options)
    jobs = JobTrail(url, plugins=[Notify(rules=rules, channels={"pager": Pager()}, retry=2), office], clock=clock)
    jobs.migrate()
    return jobs


def live(jobs: JobTrail, clock: MovableClock, hours: float = 24) -> None:
    """Let the modules report: prices falls silent twice, feed is silent at the end, backup is under maintenance."""
    jobs.notify.turn()
    end = int(hours * 60)
    for minute in range(0, end, 5):
        jobs.office.beat("parser", rows=100 + minute % 70, queue=minute % 11)
        jobs.office.beat("backup")
        if minute < end - 25:
            jobs.office.beat("feed", lag=1 + minute % 7 / 4)
        if not (60 <= minute < 90 or minute >= end - 40):
            jobs.office.beat("prices")
        jobs.office.flush()
        if minute == end - 60:
            jobs.office.pause("backup", reason="moves to another disk", actor="person:ann")
        clock.move(minutes=4)  # short of the limit
        jobs.office.run_once()
        clock.move(minutes=1)
    jobs.office.beat("parser", rows=140, queue=3, message="page 41 of 52", wait=True)
    jobs.office.run_once()
    jobs.office.aggregate()
    deliver(jobs, clock)
    jobs.office.run_once()  # somebody has watched until now


def deliver(jobs: JobTrail, clock: MovableClock) -> None:
    """Run what is to be told."""
    for _ in range(4):
        jobs.notify.turn()
        drain(jobs, queues=["default"])
        clock.move(seconds=40)


def lived(folder: Path, hours: float = 24) -> tuple[JobTrail, MovableClock]:
    """An application whose modules have lived for some hours that end about now."""
    clock = MovableClock(datetime.now(UTC) - timedelta(hours=hours))
    jobs = application(f"sqlite:///{folder / 'jobs.db'}", clock)
    live(jobs, clock, hours)
    return jobs, clock
