"""What people read of modules: cards, a bar of the last day, figures by hour, history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import Field
from sqlalchemy import Row, select

from jobtrail.messages import render
from jobtrail.queries.base import Model

from .aggregation import Change, Figure, figures_of_hour, hours_of_day, spans
from .quiet import is_quiet
from .rules import PAUSED
from .samples import HOUR, hour_of
from .store import WATCH, module_of
from .tables import metrics_hourly, module_status, office_watch, status_history

if TYPE_CHECKING:
    from sqlalchemy import Connection

CELL = timedelta(minutes=15)
CELLS = 96
LETTERS = {"error": "e", "warning": "w", "paused": "p", "new": "n", "ok": "o"}  # the worst first
NOTHING = "-"
MOST_HISTORY = 1000


class ModuleView(Model):
    """One module: a card. ``stale`` is true when its last activity is older than its warning limit, whatever its status."""

    module: str
    status: str
    since: datetime
    last_activity: datetime | None
    age: float | None = Field(description="seconds since the last activity")
    stale: bool
    warn_at: datetime | None
    error_at: datetime | None
    message: str | None
    numbers: dict[str, float]
    beats: int
    ahead: float = Field(description="seconds by which the last reported time was ahead of the store's clock; it counted as now")
    warn_after: float
    error_after: float
    recovery_beats: int
    quiet_hours: str
    quiet_now: bool
    own_limits: bool
    declared: bool = Field(description="named by the program or a person, not by its first beat alone")
    registered_at: datetime
    paused_until: datetime | None
    pause_reason: str | None
    pause_actor: str | None
    before_pause: str | None
    bar: str = Field("", description="96 quarters of an hour up to now: e, w, p, n, o for the worst status, - for none")


class ModulesView(Model):
    """All modules; ``bar_from`` is the start of the first quarter of an hour of each bar."""

    now: datetime
    bar_from: datetime
    watched_at: datetime | None = Field(description="when somebody last looked at the due times; None for never")
    watch_by: datetime | None = Field(description="until when the next look is expected; later nobody watches")
    counts: dict[str, int]
    modules: list[ModuleView]


class HistoryLine(Model):
    """One change of status. Lines whose ``from`` and ``to`` are equal are notes."""

    at: datetime
    was: str | None = Field(alias="from")
    to: str
    reason: str | None
    actor: str | None


class HourView(Model):
    """The figures of one UTC hour by measure; ``complete`` is false for the hour that has begun."""

    hour: datetime
    complete: bool
    figures: dict[str, dict[str, float | None]]


class ModuleDetail(Model):
    """One module with its history, newest first, and the figures of its last 24 hours, oldest first."""

    now: datetime
    module: ModuleView
    bar_from: datetime
    history: list[HistoryLine]
    hours: list[HourView]


def bar_start(now: datetime) -> datetime:
    """Return the start of the first cell of a bar that ends with the quarter of an hour of ``now``."""
    quarter = now.replace(minute=now.minute - now.minute % 15, second=0, microsecond=0)
    return quarter - (CELLS - 1) * CELL


def bar_of(start: datetime, now: datetime, status: str | None, changes: Sequence[Change]) -> str:
    """Return the worst status of each quarter of an hour, one letter each."""
    letters = [*LETTERS.values(), NOTHING]
    ranks = {name: place for place, name in enumerate(LETTERS)}
    cells = [len(ranks)] * CELLS
    for begins, ends, what in spans(start, now + timedelta(microseconds=1), status, changes):
        rank = ranks[what]
        first = max(0, (begins - start) // CELL)
        last = min(CELLS - 1, (ends - timedelta(microseconds=1) - start) // CELL)
        cells[first : last + 1] = [min(one, rank) for one in cells[first : last + 1]]
    return "".join([letters[rank] for rank in cells])


def modules_view(conn: Connection, now: datetime, *, bars: bool = True) -> ModulesView:
    """Return all modules, by name."""
    rows = conn.execute(select(module_status).order_by(module_status.c.module)).all()
    start = bar_start(now)
    drawn = _bars(conn, rows, start, now) if bars else {}
    views = [_view(row, now, drawn.get(row.module, "")) for row in rows]
    counts: dict[str, int] = {}
    for one in views:
        counts[one.status] = counts.get(one.status, 0) + 1
    watch = conn.execute(select(office_watch).where(office_watch.c.name == WATCH)).one_or_none()
    at, by = (None, None) if watch is None else (watch.looked_at, watch.look_by)
    return ModulesView(now=now, bar_from=start, watched_at=at, watch_by=by, counts=counts, modules=views)


def module_view(conn: Connection, name: str, now: datetime) -> ModuleView | None:
    """Return one module without its bar, or None."""
    row = conn.execute(select(module_status).where(module_status.c.module == name)).one_or_none()
    return None if row is None else _view(row, now, "")


def module_detail(conn: Connection, name: str, now: datetime, *, history: int = 100) -> ModuleDetail | None:
    """Return one module with its history and hours, or None."""
    row = conn.execute(select(module_status).where(module_status.c.module == name)).one_or_none()
    if row is None:
        return None
    start = bar_start(now)
    return ModuleDetail(
        now=now,
        module=_view(row, now, _bars(conn, [row], start, now)[name]),
        bar_from=start,
        history=history_lines(conn, name, limit=history),
        hours=day_view(conn, name, None, "UTC", now),
    )


def history_lines(
    conn: Connection, name: str, *, limit: int = 100, before: datetime | None = None
) -> list[HistoryLine]:
    """Return the history of a module, newest first; ``before`` is the time of the last line of the page before."""
    column = status_history.c
    query = select(status_history).where(column.module == name)
    if before is not None:
        query = query.where(column.recorded_at < before)
    rows = conn.execute(query.order_by(column.recorded_at.desc(), column.id.desc()).limit(min(limit, MOST_HISTORY)))
    return [
        HistoryLine.model_validate({
            "at": row.recorded_at, "from": row._mapping["from"], "to": row.to, "actor": row.actor,
            "reason": None if row.reason is None else render(row.reason),
        })
        for row in rows
    ]  # fmt: skip


def hours_view(conn: Connection, name: str, hours: Sequence[datetime], now: datetime) -> list[HourView]:
    """Return the figures of these hours: the stored ones, and for an hour that has none yet what they would be."""
    table = metrics_hourly
    query = select(table).where(table.c.module == name, table.c.hour >= hours[0], table.c.hour <= hours[-1])
    stored: dict[datetime, list[Figure]] = {}
    for row in conn.execute(query):
        found = Figure(row.measure, row.value, row.least, row.most, row.weight)
        stored.setdefault(row.hour, []).append(found)
    views = []
    for hour in hours:
        if hour > now:
            break
        found_here = stored.get(hour)
        if found_here is None and hour >= hour_of(now) - 2 * HOUR:
            found_here = figures_of_hour(conn, hour, min(hour + HOUR, now), [name])[name]
        views.append(HourView(hour=hour, complete=hour + HOUR <= now, figures=_as_dict(found_here or ())))
    return views


def day_view(conn: Connection, name: str, day: datetime | None, zone: str, now: datetime) -> list[HourView]:
    """Return the figures of the last 24 hours, or of a local day, which has 23 or 25 when the clock changes."""
    if day is None:
        return hours_view(conn, name, [hour_of(now) - place * HOUR for place in range(23, -1, -1)], now)
    return hours_view(conn, name, hours_of_day(day.astimezone(UTC), zone), now)


def _as_dict(found: Iterable[Figure]) -> dict[str, dict[str, float | None]]:
    return {
        one.measure: {"value": one.value, "least": one.least, "most": one.most, "weight": one.weight} for one in found
    }


def _bars(conn: Connection, rows: Sequence[Row[Any]], start: datetime, now: datetime) -> dict[str, str]:
    column = status_history.c
    query = select(column.module, column.recorded_at, column["from"], column.to).where(column.recorded_at >= start)
    if len(rows) == 1:
        query = query.where(column.module == rows[0].module)
    changes: dict[str, list[Change]] = {}
    for name, at, was, to in conn.execute(query.order_by(column.recorded_at, column.id)):
        changes.setdefault(name, []).append(Change(at, was, to))
    drawn = {}
    for row in rows:
        own = changes.get(row.module, [])
        drawn[row.module] = bar_of(start, now, own[0].was if own else row.status, own)
    return drawn


def _view(row: Row[Any], now: datetime, bar: str) -> ModuleView:
    module = module_of(row)
    last = module.last_activity
    age = None if last is None else max(0.0, (now - last).total_seconds())
    silent = (now - (last or module.registered_at)).total_seconds()
    values = {name: getattr(row, name) for name in ModuleView.model_fields if name in module_status.c}
    return ModuleView(
        **values, age=age, stale=module.status is not PAUSED and silent >= module.limits.warn_after,
        numbers=json.loads(row.metrics) if row.metrics else {}, quiet_now=is_quiet(now, module.quiet), bar=bar,
    )  # fmt: skip
