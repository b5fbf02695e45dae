"""What programs were told and bodies wrote, in tables beside jobtrail's, so that one statement can compare the two."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import create_engine, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

TABLES = """
CREATE TABLE campaign_acknowledged (job TEXT NOT NULL, key TEXT, followers INTEGER NOT NULL);
CREATE TABLE campaign_marks (
    seq INTEGER NOT NULL, what TEXT NOT NULL, job TEXT NOT NULL, run INTEGER NOT NULL, ledger TEXT NOT NULL, name TEXT);
CREATE TABLE campaign_files (path TEXT NOT NULL);
CREATE TABLE campaign_removed (job TEXT NOT NULL, task TEXT NOT NULL, status TEXT NOT NULL);
CREATE TABLE campaign_undone (job TEXT NOT NULL, status TEXT NOT NULL);
CREATE INDEX campaign_marks_job ON campaign_marks (job);
CREATE INDEX campaign_marks_ledger ON campaign_marks (ledger, name);
CREATE INDEX campaign_removed_job ON campaign_removed (job)
"""
# What retention removes is noted in its own transaction: the job, and the ends that a retry had undone.
ON_SQLITE = (
    """CREATE TRIGGER campaign_removal AFTER DELETE ON jobtrail_jobs
    BEGIN INSERT INTO campaign_removed VALUES (OLD.id, OLD.task, OLD.status); END""",
    """CREATE TRIGGER campaign_undoing AFTER DELETE ON jobtrail_events WHEN OLD.name = 'retried'
    BEGIN INSERT INTO campaign_undone VALUES (OLD.job_id, OLD.from_status); END""",
)
ON_POSTGRES = (
    """CREATE FUNCTION campaign_removal() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO campaign_removed VALUES (OLD.id, OLD.task, OLD.status); RETURN OLD; END $$""",
    """CREATE FUNCTION campaign_undoing() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO campaign_undone VALUES (OLD.job_id, OLD.from_status); RETURN OLD; END $$""",
    "CREATE TRIGGER campaign_removal AFTER DELETE ON jobtrail_jobs FOR EACH ROW EXECUTE FUNCTION campaign_removal()",
    """CREATE TRIGGER campaign_undoing AFTER DELETE ON jobtrail_events FOR EACH ROW
    WHEN (OLD.name = 'retried') EXECUTE FUNCTION campaign_undoing()""",
)


@dataclass(frozen=True)
class Acknowledged:
    """One job that a program was told is stored."""

    job: str
    key: str | None = None
    followers: int = 0


@contextlib.contextmanager
def transaction(url: str) -> Iterator[Connection]:
    """A connection of its own, past jobtrail."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.begin() as conn:
            yield conn
    finally:
        engine.dispose()


def prepare(url: str) -> None:
    """Create the tables and triggers in a migrated database."""
    with transaction(url) as conn:
        for statement in TABLES.split(";"):
            conn.exec_driver_sql(statement)
        for statement in ON_POSTGRES if conn.dialect.name == "postgresql" else ON_SQLITE:
            conn.exec_driver_sql(statement)


def load(conn: Connection, told: Iterable[Acknowledged], diary: Path, spool: Iterable[Path]) -> None:
    """Fill the tables with what is known at the end."""
    lines = [{"seq": place, **json.loads(line)} for place, line in enumerate(diary.read_text().splitlines())]
    rows = {
        "campaign_acknowledged (job, key, followers)": [one.__dict__ for one in told],
        "campaign_marks (seq, what, job, run, ledger, name)": lines,
        "campaign_files (path)": [{"path": str(path)} for path in spool],
    }
    for place, values in rows.items():
        names = place.partition("(")[2].rstrip(")").split(", ")
        if values:
            conn.execute(text(f"INSERT INTO {place} VALUES ({', '.join(f':{name}' for name in names)})"), values)
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql("ANALYZE")
