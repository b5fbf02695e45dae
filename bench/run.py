"""jobtrail measured alone, on both databases.   python -m bench.run [--rounds 3] [--json FILE]

Each round, on each database and on fresh tables: submit one at a time, submit many at once, drain with one worker
process, drain with two, and the latency of an idle worker; printed are medians and ranges over the rounds. Workers are
processes of their own, as in production. The drain counts from the first body's start to the last end that is stored,
so the start of a process is not in it. PostgreSQL is a private cluster from installed binaries, on loopback, with its
default durability (fsync and synchronous_commit on); SQLite is a file in the temporary folder (TMPDIR chooses the
disk). Everything is bounded in time and stopped at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from jobtrail import JobTrail

SLOTS = 200
CHUNK = 1000  # jobs in one enqueue_many
READY_LIMIT = 20.0  # seconds for a worker to begin
DRAIN_LIMIT = 60.0
LATENCY_LIMIT = 60.0

MEASURES = {
    "submit_one": ("submit one", "jobs/s"),
    "submit_many": ("submit many", "jobs/s"),
    "drain_1": ("drain, 1 worker", "jobs/s"),
    "drain_2": ("drain, 2 workers", "jobs/s"),
    "latency_p50": ("latency p50, worker in another process", "ms"),
    "latency_p99": ("latency p99, worker in another process", "ms"),
    "inside_p50": ("latency p50, worker in the same process", "ms"),
    "inside_p99": ("latency p99, worker in the same process", "ms"),
}


# -- the application that is measured ----------------------------------------------------------------


def application(url: str) -> tuple[JobTrail, Any, Any]:
    """The application and its two tasks: one that does nothing, one that says when it started."""
    app = JobTrail(url)

    @app.task
    async def nothing(number: int) -> int:
        return number

    @app.task
    async def stamp(asked: int) -> int:
        return time.monotonic_ns() - asked

    return app, nothing, stamp


async def work(url: str) -> None:
    """One worker process, until it is stopped."""
    from jobtrail.worker.session import own_process

    app, _, _ = application(url)
    app.service.make_ready()
    own_process()
    await app.worker(slots=SLOTS, beat="child").run()


@contextlib.contextmanager
def workers(url: str, count: int) -> Iterator[None]:
    """Worker processes while the block goes on."""
    command = [sys.executable, "-m", "bench.run", "--work", url]
    started = [subprocess.Popen(command, cwd=Path(__file__).parent.parent) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait(10)


# -- what is measured --------------------------------------------------------------------------------


class Bench:
    """One database with fresh tables."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.app, self.nothing, self.stamp = application(url)
        self.app.migrate()
        self.newest = self.nothing.enqueue(0).id  # opens the connections; is drained with the others

    def close(self) -> None:
        self.app.close()

    def submit_one(self, count: int) -> float:
        started = time.perf_counter()
        for number in range(count):
            self.nothing.enqueue(number)
        return count / (time.perf_counter() - started)

    def submit_many(self, count: int) -> float:
        rows = [{"number": number} for number in range(CHUNK)]
        started = time.perf_counter()
        for _ in range(count // CHUNK):
            self.newest = self.nothing.enqueue_many(rows)[-1].id
        return count // CHUNK * CHUNK / (time.perf_counter() - started)

    def drain(self, processes: int) -> float:
        """Ends stored per second, by the database's own times of the first start and the last end."""
        with self.app.store.read() as conn:
            waiting = conn.execute(text("SELECT count(*) FROM jobtrail_jobs WHERE status = 'pending'")).scalar_one()
            before = self._completed(conn)
            earlier = conn.execute(text("SELECT max(started_at) FROM jobtrail_jobs")).scalar()
            with workers(self.url, processes):
                # Looked at by its key, the newest job costs the database nothing; the others are counted once it is done.
                newest_done = lambda: self._ended(conn, self.newest)  # noqa: E731
                self._until(newest_done, READY_LIMIT + DRAIN_LIMIT, "the queue was not drained")
                self._until(lambda: self._completed(conn) >= before + waiting, DRAIN_LIMIT, "the queue was not drained")
                ended = time.time()
            first = conn.execute(
                text("SELECT min(started_at) FROM jobtrail_jobs WHERE started_at > :earlier OR :none"),
                {"earlier": earlier, "none": earlier is None},
            ).scalar_one()
            done = self._completed(conn) - before
        return done / (ended - self._seconds(first))

    @staticmethod
    def _completed(conn: Any) -> int:
        count: int = conn.execute(text("SELECT count(*) FROM jobtrail_jobs WHERE status = 'completed'")).scalar_one()
        return count

    @staticmethod
    def _ended(conn: Any, job_id: str) -> bool:
        found = conn.execute(text("SELECT status FROM jobtrail_jobs WHERE id = :id"), {"id": job_id}).scalar_one()
        return bool(found == "completed")

    @staticmethod
    def _seconds(moment: Any) -> float:
        return moment / 1e6 if isinstance(moment, int) else moment.timestamp()

    @staticmethod
    def _until(condition: Callable[[], bool], limit: float, what: str) -> None:
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                message = f"{what} within {limit:g} s"
                raise SystemExit(message)
            time.sleep(0.02)

    def latency(self, count: int) -> list[float]:
        """Milliseconds from just before the submission to the body's first line, of an idle worker elsewhere."""
        with workers(self.url, 1):
            self.stamp.enqueue(time.monotonic_ns()).result(timeout=READY_LIMIT)
            time.sleep(1.0)
            return self._latencies(count)

    async def latency_inside(self, count: int) -> list[float]:
        """The same, of a worker on the loop of the process that submits."""
        async with self.app.running():
            await asyncio.sleep(0.5)
            jobs, end = [], time.monotonic() + LATENCY_LIMIT
            for _ in range(count + 5):
                jobs.append(await self.stamp.aenqueue(time.monotonic_ns()))
                await asyncio.sleep(random.uniform(0.03, 0.08))
                if time.monotonic() > end:
                    break
            return [await job.aresult(timeout=10) / 1e6 for job in jobs][5:]

    def _latencies(self, count: int) -> list[float]:
        jobs, end = [], time.monotonic() + LATENCY_LIMIT
        for _ in range(count + 5):
            jobs.append(self.stamp.enqueue(time.monotonic_ns()))
            time.sleep(random.uniform(0.03, 0.08))
            if time.monotonic() > end:
                break
        return [job.result(timeout=10) / 1e6 for job in jobs][5:]  # the first five warm caches and connections


def measure(url: str, options: argparse.Namespace) -> dict[str, float]:
    """One round on one database."""
    bench = Bench(url)
    try:
        found = {"submit_one": bench.submit_one(options.one), "submit_many": bench.submit_many(options.many)}
        found["drain_1"] = bench.drain(1)
        bench.submit_many(options.many)
        found["drain_2"] = bench.drain(2)
        for name, values in (
            ("latency", bench.latency(options.latency)),
            ("inside", asyncio.run(bench.latency_inside(options.latency))),
        ):
            values.sort()
            found[f"{name}_p50"] = statistics.median(values)
            found[f"{name}_p99"] = values[min(len(values) - 1, int(0.99 * len(values)))]
    finally:
        bench.close()
    return found


# -- databases and output ----------------------------------------------------------------------------


@contextlib.contextmanager
def sqlite() -> Iterator[Callable[[int], str]]:
    """Gives the address of a fresh file for each round."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        yield lambda number: f"sqlite:///{folder}/jobs{number}.db"


@contextlib.contextmanager
def postgresql() -> Iterator[Callable[[int], str]]:
    """Gives the address of a fresh database for each round, in a private cluster."""
    from bench.trials.common import cluster

    with cluster() as dsn:
        parts = dict(part.split("=") for part in dsn.split())
        server = make_url(f"postgresql+psycopg://{parts['user']}@{parts['host']}:{parts['port']}/{parts['dbname']}")

        def fresh(number: int) -> str:
            engine = create_engine(server, isolation_level="AUTOCOMMIT")
            with engine.connect() as conn:
                conn.execute(text(f"CREATE DATABASE bench{number}"))
            engine.dispose()
            return server.set(drivername="postgresql", database=f"bench{number}").render_as_string()

        yield fresh


DATABASES = {"postgresql": postgresql, "sqlite": sqlite}


def table(found: dict[str, list[dict[str, float]]]) -> str:
    """Medians with ranges, a line for each measure and a column for each database."""
    lines = ["| measure | " + " | ".join(found) + " |", "| --- |" + " --- |" * len(found)]
    for key, (title, unit) in MEASURES.items():
        cells = []
        for rounds in found.values():
            values = [one[key] for one in rounds]
            shape = ",.0f" if unit == "jobs/s" else ",.1f"
            cells.append(f"{statistics.median(values):{shape}} ({min(values):{shape}}–{max(values):{shape}})")
        lines.append(f"| {title}, {unit} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def surroundings() -> dict[str, Any]:
    """What the figures depend on."""
    return {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "cores": os.cpu_count(), "slots": SLOTS}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="jobtrail measured alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--databases", default=",".join(DATABASES), help="postgresql,sqlite")
    parser.add_argument("--one", type=int, default=1000, help="jobs submitted one at a time")
    parser.add_argument("--many", type=int, default=20_000, help="jobs submitted at once, and drained")
    parser.add_argument("--latency", type=int, default=200, help="jobs for an idle worker")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        asyncio.run(work(options.work))
        return
    names = options.databases.split(",")
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        fresh = {name: stack.enter_context(DATABASES[name]()) for name in names}
        for number in range(1, options.rounds + 1):
            for name in names:  # interleaved, so that a slow minute of the machine meets both
                found[name].append(measure(fresh[name](number), options))
                print(f"round {number} of {options.rounds}, {name}: done", file=sys.stderr, flush=True)
    print(table(found))
    if options.json:
        Path(options.json).write_text(json.dumps({**surroundings(), "rounds": found}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
