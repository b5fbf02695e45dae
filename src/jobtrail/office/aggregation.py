"""Figures of each UTC hour: minutes in each status, beats, flips, the longest gap, numbers; and the clean-up after them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlalchemy import delete, func, literal, literal_column, select, union, update
from sqlalchemy.dialects import postgresql, sqlite

from .rules import ModuleStatus
from .samples import BEATS, HOUR, hour_of
from .store import REMOVED
from .tables import metrics_hourly, module_samples, module_status, office_watch, status_history

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from jobtrail.database.dialects import Dialect
    from jobtrail.store import Store

LONGEST_CATCH_UP = timedelta(days=31)
HOURS = "hours"  # the row of the watch that says up to where the figures are complete
CHUNK = 2000  # rows
REST = 4.0  # times as long as a chunk took
_COLUMNS = ("module", "hour", "measure", "value", "least", "most", "weight")


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a module's history; ``was`` is None for its registration."""

    at: datetime
    was: str | None
    to: str


@dataclass(frozen=True, slots=True)
class HourSample:
    """What the beats of an hour add up to, as it is stored; times are those of the first and the last beat."""

    count: float
    first_at: datetime
    last_at: datetime
    gap: float
    numbers: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an hour: its value, and for numbers the least, the greatest and how many made it (else 1)."""

    measure: str
    value: float
    least: float | None = None
    most: float | None = None
    weight: float = 1.0


def hours_of_day(day: datetime, zone: str) -> list[datetime]:
    """Return the UTC hours of the local day in which a moment lies: 24, or 23 or 25 when the clock changes."""
    local = day.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    first = local.replace(tzinfo=ZoneInfo(zone)).astimezone(day.tzinfo)
    after = (local + timedelta(days=1)).replace(tzinfo=ZoneInfo(zone)).astimezone(day.tzinfo)
    begin, found = hour_of(first), []
    while begin < after:
        found.append(begin)
        begin += HOUR
    return found


def spans(start: datetime, end: datetime, status: str | None, changes: Sequence[Change]) -> list[tuple[datetime, datetime, str]]:
    """Return the times of each status between two moments: (from, to, status). ``status`` is that at the start, None for none."""
    found: list[tuple[datetime, datetime, str]] = []
    at = start
    for change in changes:
        if status is not None and change.at > at:
            found.append((at, change.at, status))
        at, status = max(change.at, start), None if change.to == REMOVED else change.to
    if status is not None and end > at:
        found.append((at, end, status))
    return found


def figures(
    start: datetime, end: datetime, status: str | None, changes: Sequence[Change], sample: HourSample | None
) -> list[Figure]:
    """Return the figures of one module for a time, which is an hour or the begun part of one."""
    lived = spans(start, end, status, changes)
    minutes = dict.fromkeys(ModuleStatus, 0.0)
    for begins, ends, what in lived:
        minutes[ModuleStatus(what)] += (ends - begins).total_seconds() / 60
    flips = sum(1 for change in changes if change.was is not None and change.was != change.to)
    found = [Figure(f"minutes.{name.value}", round(value, 6)) for name, value in minutes.items() if value]
    found += [Figure("beats", sample.count if sample else 0.0), Figure("flips", float(flips))]
    if lived:
        found.append(Figure("longest_gap", _longest_gap(lived[0][0], lived[-1][1], sample)))
    for name, (weight, total, least, most) in sorted(sample.numbers.items()) if sample else ():
        found.append(Figure(f"number.{name}", total / weight, least, most, weight))
    return found


def _longest_gap(start: datetime, end: datetime, sample: HourSample | None) -> float:
    """Seconds without a beat, no longer than the time itself."""
    if sample is None:
        return (end - start).total_seconds()
    before, after = (sample.first_at - start).total_seconds(), (end - sample.last_at).total_seconds()
    return max(before, sample.gap, after, 0.0)


# -- reading and writing ----------------------------------------------------------------------------------


def figures_of_hour(
    conn: Connection, hour: datetime, end: datetime, names: Iterable[str] | None = None
) -> dict[str, list[Figure]]:
    """Return the figures of an hour, or of its part before ``end``, by module; of all modules, or of some."""
    wanted = set(_modules_of(conn, hour, end) if names is None else names)
    status = _status_at(conn, hour, wanted)
    samples = _samples(conn, hour, wanted if names is not None else None)
    return {
        name: figures(hour, end, status.get(name), _changes(conn, name, hour, end), samples.get(name))
        for name in sorted(wanted)
    }


def _changes(conn: Connection, name: str, start: datetime, end: datetime) -> list[Change]:
    """The history of one module in a time: of one, because a first pass may meet millions of lines."""
    column = status_history.c
    query = select(column.recorded_at, column["from"], column.to).where(
        column.module == name, column.recorded_at >= start, column.recorded_at < end
    )
    return [Change(at, was, to) for at, was, to in conn.execute(query.order_by(column.recorded_at, column.id))]


def _modules_of(conn: Connection, hour: datetime, end: datetime) -> set[str]:
    query = union(
        select(module_status.c.module).where(module_status.c.registered_at < end),
        select(status_history.c.module).where(status_history.c.recorded_at >= hour, status_history.c.recorded_at < end),
        select(module_samples.c.module).where(module_samples.c.hour == hour),
    )
    return set(conn.execute(query).scalars())


def _status_at(conn: Connection, moment: datetime, names: Iterable[str]) -> dict[str, str | None]:
    """The status at a moment: what the next change leaves, else the status now. So it is known however little history is left."""
    column = status_history.c
    current = {row.module: row.status for row in conn.execute(select(module_status.c.module, module_status.c.status))}
    found: dict[str, str | None] = {}
    for name in names:
        later = select(column["from"]).where(column.module == name, column.recorded_at >= moment)
        row = conn.execute(later.order_by(column.recorded_at, column.id).limit(1)).one_or_none()
        found[name] = row[0] if row is not None else current.get(name)
    return found


def _samples(conn: Connection, hour: datetime, names: Iterable[str] | None) -> dict[str, HourSample]:
    query = select(module_samples).where(module_samples.c.hour == hour)
    if names is not None:
        query = query.where(module_samples.c.module.in_(set(names)))
    rows = conn.execute(query).all()
    numbers: dict[str, dict[str, tuple[float, float, float, float]]] = {}
    for row in rows:
        if row.measure != BEATS:
            numbers.setdefault(row.module, {})[row.measure] = row.weight, row.total, row.least, row.most
    return {
        row.module: HourSample(row.weight, row.first_at, row.last_at, row.gap, numbers.get(row.module, {}))
        for row in rows
        if row.measure == BEATS
    }


def rows_of_hour(conn: Connection, hour: datetime) -> list[tuple[Any, ...]]:
    """Return the rows of a whole hour; reading them takes long where much has happened, so it is no part of the write."""
    return [
        (name, hour, one.measure, one.value, one.least, one.most, one.weight)
        for name, found in figures_of_hour(conn, hour, hour + HOUR).items()
        for one in found
    ]


def write_hour(conn: Connection, dialect: Dialect, hour: datetime, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write the rows of a whole hour, in place of those that are there. The same again has the same result."""
    conn.execute(delete(metrics_hourly).where(metrics_hourly.c.hour == hour))
    if rows:
        dialect.insert_many(conn, metrics_hourly, _COLUMNS, rows)


