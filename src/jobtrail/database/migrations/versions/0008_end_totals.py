"""Counts of ended jobs over time, and those of the jobs that have ended before.

The older an end, the longer the span it is counted in, as the folding of counts leaves it. Durations go into classes of which each is
a sixteenth of its lower edge wide.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID = Text().with_variant(postgresql.UUID(as_uuid=True), "postgresql")
MOMENT = BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
TABLE = "jobtrail_end_totals"
_SECONDS = {"sqlite": "{0} / 1000000", "postgresql": "floor(extract(epoch FROM {0}))::bigint"}
_MICROS = {
    "sqlite": "max({0} - {1}, 0)",
    "postgresql": "greatest((extract(epoch FROM {0} - {1}) * 1000000)::bigint, 0)",
}
_DUE = {"sqlite": "max(created_at, coalesce(run_at, created_at))", "postgresql": "greatest(created_at, run_at)"}
_NOW = {"sqlite": "CAST(strftime('%s', 'now') AS INTEGER)", "postgresql": "extract(epoch FROM now())::bigint"}
_MOMENT = {"sqlite": "({0}) * 1000000", "postgresql": "to_timestamp({0})"}
_FIRST = {"sqlite": "min(id)", "postgresql": "(array_agg(id ORDER BY id))[1]"}
_LAST = {"sqlite": "max(id)", "postgresql": "(array_agg(id ORDER BY id DESC))[1]"}
_JOINED = {"sqlite": "group_concat({0}, ',')", "postgresql": "string_agg({0}, ',')"}
_SHIFT = "CASE " + " ".join(f"WHEN {{0}} < {32 << bits} THEN {bits}" for bits in range(45)) + " ELSE 45 END"
_KEY = "span, at, level, name, task, queue, status"


def upgrade() -> None:
    """Add the table, and count what has ended."""
    op.create_table(
        TABLE,
        Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
        Column("span", Integer, nullable=False),
        Column("at", MOMENT, nullable=False),
        Column("level", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("task", Text),
        Column("queue", Text),
        Column("status", Text, nullable=False),
        Column("jobs", Integer, nullable=False),
        Column("waits", Text, nullable=False),
        Column("runs", Text, nullable=False),
        Column("oldest", ID),
        Column("newest", ID),
    )
    op.create_index("jobtrail_end_totals_level", TABLE, ["level", "name", "at"])
    op.create_index("jobtrail_end_totals_span", TABLE, ["span", "at"])
    name = op.get_context().dialect.name
    ends = _ends(name)
    into = f"INSERT INTO {TABLE} ({_KEY}, jobs, waits, runs, oldest, newest)"
    op.execute(f"{into} SELECT {_KEY}, count(*), '', '', {_FIRST[name]}, {_LAST[name]} FROM ({ends}) AS ends GROUP BY {_KEY}")  # noqa: S608 - constants
    for column, empty in (("waited", "{0}, ''"), ("ran", "'', {0}")):
        op.execute(f"{into} SELECT {_KEY}, 0, {empty.format(_histogram(name))}, NULL, NULL FROM ({_classes(ends, column)}) AS found GROUP BY {_KEY}")  # noqa: S608 - constants
    _count_removed(into)


def _ends(name: str) -> str:
    """Each ended job, once for each level at which it counts."""
    seconds = _SECONDS[name].format("finished_at")
    timed = "CASE WHEN status <> 'cancelled' AND started_at IS NOT NULL THEN {0} END"
    waited = timed.format(_MICROS[name].format("started_at", _DUE[name]))
    ran = timed.format(_MICROS[name].format("finished_at", "started_at"))
    age = f"{_NOW[name]} - {seconds}"
    span = f"CASE WHEN {age} < 10800 THEN 60 WHEN {age} < 172800 THEN 300 WHEN {age} < 2764800 THEN 3600 ELSE 86400 END"
    rows = (
        f"SELECT id, task, queue, source, status, {seconds} AS seconds, {span} AS span, {waited} AS waited, {ran} AS ran"  # noqa: S608 - constants
        " FROM jobtrail_jobs WHERE status IN ('completed', 'partial', 'failed', 'cancelled') AND finished_at IS NOT NULL"
    )
    at = _MOMENT[name].format("seconds / span * span")
    levels = (
        ("all", "''", "NULL", "NULL"), ("queue", "queue", "NULL", "NULL"), ("task", "task", "NULL", "queue"), ("source", "source", "task", "queue"),
    )  # fmt: skip
    return " UNION ALL ".join(
        f"SELECT id, span, {at} AS at, '{level}' AS level, {of} AS name, CAST({task} AS TEXT) AS task, CAST({queue} AS TEXT) AS queue,"  # noqa: S608 - constants
        f" status, waited, ran FROM ({rows}) AS {level}_rows" + (" WHERE source IS NOT NULL" if level == "source" else "")
        for level, of, task, queue in levels
    )


def _classes(ends: str, column: str) -> str:
    shift = f"({_SHIFT.format(column)})"
    number = f"({shift} * 16 + ({column} >> CAST({shift} AS INTEGER)))"
    return (
        f"SELECT {_KEY}, {number} AS number, count(*) AS jobs FROM ({ends}) AS ends WHERE {column} IS NOT NULL"  # noqa: S608 - constants
        f" GROUP BY {_KEY}, {number}"
    )


def _histogram(name: str) -> str:
    return _JOINED[name].format("CAST(number AS TEXT) || ':' || CAST(jobs AS TEXT)")


def _count_removed(into: str) -> None:
    """Of jobs that retention has removed, the hour, the task and the status are known."""
    for level, of, by in (("all", "''", "hour, status"), ("task", "task", "hour, task, status")):
        op.execute(
            f"{into} SELECT 3600, hour, '{level}', {of}, NULL, NULL, status, sum(jobs), '', '', NULL, NULL"  # noqa: S608 - constants
            f" FROM jobtrail_job_totals GROUP BY {by}"
        )
