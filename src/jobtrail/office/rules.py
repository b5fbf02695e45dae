"""When a module is ok, in warning or in error: pure rules. Times are UTC, limits are seconds; docs/reference/office.md states them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from jobtrail.errors import InvalidOption, NotFound
from jobtrail.messages import Message

from .quiet import QuietWindow, parse_quiet_hours, reached

LONGEST = 366 * 86400.0  # seconds
MOST_BEATS = 1000
MOST_NUMBERS = 20
_MODULE = re.compile(r"\w[\w.:@-]{0,99}")
_NUMBER = re.compile(r"[A-Za-z_][\w.-]{0,49}")
AHEAD = 1.0  # seconds by which a reported time may be ahead of the store's clock before that is said


class UnknownModule(NotFound):
    """There is no module of this name, and beats may not add one."""


class ModuleStatus(StrEnum):
    """What is known of a module."""

    NEW = "new"
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    PAUSED = "paused"


NEW, OK, WARNING, ERROR, PAUSED = ModuleStatus
REPORTED = (OK, WARNING, ERROR)
_RANK = {NEW: 0, OK: 0, WARNING: 1, ERROR: 2}


@dataclass(frozen=True, slots=True)
class ModuleLimits:
    """After how many seconds of silence a module is in warning and in error, and how many beats bring it back.

    Raises:
        InvalidOption: If a limit is not a number of seconds, or ``warn_after`` is not less than ``error_after``.
    """

    warn_after: float = 300.0
    error_after: float = 900.0
    recovery_beats: int = 1

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("warn_after", "error_after"):
            value: Any = getattr(self, name)
            right = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            if not right or not 1.0 <= value <= LONGEST:
                raise InvalidOption(Message("office.bad-limit", name=name, value=repr(value)))
        if self.warn_after >= self.error_after:
            raise InvalidOption(Message("office.limits-order", warn=self.warn_after, error=self.error_after))
        beats: Any = self.recovery_beats
        if not isinstance(beats, int) or isinstance(beats, bool) or not 1 <= beats <= MOST_BEATS:
            raise InvalidOption(Message("office.bad-recovery", value=repr(beats), most=MOST_BEATS))


@dataclass(frozen=True, slots=True)
class WatchedModule:
    """One module as it is stored.

    ``counts_from`` is the earliest moment from which silence counts: its registration, the end of a pause, or the return of
    the watcher. ``before_pause`` is the status that it would have while it is paused. ``streak`` counts the beats since
    it left ok. ``worst`` is its worst status since it was ok (a pause aside). ``version`` is counted by the store: it rises at every write
    that is more than a collected beat.
    """

    name: str
    status: ModuleStatus
    since: datetime
    registered_at: datetime
    counts_from: datetime
    limits: ModuleLimits = ModuleLimits()
    last_activity: datetime | None = None
    quiet_hours: str = ""
    paused_until: datetime | None = None
    before_pause: ModuleStatus | None = None
    reported: ModuleStatus | None = None
    worst: ModuleStatus | None = None
    streak: int = 0
    beats: int = 0
    version: int = 0

    @property
    def silent_from(self) -> datetime:
        """From when its silence counts."""
        return self.counts_from if self.last_activity is None else max(self.counts_from, self.last_activity)

    @property
    def quiet(self) -> tuple[QuietWindow, ...]:
        """Its quiet hours."""
        return parse_quiet_hours(self.quiet_hours) if self.quiet_hours else ()


@dataclass(frozen=True, slots=True)
class DueTimes:
    """When silence turns a module to warning and to error, and when it must be looked at next; None for never."""

    warn_at: datetime | None
    error_at: datetime | None
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class StatusChange:
    """What becomes of a module: the module after it, and why. ``is_change`` is false if the status stays."""

    module: WatchedModule
    was: ModuleStatus
    reason: Message

    @property
    def is_change(self) -> bool:
        """Whether the status is another one."""
        return self.module.status is not self.was


@dataclass(frozen=True, slots=True)
class ModuleBeat:
    """One sign of life. ``at`` is when it happened; ``status`` is what the module says of itself, None for nothing."""

    at: datetime
    status: ModuleStatus | None = None
    message: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)


def due_times(module: WatchedModule) -> DueTimes:
    """Return the due times of a module."""
    start, quiet = module.silent_from, module.quiet
    warn_at = reached(start, module.limits.warn_after, quiet)
    error_at = reached(start, module.limits.error_after, quiet)
    if module.status is PAUSED:
        return DueTimes(warn_at, error_at, module.paused_until)
    if module.status is ERROR:
        return DueTimes(warn_at, error_at, None)
    return DueTimes(warn_at, error_at, error_at if module.status is WARNING else warn_at)


def by_clock(module: WatchedModule, now: datetime) -> StatusChange | None:
    """Return what the time alone makes of a module: a limit was reached, or a pause has ended. Silence never improves a status."""
    if module.status is PAUSED:
        if module.paused_until is None or now < module.paused_until:
            return None
        resumed = resume(module, module.paused_until, Message("office.pause-ended"))
        later = by_clock(resumed.module, now)
        return resumed if later is None else replace(later, was=PAUSED)
    silent = by_silence(module, now)
    if silent is None or _RANK[silent] <= _RANK[module.status]:
        return None
    return _moved(module, silent, now, _why_silent(module, silent))


def by_silence(module: WatchedModule, now: datetime) -> ModuleStatus | None:
    """Return warning or error if the silence has reached that limit; exactly at the limit it has."""
    times = due_times(module)
    if times.error_at is not None and now >= times.error_at:
        return ERROR
    return WARNING if times.warn_at is not None and now >= times.warn_at else None


def _why_silent(module: WatchedModule, status: ModuleStatus) -> Message:
    limit = math.floor(module.limits.error_after if status is ERROR else module.limits.warn_after)
    if module.last_activity is None:
        return Message("office.never-reported", limit=limit)
    return Message("office.silent", limit=limit)


def counted(at: datetime | None, now: datetime) -> tuple[datetime, float]:
    """Return the moment at which a reported time counts, and by how many seconds it was ahead: the future counts as now."""
    if at is None or at <= now:
        return at or now, 0.0
    ahead = (at - now).total_seconds()
    return now, ahead if ahead > AHEAD else 0.0


def by_beat(module: WatchedModule, beat: ModuleBeat, now: datetime, beats: int = 1) -> StatusChange:
    """Return the module after a beat; ``is_change`` says whether its status is another one.

    A status that the module reports about itself stands until it reports another one. A better status needs
    ``recovery_beats`` beats in a row, each before the warning limit of the one before. While it is paused, all this moves
    ``before_pause``, and the module stays paused.
    """
    moment, _ = counted(beat.at, now)
    status = module.before_pause or OK if module.status is PAUSED else module.status
    last = module.last_activity
    in_row = last is None or (moment - last).total_seconds() < module.limits.warn_after
    reported = module.reported if beat.status is None else None if beat.status is OK else beat.status
    target = reported or OK
    after = replace(
        module, last_activity=moment if last is None else max(last, moment), beats=module.beats + beats, reported=reported,
        streak=0 if reported else module.streak + 1 if in_row else 1,
    )  # fmt: skip
    if target is OK and status is not OK and not _recovers(after, status, now):
        target = status
    if status is NEW and target is OK:
        reason = Message("office.first-report")
    elif reported is not None and target is reported:
        reason = Message("office.reported", status=target.value)
    else:
        reason = Message("office.reports-again")
    if module.status is PAUSED:
        moved = target is not status
        paused = replace(after, before_pause=target, streak=0 if moved else after.streak)
        return StatusChange(paused, PAUSED, reason)
    return StatusChange(after, status, reason) if target is status else _moved(after, target, now, reason)


def _recovers(module: WatchedModule, status: ModuleStatus, now: datetime) -> bool:
    enough = status is NEW or module.streak >= module.limits.recovery_beats
    return enough and by_silence(module, now) is None


def pause(module: WatchedModule, until: datetime | None, now: datetime) -> StatusChange:
    """Return the module paused until a moment, or until somebody resumes it; a paused one gets the new end."""
    before = module.before_pause if module.status is PAUSED else module.status
    paused = replace(
        module, status=PAUSED, before_pause=before, paused_until=until,
        since=module.since if module.status is PAUSED else now,
    )  # fmt: skip
    return StatusChange(paused, module.status, Message("office.paused"))


def resume(module: WatchedModule, now: datetime, reason: Message) -> StatusChange:
    """Return the module after its pause: what its reports have made of it meanwhile; silence counts from now."""
    status = module.before_pause or OK
    back = replace(
        module, status=status, since=now, before_pause=None, paused_until=None, counts_from=max(module.counts_from, now),
        worst=_worst(module, status),
    )  # fmt: skip
    return StatusChange(back, PAUSED, reason)


def with_settings(module: WatchedModule, limits: ModuleLimits, quiet_hours: str, now: datetime) -> StatusChange:
    """Return the module under other limits and quiet hours; its status is judged anew, for better or worse."""
    changed = replace(module, limits=limits, quiet_hours=quiet_hours)
    reason = Message("office.limits-changed")
    if module.status is PAUSED:
        return StatusChange(changed, PAUSED, reason)
    in_trouble = is_worse(module.status, OK)  # the end of a pause or the return of the watcher is no sign of life
    silent = by_silence(replace(changed, counts_from=changed.registered_at) if in_trouble else changed, now)
    quiet_before = NEW if module.last_activity is None else OK
    target = max((silent or quiet_before, module.reported or quiet_before), key=_RANK.__getitem__)
    if target is module.status:
        return StatusChange(changed, module.status, reason)
    return replace(_moved(changed, target, now, reason), was=module.status)


def watcher_returns(module: WatchedModule, now: datetime) -> WatchedModule:
    """Return the module after a time in which nobody watched: its silence counts from now."""
    return replace(module, counts_from=max(module.counts_from, now))


def clock_corrected(module: WatchedModule, now: datetime) -> WatchedModule | None:
    """Return the module with an activity of the future moved to now; None if it has none."""
    if module.last_activity is None or module.last_activity <= now + timedelta(seconds=AHEAD):
        return None
    return replace(module, last_activity=now)


def _worst(module: WatchedModule, status: ModuleStatus) -> ModuleStatus | None:
    if _RANK[status] == 0:
        return None
    return max((module.worst or status, status), key=_RANK.__getitem__)


def _moved(module: WatchedModule, to: ModuleStatus, now: datetime, reason: Message) -> StatusChange:
    after = replace(module, status=to, since=now, streak=0, worst=_worst(module, to))
    return StatusChange(after, module.status, reason)


def is_worse(status: ModuleStatus, than: ModuleStatus) -> bool:
    """Whether a status is worse than another; paused is compared with none."""
    return _RANK.get(status, 0) > _RANK.get(than, 0)


def check_module(name: Any) -> str:
    """Return the name of a module.

    Raises:
        InvalidOption: If it is not a text of up to 100 letters, digits and . : @ _ -, which begins with a letter or digit.
    """
    if not isinstance(name, str) or not _MODULE.fullmatch(name) or name.startswith("_"):
        raise InvalidOption(Message("office.bad-name", name=repr(name)))
    return name


def check_numbers(numbers: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a beat.

    Raises:
        InvalidOption: If there are too many, or a name or value is not valid.
    """
    if len(numbers) > MOST_NUMBERS:
        raise InvalidOption(Message("office.too-many-numbers", most=MOST_NUMBERS))
    for name, value in numbers.items():
        right = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300  # NaN is not less
        if not isinstance(name, str) or not _NUMBER.fullmatch(name) or not right:
            raise InvalidOption(Message("office.bad-number", name=repr(name), value=repr(value)))
    return dict(numbers)
