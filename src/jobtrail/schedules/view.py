"""A schedule as people and programs see it: read once, with what is in force, what was edited, and how it stands."""

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
    """What a person changed of what the program declares: (declared, his) by word; who, when and why."""

    changes: Mapping[str, tuple[Any, Any]]
    by: str | None
    at: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it was read.

    definition: what is in force; None where it cannot be read, and then ``problem`` says why. drift: what a person
    changed. last_status: of its last job. target_missing_since: nobody knows its task.
    """

    row: ScheduleRow
    definition: ScheduleDefinition | None
    drift: Edited | None
    last_status: str | None
    problem: str | None = None

    @property
    def id(self) -> str:
        """Its id, under which its trail is kept."""
        return self.row.id

    @property
    def name(self) -> str:
        """Its name."""
        return self.row.name

    @property
    def task(self) -> str:
        """The name of the task whose jobs it makes."""
        return self.row.task

    @property
    def origin(self) -> str:
        """code, settings, celery, plugin:NAME or person."""
        return self.row.origin

    @property
    def state(self) -> str:
        """active, paused, retired (the program declares it no more) or finished (it has no more times)."""
        return self.row.state

    @property
    def next_at(self) -> datetime | None:
        """The next planned time, UTC; also while it is paused."""
        return self.row.next_at

    @property
    def zone(self) -> str:
        """Where its times are shown."""
        return self.definition.rule.zone if self.definition else "UTC"

    def next(self, count: int, now: datetime) -> list[datetime]:
        """The next planned times after now, at most ``count``, as long as it goes on and as far as its runs are counted."""
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
        """Its rule in words."""
        return self.problem or "" if self.definition is None else words(self.definition.rule, language)


def masked_words(told: Mapping[str, Any], marked: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Words of a schedule with the secrets among its arguments masked."""
    return {word: masked(value, marked) if word == "args" else value for word, value in told.items()}


def view(row: ScheduleRow, last_status: str | None) -> Schedule:
    """A row as it is seen; one that cannot be read is seen too."""
    try:
        declared, edits = declared_of(row), edits_of(row)
        in_force = declared.with_changes(edits)
    except (ValueError, KeyError, TypeError) as error:
        return Schedule(row, None, None, last_status, render(unreadable(error)))
    return Schedule(row, in_force, _drift(row, declared, edits), last_status)


def _drift(row: ScheduleRow, declared: ScheduleDefinition, edits: Mapping[str, Any]) -> Edited | None:
    if not edits:
        return None
    told = json.loads(row.edits or "{}")
    ours = declared.to_json()
    changes = {name: (ours.get(name, DEFAULTS[name]), value) for name, value in edits.items()}
    return Edited(changes, told.get("by"), told.get("at"), told.get("reason"))
