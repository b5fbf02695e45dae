"""What modules cost that beat every second, and whether a first clean-up holds them up.

    python -m bench.office beats [--modules 500] [--seconds 600] [--silent 5] [--databases sqlite,postgresql]
    python -m bench.office clean [--rows 10000000] [--modules 50] [--databases sqlite,postgresql]

beats: modules report once a second each, spread over the second, in this process, beside the loop that looks for due ones.
Limits are 5 and 10 seconds, so that a lost second would show. Some modules fall silent after a third of the time: how late
their warnings are is measured; every other warning or error is a wrong transition.

clean: so many lines of history, older than they are kept, are removed by a worker process of its own in its first pass,
while modules report in this process. The latest beat is the longest time from a beat to the commit that stores it.

PostgreSQL is a private cluster with its default durability, as in `bench.run`. On Linux the writes of this process to the
disk are counted too.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from bench.run import DATABASES
from jobtrail import JobTrail
from jobtrail.office import Office
from jobtrail.office.tables import metrics_hourly, module_status, status_history

WARN, ERROR = 5.0, 10.0  # seconds


def application(url: str, **options: Any) -> JobTrail:
    """An application with Office."""
    app = JobTrail(url, plugins=[Office(warn_after=WARN, error_after=ERROR, **options)])
    app.migrate()
    return app


class Reporters:
    """Modules that beat once a second, spread over the second, in one thread."""

    def __init__(self, app: JobTrail, modules: int) -> None:
        self.app, self.names = app, [f"module-{number:04}" for number in range(modules)]
        self.silent: set[str] = set()
        self.calls: list[float] = []
        self.stored: list[float] = []
        self._stop = threading.Event()
        self._waiting: list[float] = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Register all, then begin."""
        for name in self.names:
            self.app.office.beat(name, rows=1)
        beats = self.app.office.beats
        flush = beats.flush

        def timed() -> int:
            with self._lock:
                waiting, self._waiting = self._waiting, []
            try:
                return flush()
            finally:
                if waiting:
                    self.stored.append(time.perf_counter() - waiting[0])

        beats.flush = timed  # type: ignore[method-assign]
        self._thread.start()

    def _run(self) -> None:
        begun, number = time.perf_counter(), 0
        while not self._stop.is_set():
            name = self.names[number % len(self.names)]
            due = begun + number / len(self.names)
            late = due - time.perf_counter()
            if late > 0 and self._stop.wait(late):
                return
            if name not in self.silent:
                asked = time.perf_counter()
                self.app.office.beat(name, rows=number % 100)
                self.calls.append(time.perf_counter() - asked)
                with self._lock:
                    self._waiting.append(asked)
            number += 1

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()
        self.app.office.flush()


def written_bytes(app: JobTrail) -> float:
    """What this process has written to disks, or PostgreSQL to its log; 0 where nobody counts it."""
    if not app.store.database.is_sqlite:
        with app.store.read() as conn:
            return float(conn.exec_driver_sql("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").scalar_one())
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0.0
    return float(next(line.split()[1] for line in lines if line.startswith("write_bytes")))


class Watching:
    """The loop that looks for due modules, once a second."""

    def __init__(self, app: JobTrail) -> None:
        self.app = app
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            self.app.office.turn()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()


