"""Jobs that Celery runs, against plain Celery tasks with the database result backend, in turns.

    python -m bench.celery_executor redis://127.0.0.1:6379/14 postgresql://postgres@127.0.0.1/bench --jobs 10000 --rounds 3

Both get the same broker, database and number of prefork processes, and the same empty function. The worker is started and
idle when another process begins to submit. The rate is that of the whole way, from the first submission to the last end that
the database has. CPU is that of the submitting process and of the worker with its children, starts included, from the
system's accounts. `--before` submits all before the worker starts, and counts from the first end: plain Celery has then sent
its messages outside of the measured time, while ours are sent by the worker.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import redis
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import ProgrammingError

PLAIN = """
import os
from celery import Celery
app = Celery("bench", broker=os.environ["BROKER"], backend="db+" + os.environ["STORE"].replace("postgresql:", "postgresql+psycopg:"))
app.conf.update(worker_prefetch_multiplier=int(os.environ["PREFETCH"]), broker_connection_retry_on_startup=True)
@app.task(name="work", acks_late=True)
def work(number):
    return number
def submit(count):
    for number in range(count):
        work.delay(number)
"""
OURS = """
import os
from celery import Celery
from jobtrail import JobTrail
from jobtrail.integrations.celery import CeleryExecutor
app = Celery("bench", broker=os.environ["BROKER"])
app.conf.update(worker_prefetch_multiplier=int(os.environ["PREFETCH"]), broker_connection_retry_on_startup=True)
jobs = JobTrail(os.environ["STORE"], executor=CeleryExecutor(app), migrate=True)
@jobs.task(name="work")
def work(number):
    return number
def submit(count):
    jobs.migrate()
    work.enqueue_many([{"number": number} for number in range(count)])
"""
ENDS = {
    "plain": "SELECT count(*), extract(epoch FROM min(date_done)), extract(epoch FROM max(date_done)) FROM celery_taskmeta WHERE status = 'SUCCESS'",
    "ours": "SELECT count(*), extract(epoch FROM min(finished_at)), extract(epoch FROM max(finished_at)) FROM jobtrail_jobs WHERE status = 'completed'",
}


def once(args: argparse.Namespace, folder: Path, which: str) -> tuple[float, float]:
    """One worker over all the work: jobs a second, and seconds of CPU for a thousand jobs."""
    (folder / "bench_app.py").write_text(PLAIN if which == "plain" else OURS)
    environment = {
        **os.environ, "BROKER": args.broker, "STORE": args.store, "PREFETCH": str(args.prefetch),
        "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip
    redis.Redis.from_url(args.broker).flushdb()
    engine = create_engine(args.store.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
    begun, used = submit(args.jobs, environment, folder) if args.before else (0.0, 0.0)
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "bench_app", "worker", "-c", str(args.processes), "-l", "ERROR",
         "--without-mingle", "--without-gossip"],
        env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        if args.before:
            begun, last = wait_for_ends(engine, which, args.jobs, args.limit)
        else:
            submit(args.processes, environment, folder)
            wait_for_ends(engine, which, args.processes, args.limit)
            begun, used = submit(args.jobs, environment, folder)
            _, last = wait_for_ends(engine, which, args.jobs + args.processes, args.limit)
    finally:
        worker.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(worker.pid, 0)
        engine.dispose()
    return args.jobs / (last - begun), (used + usage.ru_utime + usage.ru_stime) / args.jobs * 1000


def submit(jobs: int, environment: dict[str, str], folder: Path) -> tuple[float, float]:
    """Submit in another process; when it began (Unix time), and its seconds of CPU."""
    program = f"import time, bench_app; print(time.time()); bench_app.submit({jobs})"
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    began = float(process.stdout.readline())
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("the submitting process failed")
    return began, usage.ru_utime + usage.ru_stime


def wait_for_ends(engine: Engine, which: str, number: int, limit: float) -> tuple[float, float]:
    """Wait until so many jobs have ended; the first and the last end (Unix time)."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        time.sleep(0.5)
        with suppress(ProgrammingError), engine.connect() as conn:  # the tables are made by the worker
            found, first, last = conn.execute(text(ENDS[which])).one()
            if found >= number:
                return float(first), float(last)
    raise SystemExit(f"{which}: not {number} ends within {limit} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("broker", help="a Redis database that is emptied")
    parser.add_argument("store", help="address of a PostgreSQL database that is emptied")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--prefetch", type=int, default=4, help="worker_prefetch_multiplier of both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", action="store_true", help="submit all before the worker starts")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that one worker may take")
    args = parser.parse_args()
    seen: dict[str, list[tuple[float, float]]] = {"plain": [], "ours": []}
    with tempfile.TemporaryDirectory() as name:
        for round_ in range(args.rounds):
            for which, results in seen.items():
                results.append(once(args, Path(name), which))
                rate, cpu = results[-1]
                print(f"round {round_ + 1}, {which}: {rate:.0f} jobs/s, {cpu:.2f} s of CPU for 1,000 jobs", flush=True)
    ratio = statistics.median(ours[0] / plain[0] for plain, ours in zip(seen["plain"], seen["ours"], strict=True))
    medians = {which: [statistics.median(column) for column in zip(*results, strict=True)] for which, results in seen.items()}
    for which, (rate, cpu) in medians.items():
        print(f"{which}: {rate:.0f} jobs/s, {cpu:.2f} s of CPU for 1,000 jobs (medians)")
    print(f"jobs in Celery ÷ plain Celery with the database backend: {ratio:.2f}")


if __name__ == "__main__":
    main()