def complete_until(conn: Connection) -> datetime | None:
    """Up to when the figures of all hours are written; None if none ever were."""
    query = select(office_watch.c.aggregated_until).where(office_watch.c.name == HOURS)
    found: datetime | None = conn.execute(query).scalar_one_or_none()
    return found


def aggregate(store: Store, now: datetime) -> list[datetime]:
    """Write the figures of all full hours that have none yet, and once more those of the last one, whose beats may have come late.

    Returns:
        The hours, oldest first.
    """
    with store.read() as conn:
        until = complete_until(conn)
        first = _earliest(conn) if until is None else until - HOUR
    if first is None:
        return []
    hour = hour_of(max(first, now - LONGEST_CATCH_UP))
    done = []
    while hour + HOUR <= now:
        with store.read() as conn:
            rows = rows_of_hour(conn, hour)
        store.write_beside(partial(_write_and_note, dialect=store.dialect, hour=hour, rows=rows, now=now))
        done.append(hour)
        hour += HOUR
    return done


def _write_and_note(
    conn: Connection, *, dialect: Dialect, hour: datetime, rows: Sequence[tuple[Any, ...]], now: datetime
) -> None:
    write_hour(conn, dialect, hour, rows)
    make: Any = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    row = {"name": HOURS, "looked_at": now, "look_by": now, "cadence": 0.0, "aggregated_until": hour + HOUR}
    conn.execute(make(office_watch).values(row).on_conflict_do_nothing())
    column = office_watch.c.aggregated_until
    later = update(office_watch).where(office_watch.c.name == HOURS, column < hour + HOUR)
    conn.execute(later.values(aggregated_until=hour + HOUR, looked_at=now))


