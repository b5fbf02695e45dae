"""A schedule as it was read: the definition in force, what a person edited, and its state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobtrail.job.masking import masked
from jobtrail.messages import render

from .definition import DEFAULTS
from .rules.wording import words
from .state import ScheduleState, declared_of, edits_of, rule_of, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from jobtrail.store.schedules import ScheduleRow

    from .definition import ScheduleDefinition


@dataclass(frozen=True, slots=True)
class Edited:
    """What a person changed of a declared schedule.

    Args:
        changes: (declared, edited) value by option.
        by: Who changed it last.
        at: When, as ISO text.
        reason: Why.

    """

    changes: Mapping[str, tuple[Any, Any]]
    by: str | None
    at: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it was read.

    Args:
        row: Its row.
        definition: The definition in force; None if it cannot be read.
        drift: What a person changed, if anything.
        last_status: Status of its last job.
        problem: Why the definition cannot be read.

    """

    row: ScheduleRow
    definition: ScheduleDefinition | None
    drift: Edited | None
    last_status: str | None
    problem: str | None = None

    @property
    def id(self) -> str:
        """The id of the schedule and of its trail."""
        return self.row.id

    @property
    def name(self) -> str:
        """The name of the schedule."""
        return self.row.name

    @property
    def task(self) -> str:
        """The name of the task whose jobs it creates."""
        return self.row.task

    @property
    def origin(self) -> str:
        """code, settings, celery, plugin:NAME or person."""
        return self.row.origin

    @property
    def state(self) -> str:
        """active, paused, retired (the program does not declare it any more) or finished (it has no further times)."""
        return self.row.state

    @property
    def next_at(self) -> datetime | None:
        """The next planned time (UTC), also during a pause."""
        return self.row.next_at

    @property
    def zone(self) -> str:
        """The time zone in which its times are shown."""
        return self.definition.rule.zone if self.definition else "UTC"

    def next(self, count: int, now: datetime) -> list[datetime]:
        """Return the next planned times after ``now``, at most ``count``; fewer if ``ends_at`` or ``max_runs`` ends the schedule."""
        return list(self._following(count, now))

    def _following(self, count: int, now: datetime) -> Iterator[datetime]:
        row = self.row
        if self.definition is None or row.next_at is None:
            return
        state = ScheduleState(self.definition, rule_of(self.definition, row), row.id, row.next_at)
        most = self.definition.max_runs
        left = count if most is None else min(count, most - row.runs)
        at: datetime | None = row.next_at if row.next_at > now else state.first_after(now)
        while at is not None and left > 0:
            yield at
            at, left = state.first_after(at), left - 1

    def in_words(self, language: str = "en") -> str:
        """Return the rule in words, or why the definition cannot be read.

        Args:
            language: ``"en"`` or ``"ru"``.

        Raises:
            InvalidOption: If there is no such language.

        """
        return self.problem or "" if self.definition is None else words(self.definition.rule, language)


def masked_options(options: Mapping[str, Any], marked: frozenset[str]) -> dict[str, Any]:
    """Return options of a schedule with the secrets among its arguments masked; ``marked`` are those that its task declares."""
    return {name: masked(value, marked) if name in {"args", "celery"} else value for name, value in options.items()}


def view(row: ScheduleRow, last_status: str | None) -> Schedule:
    """Return the schedule of a row, also if its definition cannot be read."""
    try:
        declared, edits = declared_of(row), edits_of(row)
        in_force = declared.with_changes(edits)
    except (ValueError, KeyError, TypeError) as error:
        return Schedule(row, None, None, last_status, render(unreadable(error)))
    return Schedule(row, in_force, _drift(row, declared, edits), last_status)


def _drift(row: ScheduleRow, declared: ScheduleDefinition, edits: Mapping[str, Any]) -> Edited | None:
    if not edits:
        return None
    stored = json.loads(row.edits or "{}")
    ours = declared.to_json()
    changes = {name: (ours.get(name, DEFAULTS[name]), value) for name, value in edits.items()}
    return Edited(changes, stored.get("by"), stored.get("at"), stored.get("reason"))
