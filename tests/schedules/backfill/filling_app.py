"""The application of the backfill tests with real worker processes; one may be told to die where it hurts."""

from __future__ import annotations

import os
import signal
import time
from itertools import count
from typing import Any

from jobtrail import Context, JobTrail
from jobtrail.schedules.backfill import runner


def make(url: str) -> JobTrail:
    """An application over this database."""
    jobs = JobTrail(url, poll_interval=0.1, sweep_interval=0.5)
    jobs.task(load)
    return jobs


def from_environment() -> JobTrail:
    """For the command: an application of its own for each call."""
    return make(os.environ["JOBTRAIL_URL"])


def load(ctx: Context, *, airport: str, seconds: float = 0.0) -> str:
    """Load one month; its beginning stands in the diary, its end waits for the gate."""
    diary = os.environ.get("FILLING_DIARY")
    if diary:
        with open(diary, "a") as file:
            file.write(f"{ctx.source} {ctx.period} {ctx.job_id} {ctx.run_no}\n")
    time.sleep(seconds)
    gate, shut = os.environ.get("FILLING_GATE"), time.monotonic() + 60
    while gate and not os.path.exists(gate) and time.monotonic() < shut:
        time.sleep(0.01)
    if airport == "nowhere":
        message = "there is no such airport"
        raise LookupError(message)
    return airport


def die_after_submission(number: int) -> None:
    """The process is killed when the submission of this number is committed, before anything is told of it."""
    plain, numbers = runner.BackfillRunner._submit, count(1)

    def submit(self: Any, *rest: Any) -> Any:
        answer = plain(self, *rest)
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    runner.BackfillRunner._submit = submit  # type: ignore[method-assign]


if "FILLING_DIES_AFTER" in os.environ:
    die_after_submission(int(os.environ["FILLING_DIES_AFTER"]))
jobs = make(os.environ["JOBTRAIL_URL"]) if "JOBTRAIL_URL" in os.environ else None
