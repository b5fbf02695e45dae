"""What beats add up to in an hour, and the two statements that write the collected beats of all modules at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.database.types import storable

from .rules import ModuleBeat, WatchedModule
from .store import numbers_text
from .tables import module_samples, module_status

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect

HOUR = timedelta(hours=1)
BEATS = ""  # the measure that stands for the beats themselves


def hour_of(moment: datetime) -> datetime:
    """Return the UTC hour in which a moment lies."""
    return moment.replace(minute=0, second=0, microsecond=0)


@dataclass(slots=True)
class HourSums:
    """The beats of one module in one hour, as far as they are collected: times, the longest time between two, numbers."""

    count: int
    first_at: datetime
    last_at: datetime
    gap: float = 0.0
    numbers: dict[str, list[float]] = field(default_factory=dict)  # weight, total, least, most

    def add(self, moment: datetime, numbers: Mapping[str, float]) -> None:
        """Add one beat that is not the first."""
        self.gap = max(self.gap, (moment - self.last_at).total_seconds())
        self.first_at, self.last_at = min(self.first_at, moment), max(self.last_at, moment)
        self.count += 1
        self.add_numbers(numbers)

    def add_numbers(self, numbers: Mapping[str, float]) -> None:
        """Add what a beat counted."""
        for name, number in numbers.items():
            value = float(number)  # one type for each column
            sums = self.numbers.get(name)
            if sums is None:
                self.numbers[name] = [1.0, value, value, value]
            else:
                sums[:] = sums[0] + 1, sums[1] + value, min(sums[2], value), max(sums[3], value)

    def merge(self, other: HourSums) -> None:
        """Add what was collected after this."""
        self.gap = max(self.gap, other.gap, (other.first_at - self.last_at).total_seconds())
        self.first_at, self.last_at = min(self.first_at, other.first_at), max(self.last_at, other.last_at)
        self.count += other.count
        for name, (weight, total, least, most) in other.numbers.items():
            mine = self.numbers.setdefault(name, [0.0, 0.0, least, most])
            mine[:] = mine[0] + weight, mine[1] + total, min(mine[2], least), max(mine[3], most)


@dataclass(slots=True)
class CollectedBeats:
    """The beats of one module since they were last written; ``module`` is the module as this process knows it."""

    module: WatchedModule
    count: int
    last_at: datetime
    message: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    ahead: float = 0.0
    hours: dict[datetime, HourSums] = field(default_factory=dict)

    def add(self, beat: ModuleBeat, moment: datetime, ahead: float) -> None:
        """Add one beat; ``moment`` is when it counts."""
        self.count += 1
        self.last_at = max(self.last_at, moment)
        self.message = self.message if beat.message is None else beat.message
        self.numbers.update(beat.numbers)
        self.ahead = ahead
        add_to_hour(self.hours, moment, beat.numbers)

    def merge(self, other: CollectedBeats) -> None:
        """Add what was collected after this."""
        self.count += other.count
        self.last_at = max(self.last_at, other.last_at)
        self.message = self.message if other.message is None else other.message
        self.numbers.update(other.numbers)
        self.ahead = other.ahead
        for hour, sums in other.hours.items():
            if hour in self.hours:
                self.hours[hour].merge(sums)
            else:
                self.hours[hour] = sums


def add_to_hour(hours: dict[datetime, HourSums], moment: datetime, numbers: Mapping[str, float]) -> None:
    """Add a beat to the sums of its hour."""
    sums = hours.get(hour_of(moment))
    if sums is None:
        sums = hours[hour_of(moment)] = HourSums(1, moment, moment)
        sums.add_numbers(numbers)
    else:
        sums.add(moment, numbers)


# -- statements ------------------------------------------------------------------------------------------

_SAMPLE = ("module", "hour", "measure", "weight", "total", "least", "most", "first_at", "last_at", "gap")
_OLD = module_samples.name
_SUMMED = """ON CONFLICT (module, hour, measure) DO UPDATE SET
weight = {old}.weight + excluded.weight, total = {old}.total + excluded.total,
least = {least}({old}.least, excluded.least), most = {most}({old}.most, excluded.most),
first_at = {least}({old}.first_at, excluded.first_at), last_at = {most}({old}.last_at, excluded.last_at),
gap = {most}({old}.gap, excluded.gap, {seconds})"""
_TAILS = {
    "sqlite": _SUMMED.format(
        old=_OLD, least="min", most="max", seconds=f"(excluded.first_at - {_OLD}.last_at) / 1000000.0"
    ),
    "postgresql": _SUMMED.format(
        old=_OLD, least="least", most="greatest", seconds=f"extract(epoch FROM excluded.first_at - {_OLD}.last_at)"
    ),
}


def write_samples(conn: Connection, dialect: Dialect, hours: Iterable[tuple[str, Mapping[datetime, HourSums]]]) -> None:
    """Add sums to those of their hours, in one statement."""
    rows: list[tuple[Any, ...]] = []
    for name, sums_of in hours:
        for hour, sums in sums_of.items():
            rows.append((name, hour, BEATS, float(sums.count), 0.0, None, None, sums.first_at, sums.last_at, sums.gap))
            rows += [(name, hour, measure, *values, None, None, None) for measure, values in sums.numbers.items()]
    if rows:
        dialect.insert_many(conn, module_samples, _SAMPLE, sorted(rows, key=_key), _TAILS[dialect.name])


def _key(row: tuple[Any, ...]) -> tuple[str, datetime, str]:
    return row[0], row[1], row[2]


_COLLECTED = """UPDATE {table} AS old SET
last_activity = CASE WHEN new.at > old.last_activity THEN new.at ELSE old.last_activity END,
warn_at = CASE WHEN new.at > old.last_activity THEN new.warn_at ELSE old.warn_at END,
error_at = CASE WHEN new.at > old.last_activity THEN new.error_at ELSE old.error_at END,
beats = old.beats + new.beats, message = coalesce(new.message, old.message), metrics = coalesce(new.metrics, old.metrics),
ahead = new.ahead
FROM {new} WHERE old.module = new.module AND old.version = new.version AND old.status = 'ok' AND old.reported IS NULL
RETURNING {returned}"""
_NAMES = ("module", "version", "at", "warn_at", "error_at", "beats", "message", "metrics", "ahead")
_POSTGRES = _COLLECTED.format(
    table=module_status.name,
    new="unnest(%s::text[], %s::integer[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::bigint[], %s::text[], "
    f"%s::text[], %s::double precision[]) AS new({', '.join(_NAMES)})",
    returned="old.module",
)
_FIELDS = ", ".join(f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(_NAMES))
_SQLITE = _COLLECTED.format(
    table=module_status.name, new=f"(SELECT {_FIELDS} FROM json_each(?)) AS new", returned="module"  # noqa: S608 - constants
)


def write_collected(
    conn: Connection, dialect: Dialect, collected: Sequence[tuple[CollectedBeats, datetime | None, datetime | None]]
) -> set[str]:
    """Write the beats of modules that are ok and known, in one statement; each with its due times after it.

    Returns:
        The names of those that are still as they were known; of all others nothing is written.
    """
    rows = [
        (
            one.module.name, one.module.version, dialect.moment(one.last_at), dialect.moment(warn_at),
            dialect.moment(error_at), one.count, None if one.message is None else storable(one.message),
            numbers_text(one.numbers) if one.numbers else None, one.ahead,
        )
        for one, warn_at, error_at in collected
    ]  # fmt: skip
    if not rows:
        return set()
    if dialect.name == "postgresql":
        found = conn.exec_driver_sql(_POSTGRES, tuple(list(column) for column in zip(*rows, strict=True)))
    else:
        found = conn.exec_driver_sql(_SQLITE, (json.dumps(rows),))
    return {str(row[0]) for row in found}
