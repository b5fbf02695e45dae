"""Jobs that Celery runs, against plain Celery tasks with the database result backend, in turns.

    python -m bench.celery_executor redis://127.0.0.1:6379/14 postgresql://postgres@127.0.0.1/bench --jobs 10000 --rounds 3

Both get the same broker, database and number of prefork processes, and the same empty function. The work is submitted before
the worker starts; jobs are then sent by the worker's own relay while it works. Throughput counts from the first end that the
database has to the last. CPU is that of the worker with its children, from the system's accounts, its start included.
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
from pathlib import Path

import redis
from sqlalchemy import create_engine, text

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
    "plain": "SELECT count(*), min(date_done), max(date_done) FROM celery_taskmeta WHERE status = 'SUCCESS'",
    "ours": "SELECT count(*), min(finished_at), max(finished_at) FROM jobtrail_jobs WHERE status = 'completed'",
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
    fill = f"import bench_app; bench_app.submit({args.jobs})"
    subprocess.run([sys.executable, "-c", fill], env=environment, cwd=folder, check=True)
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "bench_app", "worker", "-c", str(args.processes), "-l", "ERROR",
         "--without-mingle", "--without-gossip"],
        env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + args.limit
    number, first, last = 0, None, None
    while number < args.jobs and time.monotonic() < end:
        time.sleep(0.5)
        try:
            with engine.connect() as conn:
                number, first, last = conn.execute(text(ENDS[which])).one()
        except Exception:  # the tables are made by the worker
            continue
    worker.send_signal(signal.SIGTERM)
    _, _, used = os.wait4(worker.pid, 0)
    engine.dispose()
    if number < args.jobs or first is None or last is None:
        raise SystemExit(f"{which}: {number} of {args.jobs} within {args.limit} s")
    return (number - 1) / (last - first).total_seconds(), (used.ru_utime + used.ru_stime) / number * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("broker", help="a Redis database that is emptied")
    parser.add_argument("store", help="address of a PostgreSQL database that is emptied")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--prefetch", type=int, default=4, help="worker_prefetch_multiplier of both")
    parser.add_argument("--rounds", type=int, default=3)
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