def beats(url: str, given: argparse.Namespace) -> dict[str, float]:
    """Beats of many modules."""
    app = application(url)
    reporters = Reporters(app, given.modules)
    reporters.start()
    watching = Watching(app)
    used, wrote, began = time.process_time(), written_bytes(app), time.perf_counter()
    time.sleep(given.seconds / 3)
    reporters.silent = set(reporters.names[: given.silent])
    time.sleep(given.seconds * 2 / 3)
    seconds = time.perf_counter() - began
    busy, wrote = (time.process_time() - used) / seconds, written_bytes(app) - wrote
    reporters.stop()
    watching.stop()
    with app.store.read() as conn:
        rows = conn.execute(select(status_history).where(status_history.c.to.in_(("warning", "error")))).all()
        last = {row.module: row.last_activity for row in conn.execute(select(module_status))}
        counted = conn.execute(select(func.sum(module_status.c.beats))).scalar() or 0
    limits = {"warning": WARN, "error": ERROR}
    late = [(row.recorded_at - last[row.module]).total_seconds() - limits[row.to] for row in rows if row.module in reporters.silent]
    app.close()
    calls = sorted(reporters.calls)
    return {
        "beats": float(len(calls)),
        "beats stored": float(counted) - given.modules,
        "of one core": busy,
        "one beat p50, µs": 1e6 * statistics.median(calls),
        "one beat p99, µs": 1e6 * calls[int(0.99 * len(calls))],
        "turns": float(len(reporters.stored)),
        "beat to commit, most s": max(reporters.stored),
        "rows per second, most": 3.0 * len(calls) / seconds,  # status, sums of beats, sums of a number
        "written, kB/s": wrote / seconds / 1000,
        "wrong transitions": float(sum(1 for row in rows if row.module not in reporters.silent)),
        "right transitions": float(len(late)),
        "right, most late s": max(late, default=0.0),
    }


FILL = {
    "sqlite": """WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {last})
        INSERT INTO office_module_status_history (recorded_at, module, "from", "to", reason)
        SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) - 90000000000 - n * {step}, 'module-' || (n % 50),
        CASE n % 2 WHEN 0 THEN 'ok' ELSE 'warning' END, CASE n % 2 WHEN 0 THEN 'warning' ELSE 'ok' END, '@office.reports-again' FROM n""",
    "postgresql": """INSERT INTO office_module_status_history (recorded_at, module, "from", "to", reason)
        SELECT now() - interval '25 hours' - n::bigint * {step} * interval '1 microsecond', 'module-' || (n %% 50),
        CASE n %% 2 WHEN 0 THEN 'ok' ELSE 'warning' END, CASE n %% 2 WHEN 0 THEN 'warning' ELSE 'ok' END, '@office.reports-again'
        FROM generate_series(0, {last}) AS n""",
}


def clean(url: str, given: argparse.Namespace) -> dict[str, float]:
    """A first clean-up beside beats."""
    app = application(url)
    began = time.perf_counter()
    step = 12 * 3_600_000_000 // given.rows  # over twelve hours
    sql = FILL[app.store.dialect.name].format(last=given.rows - 1, step=max(1, step))
    with app.store.database.own_connection() as conn:
        conn.exec_driver_sql("BEGIN")
        conn.exec_driver_sql(sql)
        conn.exec_driver_sql("COMMIT")
    filled = time.perf_counter() - began
    reporters = Reporters(app, given.modules)
    reporters.start()
    time.sleep(3)
    before = len(reporters.stored)
    began = time.perf_counter()
    command = [sys.executable, "-m", "bench.office", "clean", "--work", url]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    reporters.stop()
    with app.store.read() as conn:
        hours = conn.execute(select(func.count(func.distinct(metrics_hourly.c.hour)))).scalar() or 0
    app.close()
    return {
        "filled in, s": filled,
        "removed": float(done.stdout),
        "seconds": seconds,
        "rows per second": float(done.stdout) / seconds,
        "hours with figures": float(hours),
        "latest beat before, s": max(reporters.stored[:before]),
        "latest beat while, s": max(reporters.stored[before:]),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["beats", "clean"])
    parser.add_argument("--modules", type=int)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--silent", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        app = application(given.work)
        print(app.office.clean())
        app.close()
        return
    given.modules = given.modules or {"beats": 500, "clean": 50}[given.what]
    measure = {"beats": beats, "clean": clean}[given.what]
    for name in given.databases.split(","):
        with DATABASES[name]() as fresh:
            print(f"{name}: {given.what}, {given.modules:,} modules", flush=True)
            for word, value in measure(fresh(1), given).items():
                print(f"  {word:<24} {value:>14,.3f}", flush=True)


if __name__ == "__main__":
    main()
