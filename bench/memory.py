"""The memory of a worker after many jobs that fail with much data, beside jobs that succeed: ``python -m bench.memory``.

Each kind runs in a process of its own, set up as `jobtrail worker` does it, on SQLite, with the garbage collector on and off. Figures: docs/why/speed.md.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile

import psutil

from jobtrail import JobTrail
from jobtrail.testing import drain
from jobtrail.worker.session import own_process

KINDS = ("succeeds", "fails", "fails, chained")


def one(kind: str, jobs_count: int, size: int, *, collect: bool) -> float:
    """Run the jobs of a kind here; resident memory in MiB after them, less that before."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = JobTrail(f"sqlite:///{folder}/jobs.db", migrate=True)

        @jobs.task(name="work")
        def work() -> int:
            rows = b"x" * size
            if kind == "fails":
                error = ValueError("no good")
                raise error
            if kind == "fails, chained":
                try:
                    rows[size]
                except IndexError as error:
                    raise ValueError("no good") from error
            return len(rows)

        work.enqueue_many({} for _ in range(200))
        own_process()
        drain(jobs, slots=4)
        if not collect:
            gc.disable()
        before = psutil.Process().memory_info().rss
        for _ in range(jobs_count // 1000):
            work.enqueue_many({} for _ in range(1000))
            drain(jobs, slots=4)
        grown = psutil.Process().memory_info().rss - before
        jobs.close()
        return (before + grown) / 2**20


def main() -> None:
    """Run each kind in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=8 << 20, help="bytes that each body holds")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--no-collector", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(f"{one(given.one, given.jobs, given.size, collect=not given.no_collector):.1f}")
        return
    print(f"{given.jobs} jobs with {given.size / 2**20:g} MiB each; resident memory of the process afterwards, MiB")
    for without in ([], ["--no-collector"]):
        for kind in KINDS:
            command = [sys.executable, "-m", "bench.memory", "--one", kind, "--jobs", str(given.jobs), "--size", str(given.size)]
            told = subprocess.run([*command, *without], check=True, capture_output=True, text=True).stdout
            print(f"{kind:16} collector {'off' if without else 'on '} {told.strip():>8}", flush=True)


if __name__ == "__main__":
    main()
