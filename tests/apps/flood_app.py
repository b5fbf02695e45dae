"""An application for a worker under test: a job that reports as often as it is told to, or as often as it can."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from jobtrail import Context, JobTrail

LINES_EVERY = 500  # calls

jobs = JobTrail(os.environ["FLOOD_URL"], plugins=[], poll_interval=0.1)


@jobs.task
def flood(ctx: Context, *, folder: str, rounds: int) -> int:
    """In a thread of the worker."""
    return report_in_rounds(ctx, Path(folder), rounds)


@jobs.task(executor="process")
def flood_process(ctx: Context, *, folder: str, rounds: int) -> int:
    """In a child process."""
    return report_in_rounds(ctx, Path(folder), rounds)


def report_in_rounds(ctx: Context, folder: Path, rounds: int) -> int:
    """Each round waits for its order ({seconds, rate}; no rate: as fast as it goes) and tells how it went."""
    calls = 0
    for number in range(rounds):
        order = wait_for(ctx, folder / f"order-{number}.json")
        told = report(ctx, calls, **order)
        calls = told["done"]
        written = folder / f"told-{number}.part"
        written.write_text(json.dumps(told))
        written.rename(written.with_suffix(".json"))
    return calls


def wait_for(ctx: Context, path: Path) -> dict[str, float]:
    while not path.exists():
        ctx.check_cancelled()
        time.sleep(0.01)
    return json.loads(path.read_text())


def report(ctx: Context, done: int, seconds: float, rate: float = float("inf")) -> dict[str, float]:
    """Until the time is over; ``last_at`` by the clock that all processes of a machine share."""
    first, began = done, time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        due = min(first + passed * rate, done + 1000)
        while done < due:
            done += 1
            ctx.set_progress(done=done, total=100_000_000, message=f"row {done} of the file")
            if done % LINES_EVERY == 0:
                ctx.log.info("row %d of the file was read", done)
        if rate < float("inf"):
            time.sleep(0.001)
    ctx.set_progress(done=done + 1, total=100_000_000, message="the last row")
    last_at = time.monotonic()
    return {"calls": done + 1 - first, "done": done + 1, "seconds": last_at - began, "last_at": last_at}
