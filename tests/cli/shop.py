"""The application of these tests: small tasks for each way a job can go."""

from __future__ import annotations

import os
import time
from typing import Any

from jobtrail import Context, JobTrail, Retry

jobs = JobTrail(os.environ.get("SHOP_URL", "sqlite:///shop.db"), graceful_shutdown_timeout=2, cancel_timeout=0.5)


@jobs.task(kind="sync")
def load(ctx: Context, *, rows: int = 4, bad: int = 0) -> dict[str, Any]:
    """Load some rows, of which some are bad."""
    for item in ctx.items(list(range(rows)), key=str):
        with item:
            if item.value < bad:
                message = f"=row {item.value} [bold]has no price[/bold]"
                raise ValueError(message)
    return {"rows": rows}


@jobs.task
def add(*, a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@jobs.task
def fail(*, message: str = "no way", password: str | None = None) -> None:
    """End badly."""
    raise RuntimeError(message)


@jobs.task(retry=Retry(attempts=5))
def flaky() -> None:
    """Fail, to be tried again."""
    raise ConnectionError("the server hung up")


@jobs.task
def slow(ctx: Context, *, seconds: float = 30.0) -> str:
    """Take time and tell about it."""
    ctx.log.info("begins with \x1b[31mred\x1b[0m [bold]text[/bold]")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ctx.set_progress(percent=50, message="half")
        time.sleep(0.05)
    return "done"


@jobs.task(kind="file")
def read(ctx: Context) -> int:
    """Read the file."""
    return ctx.file.size


def make() -> JobTrail:
    """A factory."""
    return jobs