def _earliest(conn: Connection) -> datetime | None:
    first = [
        conn.execute(select(func.min(module_status.c.registered_at))).scalar(),
        conn.execute(select(func.min(status_history.c.recorded_at))).scalar(),
        conn.execute(select(func.min(module_samples.c.hour))).scalar(),
    ]
    return min((one for one in first if one is not None), default=None)


# -- the clean-up -----------------------------------------------------------------------------------------


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def clean(
    store: Store, now: datetime, *, history: timedelta, figures_kept: timedelta, chunk: int = CHUNK,
    wait: Callable[[float], bool] = _sleep,
) -> int:  # fmt: skip
    """Write the figures of hours that have none, then remove what is older, in chunks with a rest after each.

    Args:
        store: The store.
        now: Its time.
        history: How long history and the sums of beats are kept.
        figures_kept: How long the figures of hours are kept.
        chunk: Rows of one transaction.
        wait: Called after each chunk with the seconds of its rest; True ends the pass.

    Returns:
        The number of removed rows.
    """
    aggregate(store, now)
    removed = 0
    for table, column, age in (
        (status_history, "recorded_at", history),
        (module_samples, "hour", max(history, 3 * HOUR)),
        (metrics_hourly, "hour", figures_kept),
    ):
        for number, rest in _chunks(store, table, column, now - age, chunk):
            removed += number
            if wait(rest):
                return removed
    return removed


def _chunks(store: Store, table: Table, column: str, edge: datetime, chunk: int) -> Iterable[tuple[int, float]]:
    """Remove the rows before an edge, oldest first: (rows, seconds of rest) of each chunk but the last."""
    mark: datetime | None = None
    while True:
        began = time.monotonic()
        times = store.write_beside(partial(_remove, table=table, column=column, mark=mark, edge=edge, chunk=chunk))
        yield len(times), REST * (time.monotonic() - began) if len(times) == chunk else 0.0
        if len(times) < chunk:
            return
        mark = max(times)


def _remove(
    conn: Connection, *, table: Table, column: str, mark: datetime | None, edge: datetime, chunk: int
) -> list[datetime]:
    """Remove a chunk; ``mark`` is where the last one ended, so that nobody wades through what it removed."""
    when = table.c[column]
    row: Any = literal_column("ctid" if conn.dialect.name == "postgresql" else "rowid")
    old = select(row).select_from(table).where(when < edge)
    if mark is not None:
        old = old.where(when >= mark)
    old = old.order_by(when).limit(literal(chunk))
    picked = row.in_(old) if conn.dialect.name != "postgresql" else row == func.any(func.array(old.scalar_subquery()))
    return list(conn.execute(delete(table).where(picked).returning(when)).scalars())
