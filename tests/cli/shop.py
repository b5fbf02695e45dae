"""The application of these tests: small tasks for each way a job can go."""

from __future__ import annotations

import os
import time
from typing import Any

from jobtrail import Context, JobTrail, Limit, PermanentError, Retry


def make_new() -> JobTrail:
    """A new application over the database that SHOP_URL names."""
    made = JobTrail(os.environ["SHOP_URL"], graceful_shutdown_timeout=2, cancel_timeout=0.5)
    made.task(kind="sync")(load)
    made.task(add, limits=[Limit("a:{a}", running=2), Limit("adding", rate=50, per=60)])
    made.task(fail)
    made.task(retry=Retry(attempts=5))(flaky)
    made.task(slow)
    made.task(kind="file")(read)
    return made


def load(ctx: Context, *, rows: int = 4, bad: int = 0) -> dict[str, Any]:
    """Load some rows, of which some are bad."""
    for item in ctx.items(list(range(rows)), key=str):
        with item:
            if item.value < bad:
                message = f"=row {item.value} [bold]has no price[/bold]"
                raise PermanentError(message)
    return {"rows": rows}


def add(*, a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def fail(*, message: str = "no way", password: str | None = None) -> None:
    """End badly."""
    del password
    raise RuntimeError(message)


def flaky() -> None:
    """Fail, to be tried again."""
    message = "the server hung up"
    raise ConnectionError(message)


def slow(ctx: Context, *, seconds: float = 30.0) -> str:
    """Take time, and do not listen to anybody."""
    ctx.log.info("begins with \x1b[31mred\x1b[0m [bold]text[/bold]")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)
    return "done"


def read(ctx: Context) -> int:
    """Read the file."""
    assert ctx.file is not None
    return ctx.file.size


def broken() -> JobTrail:
    """A factory that cannot."""
    message = "no such tenant"
    raise LookupError(message)


number = 5
if "SHOP_URL" in os.environ:
    jobs = make_new()
