"""What the history of items costs: jobs and items a second, of two source trees in turns.

    python bench/items.py sqlite:////tmp/bench.db /path/to/old/src src --rounds 7
    python bench/items.py postgresql://postgres@localhost/bench /path/to/old/src src --rounds 7

Each round runs a child process on an empty database for each tree, in changing order: jobs without items, a fresh job
with items, and a re-run of items that had all failed. Printed are the medians and the ratios of neighbours. `--clock process_time`
counts seconds of the processor of the child alone: for SQLite on a busy machine.
The tables of jobtrail in the database are dropped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

CHILD = """
import json, sys, time
from sqlalchemy import inspect
from jobtrail import JobTrail
from jobtrail.testing import drain

url, jobs_count, items_count, clock = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), getattr(time, sys.argv[4])
jobs = JobTrail(url, plugins=[])
with jobs.store.database.engine.begin() as conn:
    for table in inspect(conn).get_table_names():
        conn.exec_driver_sql(f"DROP TABLE {table}")
jobs.migrate()

@jobs.task
async def nothing(number: int):
    pass

@jobs.task
def load(ctx, bad: bool):
    for item in ctx.items(range(items_count)):
        with item:
            if bad:
                item.fail("no price")

def timed(count):
    begin = clock()
    drain(jobs)
    return count / (clock() - begin)

found = {}
nothing.enqueue_many([{"number": n} for n in range(jobs_count)])
found["jobs"] = timed(jobs_count)
load.enqueue(bad=False)
found["fresh items"] = timed(items_count)
failed = load.enqueue(bad=True)
found["failed items"] = timed(items_count)
failed.rerun("failed_items", args=json.dumps({"bad": False}))
found["items again"] = timed(items_count)
jobs.close()
print(json.dumps(found))
"""


def once(args: argparse.Namespace, tree: str) -> dict[str, float]:
    """The figures of one tree on an empty database."""
    environment = {**os.environ, "PYTHONPATH": os.path.abspath(tree)}
    given = [sys.executable, "-c", CHILD, args.url, str(args.jobs), str(args.items), args.clock]
    done = subprocess.run(given, env=environment, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the rounds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--clock", choices=["perf_counter", "process_time"], default="perf_counter")
    args = parser.parse_args()
    old, new = [], []
    for number in range(args.rounds):
        pair = [(args.old, old), (args.new, new)]
        for tree, kept in pair if number % 2 else pair[::-1]:
            kept.append(once(args, tree))
    print("| what | old /s | new /s | ratio, median (least–greatest) |\n| --- | ---: | ---: | --- |")
    for name in old[0]:
        ratios = sorted(two[name] / one[name] for one, two in zip(old, new, strict=True))
        before, after = (statistics.median(one[name] for one in figures) for figures in (old, new))
        print(f"| {name} | {before:,.0f} | {after:,.0f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f}) |")


if __name__ == "__main__":
    main()
