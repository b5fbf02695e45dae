"""Do many open questions slow the claiming?   python -m bench.questions [--open 10000] [--rounds 5]

Each round, on each database: claims of 20 jobs out of 2,000 that wait, each in a transaction of its own, first with no
open question, then with many jobs that wait for an answer, then with none again. Printed are the medians of a claim in
milliseconds and their ratio. The same rows are claimed each time: the claim is rolled back.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from sqlalchemy import delete

from bench.run import postgresql, sqlite
from jobtrail import JobTrail
from jobtrail.database import migration
from jobtrail.database.tables import jobs as job_table
from jobtrail.database.tables import questions as question_table
from jobtrail.job.model import new_id
from jobtrail.store import jobs as store_jobs
from jobtrail.store import questions

CLAIMS = 60
WAITING = 2000


class Undo(Exception):
    """Leaves a transaction without a trace."""


def ask(app: JobTrail, count: int) -> None:
    """Jobs that wait for a person, with their questions."""
    store, now = app.store, app.store.now()
    jobs = [(new_id(), "ask", "{}", "default", 5, "awaiting_input", now) for _ in range(count)]
    rows = [
        (new_id(), job[0], job[0], 1, "many", "How many?", "input", '{"type":"integer"}', None, "d", None, False, "open", now, None)
        for job in jobs
    ]

    def write(conn: Any) -> None:
        store.dialect.insert_many(conn, job_table, ("id", "task", "args", "queue", "priority", "status", "created_at"), jobs)
        store.dialect.insert_many(conn, question_table, questions._COLUMNS, rows)

    store.write(write)


def forget(app: JobTrail) -> None:
    """No question is open any more."""

    def write(conn: Any) -> None:
        conn.execute(delete(question_table))
        conn.execute(delete(job_table).where(job_table.c.status == "awaiting_input"))

    app.store.write(write)
    with app.store.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql("ANALYZE")


def claims(app: JobTrail) -> float:
    """The median of a claim in milliseconds."""
    store, taken = app.store, []

    def claim(conn: Any) -> None:
        begun = time.perf_counter()
        found = store_jobs.claim(conn, store.dialect, "default", 20, "00000000-0000-0000-0000-000000000001", store.now())
        taken.append(1000 * (time.perf_counter() - begun))
        assert len(found) == 20
        raise Undo

    for _ in range(CLAIMS):
        try:
            store.write(claim)
        except Undo:
            continue
    return statistics.median(taken)


def measure(url: str, count: int, rounds: int) -> tuple[float, float]:
    """Medians without and with open questions."""
    app = JobTrail(url)
    migration.upgrade(app.store.database)
    app.task(name="work")(lambda: None)
    app.task_named("work").enqueue_many({} for _ in range(WAITING))
    without, with_ = [], []
    for _ in range(rounds):
        forget(app)
        without.append(claims(app))
        ask(app, count)
        with_.append(claims(app))
    app.close()
    return statistics.median(without), statistics.median(with_)


def main() -> None:
    """Print a line for each database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for name, server in (("SQLite", sqlite), ("PostgreSQL", postgresql)):
        with server() as make:
            without, with_ = measure(make(0), given.open, given.rounds)
            print(f"{name}: claim of 20, no open question {without:.2f} ms, {given.open:,} open {with_:.2f} ms, ratio {with_ / without:.2f}")


if __name__ == "__main__":
    main()
