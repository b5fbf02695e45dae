"""What tracking costs a Celery task: the same worker with and without `track_celery`, in turns.

    python bench/celery_tracking.py redis://127.0.0.1:6379/14 sqlite:////tmp/bench.db --tasks 4000 --rounds 3

The queue is filled before the worker starts. Throughput counts from the first task to the last. CPU is that of the worker
with its children, from the system's accounts; the difference divided by the tasks is the cost of one. `--backend` gives both a
result backend, as most projects have one.
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

APP = """
import os, time
from celery import Celery
import redis
app = Celery("bench", broker=os.environ["BROKER"], backend=os.environ["BACKEND"] or None)
app.conf.update(task_ignore_result=not os.environ["BACKEND"], worker_prefetch_multiplier=64, broker_connection_retry_on_startup=True)
if os.environ.get("STORE"):
    import jobtrail
    jobtrail.track_celery(app, os.environ["STORE"])
done = redis.Redis.from_url(os.environ["BROKER"])
WORK = float(os.environ["WORK"])
@app.task(name="work")
def work(number, name):
    if WORK:
        time.sleep(WORK)
    if done.incr("bench-done") == 1:
        done.set("bench-first", time.time())
    done.set("bench-last", time.time())
"""


def once(args: argparse.Namespace, folder: Path, store: str) -> tuple[float, float]:
    """One worker over a full queue: tasks a second, and seconds of CPU."""
    (folder / "bench_app.py").write_text(APP)
    environment = {
        **os.environ, "BROKER": args.broker, "STORE": store, "WORK": str(args.work), "BACKEND": args.backend,
        "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip
    client = redis.Redis.from_url(args.broker)
    client.flushdb()
    fill = f"import bench_app; [bench_app.work.delay(n, 'file-%d' % n) for n in range({args.tasks})]"
    subprocess.run([sys.executable, "-c", fill], env=environment, cwd=folder, check=True)
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "bench_app", "worker", "-c", str(args.processes), "-l", "ERROR",
         "--without-mingle", "--without-gossip"],
        env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while int(client.get("bench-done") or 0) < args.tasks:
        time.sleep(0.05)
    time.sleep(1)
    worker.send_signal(signal.SIGTERM)
    _, _, used = os.wait4(worker.pid, 0)
    took = float(client.get("bench-last")) - float(client.get("bench-first"))
    client.flushdb()
    return args.tasks / took, used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("broker", help="a Redis database that is emptied")
    parser.add_argument("store", help="address of the store")
    parser.add_argument("--tasks", type=int, default=4000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backend", default="", help="Celery's result backend, such as db+postgresql+psycopg://…; none by default")
    parser.add_argument("--work", type=float, default=0.0, help="seconds that each task sleeps")
    args = parser.parse_args()
    plain, tracked = [], []
    with tempfile.TemporaryDirectory() as name:
        for round_ in range(args.rounds):
            plain.append(once(args, Path(name), ""))
            tracked.append(once(args, Path(name), args.store))
            print(f"round {round_ + 1}: {plain[-1][0]:.0f} tasks/s plain, {tracked[-1][0]:.0f} tracked", flush=True)
    ratio = statistics.median(two[0] / one[0] for one, two in zip(plain, tracked, strict=True))
    cost = statistics.median(two[1] - one[1] for one, two in zip(plain, tracked, strict=True)) / args.tasks
    print(f"throughput with tracking: {ratio:.2f} of that without; CPU for a task: {cost * 1e6:.0f} µs more")


if __name__ == "__main__":
    main()
