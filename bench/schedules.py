"""How late schedules are, and how long a scheduler takes to start.   python -m bench.schedules [--schedules 2000] [--seconds 20]

On each database: so many schedules, each every second, are stored; then a scheduler in this process, pinned to one core,
fires them for so many seconds. Lateness is from the planned time to the moment after the commit that made its job.
Nothing executes the jobs: what is measured is the clock. PostgreSQL is a private cluster, as in `bench.run`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

from bench.run import DATABASES
from jobtrail import JobTrail
from jobtrail.database import tables
from jobtrail.schedules.dispatcher import Dispatcher
from jobtrail.schedules.scheduler import SchedulerLoop


def application(url: str, number: int, rule: str) -> JobTrail:
    """An application with so many schedules of one rule, on twenty tasks."""
    app = JobTrail(url)

    def nothing(place: int) -> None:
        del place

    tasks = [app.task(name=f"task_{n}")(nothing) for n in range(20)]
    for place in range(number):
        app.schedules.declare(
            tasks[place % 20], rule, name=f"every second, {place:04}", args={"place": place}, overlap="allow"
        )
    return app


def measure(url: str, number: int, seconds: float, rule: str) -> dict[str, float]:
    """Start-up, lateness, and what it took of the core."""
    app = application(url, number, rule)
    app.migrate()
    began = time.perf_counter()
    app.schedules.sync()
    first = time.perf_counter() - began
    began = time.perf_counter()
    app.schedules.sync()
    again = time.perf_counter() - began
    late: list[float] = []
    plain = Dispatcher._write_chunk

    def write_chunk(self: Dispatcher, chunk: list[Any], now: Any, fired: Any, **rest: Any) -> None:
        plain(self, chunk, now, fired, **rest)
        at = app.store.now()
        late.extend((at - planned).total_seconds() for one in chunk for planned, _ in one.prepared)

    Dispatcher._write_chunk = write_chunk  # type: ignore[method-assign]
    beside = SchedulerLoop(app.schedules.scheduler(), app.schedules.sync)
    used, began = time.process_time(), time.perf_counter()
    beside.start()
    time.sleep(seconds)
    beside.stop()
    busy = (time.process_time() - used) / (time.perf_counter() - began)
    Dispatcher._write_chunk = plain  # type: ignore[method-assign]
    told = _counted(app)
    app.close()
    late.sort()
    return {
        "first sync, s": first,
        "sync again, s": again,
        "fired": float(len(late)),
        "per second": len(late) / seconds,
        "p50, ms": 1000 * statistics.median(late),
        "p99, ms": 1000 * late[int(0.99 * len(late))],
        "most, ms": 1000 * late[-1],
        "of one core": busy,
        **told,
    }


def _counted(app: JobTrail) -> dict[str, float]:
    with app.store.read() as conn:
        count = conn.exec_driver_sql(f"SELECT count(*) FROM {tables.slots.name} WHERE state = 'missed'").scalar()
        jobs = conn.exec_driver_sql(f"SELECT count(*) FROM {tables.jobs.name}").scalar()
    return {"missed": float(count or 0), "jobs stored": float(jobs or 0)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rule", default="every 1 second")
    parser.add_argument("--databases", default="sqlite,postgresql")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name in given.databases.split(","):
        with DATABASES[name]() as fresh:
            print(f"{name}: {given.schedules:,} schedules, {given.rule}")
            for word, value in measure(fresh(1), given.schedules, given.seconds, given.rule).items():
                print(f"  {word:<16} {value:>12,.3f}")


if __name__ == "__main__":
    main()
