"""What is written of modules: each change names the version that it leaves, writes one line of history, and announces it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from jobtrail.messages import Message

from . import rules
from .rules import (
    ERROR,
    NEW,
    OK,
    PAUSED,
    WARNING,
    ModuleBeat,
    ModuleLimits,
    ModuleStatus,
    StatusChange,
    UnknownModule,
    WatchedModule,
    due_times,
)
from .tables import module_status, office_watch, status_history

Announce = Callable[[Connection, str, str, dict[str, Any], datetime], None]
"""``announce(conn, kind, subject, facts, at)``: tell of a transition, in the transaction that writes it."""

REMOVED = "removed"
LOOK_LIMIT = 100  # modules that one transaction judges
WATCH = "watch"
FALLS = 6  # from ok within an hour: it flaps
FLAPPING = "@office.flapping"
_STATE = (
    "module", "status", "since", "registered_at", "counts_from", "warn_after", "error_after", "recovery_beats",
    "last_activity", "quiet_hours", "paused_until", "before_pause", "reported", "worst", "streak", "beats", "version",
)  # fmt: skip
_COLUMNS = [module_status.c[name] for name in _STATE]


def nobody(conn: Connection, kind: str, subject: str, facts: dict[str, Any], at: datetime) -> None:
    """Announce to nobody."""
    del conn, kind, subject, facts, at


@dataclass(frozen=True, slots=True)
class Registration:
    """How a module is registered: its limits and quiet hours, and whether the program or a person named it before it reported."""

    limits: ModuleLimits = ModuleLimits()
    quiet_hours: str = ""
    declared: bool = False
    own_limits: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """What one look found: the transitions that it wrote, and whether more modules are due."""

    transitions: list[StatusChange]
    more: bool = False


def module_of(row: Row[Any]) -> WatchedModule:
    """Return the module of a row that has its columns."""
    return WatchedModule(
        row.module, ModuleStatus(row.status), row.since, row.registered_at, row.counts_from,
        ModuleLimits(row.warn_after, row.error_after, row.recovery_beats), row.last_activity, row.quiet_hours,
        row.paused_until, _status(row.before_pause), _status(row.reported), _status(row.worst), row.streak, row.beats,
        row.version,
    )  # fmt: skip


def _status(value: str | None) -> ModuleStatus | None:
    return None if value is None else ModuleStatus(value)


class ModuleStore:
    """The writes of modules, each inside a transaction of the caller."""

    def __init__(self, announce: Announce = nobody) -> None:
        self.announce = announce

    # -- reading -----------------------------------------------------------------------------------------

    def find(self, conn: Connection, name: str, *, lock: bool = False) -> WatchedModule | None:
        """Return a module, or None; with ``lock`` nobody else changes it before the end of the transaction."""
        query = select(*_COLUMNS).where(module_status.c.module == name)
        if lock and conn.dialect.name == "postgresql":
            query = query.with_for_update()
        row = conn.execute(query).one_or_none()
        return None if row is None else module_of(row)

    def get(self, conn: Connection, name: str) -> WatchedModule:
        """Return a module and lock it.

        Raises:
            UnknownModule: If there is none of this name.
        """
        found = self.find(conn, name, lock=True)
        if found is None:
            raise UnknownModule(Message("office.no-module", name=name))
        return found

    def find_many(self, conn: Connection, names: Iterable[str]) -> dict[str, WatchedModule]:
        """Return those of these modules that there are, by name."""
        query = select(*_COLUMNS).where(module_status.c.module.in_(list(names)))
        return {row.module: module_of(row) for row in conn.execute(query)}

    # -- registering -------------------------------------------------------------------------------------

    def register(self, conn: Connection, name: str, how: Registration, now: datetime) -> bool:
        """Add a module as new; False if there is one of this name already."""
        module = WatchedModule(name, NEW, now, now, now, how.limits, quiet_hours=how.quiet_hours)
        values = {**_values(module), "declared": how.declared, "own_limits": how.own_limits}
        make: Any = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
        added = make(module_status).values(values).on_conflict_do_nothing().returning(module_status.c.module)
        if conn.execute(added).first() is None:
            return False
        self._record(conn, now, name, None, NEW, Message("office.registered"))
        return True

    def remove(self, conn: Connection, name: str, reason: Message, actor: str | None, now: datetime) -> None:
        """Forget a module; its history stays until it is cleaned up. A problem that was announced is announced as over.

        Raises:
            UnknownModule: If there is none of this name.
        """
        module = self.get(conn, name)
        conn.execute(delete(module_status).where(module_status.c.module == name))
        self._record(conn, now, name, module.status, REMOVED, reason, actor)
        if module.worst is not None:
            facts = _facts(module, module, REMOVED, reason, None, now)
            self.announce(conn, "module.recovered", name, facts, now)

    # -- beats -------------------------------------------------------------------------------------------

    def beat(
        self, conn: Connection, name: str, beat: ModuleBeat, now: datetime, how: Callable[[], Registration], *, beats: int = 1
    ) -> StatusChange:
        """Write one beat at once; a module that is not registered yet is registered as ``how`` says, if it does not raise.

        ``beats`` is how many beats it counts as. Returns the module as it is stored, and whether its status is another one.
        """
        module = self.find(conn, name, lock=True)
        if module is None:
            self.register(conn, name, how(), now)
            module = self.get(conn, name)
        done = rules.by_beat(module, beat, now, beats)
        more: dict[str, Any] = {"ahead": rules.counted(beat.at, now)[1]}
        recovered = done.is_change and done.module.status is OK
        if beat.message is not None or recovered:
            more["message"] = beat.message
        if beat.numbers:
            more["metrics"] = numbers_text(beat.numbers)
        if done.module.status is OK and not done.is_change and beat.status is None:
            more["version"] = module.version  # nothing but a beat: what others know of it still holds
        self.apply(conn, module, done, now, **more)
        return replace(done, module=replace(done.module, version=more.get("version", module.version + 1)))

    # -- the clock ---------------------------------------------------------------------------------------

    def look(self, conn: Connection, now: datetime, *, limit: int = LOOK_LIMIT) -> Looked:
        """Judge the modules that are due, oldest first."""
        due = module_status.c.due_at
        found = conn.execute(select(*_COLUMNS).where(due <= now).order_by(due).limit(limit)).all()
        written = []
        for row in sorted(found, key=lambda one: str(one.module)):
            module = module_of(row)
            done = rules.by_clock(module, now)
            if done is None:
                self._look_later(conn, module)
            elif self.apply(conn, module, done, now):
                written.append(done)
        return Looked(written, len(found) == limit)

    @staticmethod
    def _look_later(conn: Connection, module: WatchedModule) -> None:
        later = update(module_status).where(module_status.c.module == module.name, _same(module))
        conn.execute(later.values(due_at=due_times(module).due_at))

    def watch(self, conn: Connection, now: datetime, cadence: float, tolerance: float) -> bool:
        """Note that somebody looks now, and will again within ``cadence`` seconds.

        If the last one who looked is overdue, nobody watched meanwhile: silence then counts from now, and the history says so.

        Args:
            conn: Connection in a transaction.
            now: Time of the store.
            cadence: Seconds until the next look of this watcher.
            tolerance: Seconds after which a missing look means that nobody watches.

        Returns:
            True if the watcher came back just now.
        """
        row = conn.execute(select(office_watch).where(office_watch.c.name == WATCH)).one_or_none()
        until = now + timedelta(seconds=max(tolerance, 2 * cadence))
        if row is None:
            first = {"name": WATCH, "looked_at": now, "look_by": until, "cadence": cadence}
            make: Any = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
            conn.execute(make(office_watch).values(first).on_conflict_do_nothing())
            return False
        back = now > row.look_by
        if not back and row.cadence < cadence:
            return False  # somebody with a closer look is on watch
        taken = update(office_watch).where(office_watch.c.name == WATCH, office_watch.c.looked_at == row.looked_at)
        values = {"looked_at": now, "look_by": until, "cadence": cadence, **({"back_at": now} if back else {})}
        won = conn.execute(taken.values(values)).rowcount == 1
        if won and back:
            self._not_observed(conn, row.looked_at, now)
        return won and back

    def _not_observed(self, conn: Connection, since: datetime, now: datetime) -> None:
        reason = Message("office.not-observed", since=since, until=now)
        watched = select(*_COLUMNS).where(module_status.c.status != PAUSED.value).order_by(module_status.c.module)
        for row in conn.execute(watched).all():
            module = module_of(row)
            returned = StatusChange(rules.watcher_returns(module, now), module.status, reason)
            if self.apply(conn, module, returned, now):
                self._record(conn, now, module.name, module.status, module.status, reason)

    def correct_clock(self, conn: Connection, now: datetime) -> None:
        """Let activities of the future (a clock was put back) count as now, and say so in the history."""
        late = now + timedelta(seconds=rules.AHEAD)
        for row in conn.execute(select(*_COLUMNS).where(module_status.c.last_activity > late)).all():
            module = module_of(row)
            corrected = rules.clock_corrected(module, now)
            if corrected is None:
                continue
            reason = Message("office.clock-ahead", seconds=round((row.last_activity - now).total_seconds()))
            if self.apply(conn, module, StatusChange(corrected, module.status, reason), now):
                self._record(conn, now, module.name, module.status, module.status, reason)

    # -- the guarded write -------------------------------------------------------------------------------

    def apply(
        self, conn: Connection, before: WatchedModule, done: StatusChange, now: datetime, *,
        actor: str | None = None, reason: Message | str | None = None, **more: Any,
    ) -> bool:  # fmt: skip
        """Write what became of a module, if it still is as it was; a change of status with its history, and announced.

        Returns:
            False if somebody else changed it first; then nothing is written.
        """
        values = {**_values(done.module), "version": before.version + 1, **more}
        changed = update(module_status).where(module_status.c.module == before.name, _same(before)).values(values)
        if conn.execute(changed).rowcount != 1:
            return False
        if done.is_change:
            why = reason or done.reason
            self._record(conn, now, before.name, before.status, done.module.status, why, actor)
            kind = _kind(before, done.module)
            if kind is not None:
                said = _facts(before, done.module, done.module.status, why, more.get("message"), now)
                self.announce(conn, kind, before.name, said, now)
            if before.status is OK and done.module.status in {WARNING, ERROR}:
                self._tell_of_flapping(conn, before.name, now)
        return True

    def _tell_of_flapping(self, conn: Connection, name: str, now: datetime) -> None:
        """Announce a module that falls from ok again and again, once in an hour; the history keeps that it was announced."""
        column, hour = status_history.c, timedelta(hours=1)
        lately = select(column["from"], column.to, column.reason).where(column.module == name, column.recorded_at > now - hour)
        rows = conn.execute(lately).all()
        falls = sum(1 for was, to, _ in rows if was == OK.value and to in {WARNING.value, ERROR.value})
        if falls < FALLS or any((reason or "").startswith(FLAPPING) for _, _, reason in rows):
            return
        module = self.find(conn, name)
        if module is not None:
            reason = Message("office.flapping", falls=falls)
            self._record(conn, now, name, module.status, module.status, reason)
            self.announce(conn, "module.flapping", name, {"module": name, "falls": falls, "reason": reason.stored}, now)

    @staticmethod
    def _record(
        conn: Connection, now: datetime, name: str, was: str | None, to: str, reason: Message | str,
        actor: str | None = None,
    ) -> None:  # fmt: skip
        line = {"recorded_at": now, "module": name, "from": was, "to": str(to), "actor": actor}
        line["reason"] = reason.stored if isinstance(reason, Message) else reason
        conn.execute(insert(status_history).values(line))


def _same(module: WatchedModule) -> Any:
    columns = module_status.c
    return (columns.version == module.version) & columns.last_activity.is_not_distinct_from(module.last_activity)


def _values(module: WatchedModule) -> dict[str, Any]:
    times = due_times(module)
    return {
        "module": module.name, "status": module.status.value, "since": module.since, "registered_at": module.registered_at,
        "counts_from": module.counts_from, "warn_after": module.limits.warn_after, "error_after": module.limits.error_after,
        "recovery_beats": module.limits.recovery_beats, "last_activity": module.last_activity,
        "quiet_hours": module.quiet_hours, "paused_until": module.paused_until, "before_pause": _word(module.before_pause),
        "reported": _word(module.reported), "worst": _word(module.worst), "streak": module.streak, "beats": module.beats,
        "warn_at": times.warn_at, "error_at": times.error_at, "due_at": times.due_at,
    }  # fmt: skip


def _word(status: ModuleStatus | None) -> str | None:
    return None if status is None else status.value


def _kind(before: WatchedModule, after: WatchedModule) -> str | None:
    """What a transition is announced as; a pause is not announced, and its end only if something is new."""
    if after.status in {WARNING, ERROR}:
        known = before.status is PAUSED and not rules.is_worse(after.status, before.worst or OK)
        return None if known else f"module.{after.status.value}"
    return "module.recovered" if after.status is OK and before.worst is not None else None


def _facts(
    before: WatchedModule, after: WatchedModule, to: str, reason: Message | str, message: str | None, now: datetime
) -> dict[str, Any]:
    """What a notification may name: plain JSON; ``worst`` is the worst status since the module was ok."""
    last = after.last_activity
    worst = after.worst or before.worst
    return {
        "module": before.name,
        "from": before.status.value,
        "to": str(to),
        "reason": reason.stored if isinstance(reason, Message) else reason,
        "message": message,
        "worst": None if worst is None else worst.value,
        "last_activity": None if last is None else last.isoformat(),
        "silent_seconds": None if last is None else round((now - last).total_seconds(), 3),
        "problem_seconds": None if before.worst is None else round((now - before.since).total_seconds(), 3),
    }


def numbers_text(numbers: Mapping[str, float]) -> str:
    """Return numbers as the column keeps them."""
    return json.dumps(dict(numbers), ensure_ascii=False, separators=(",", ":"))


def history_of(conn: Connection, name: str, *, since: datetime | None = None, limit: int = 1000) -> Sequence[Row[Any]]:
    """Return the history of a module, newest first."""
    query = select(status_history).where(status_history.c.module == name)
    if since is not None:
        query = query.where(status_history.c.recorded_at >= since)
    return conn.execute(query.order_by(status_history.c.recorded_at.desc(), status_history.c.id.desc()).limit(limit)).all()
