"""The application of the campaign, in two versions: one renames a task, removes one and has a new one. Its bodies keep a diary.

`CAMPAIGN_VERSION` chooses: "old", "new", or "both", which knows all names and is what the campaign ends with.
"""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from jobtrail import AsyncContext, Context, JobTrail, PermanentError, Retry, RetryableError

ITEMS = 8
PLANNED = "planned to fail"
BULK = "bulk"  # the second queue
CHILDREN = "CAMPAIGN_CHILDREN"  # set where workers have child processes; each costs the start of an interpreter
AGAIN = Retry(attempts=3, wait=0.2)


def note(what: str, ctx: Context | AsyncContext, name: object = None) -> None:
    """One line, whole or not at all; it survives a SIGKILL."""
    line = {"what": what, "job": ctx.job_id, "run": ctx.run_no, "ledger": ctx._claim.ledger, "name": name and str(name)}
    diary = os.open(os.environ["FAULTS_DIARY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(diary, (json.dumps(line) + "\n").encode())
    finally:
        os.close(diary)


def application(version: str, url: str | None = None, **settings: Any) -> JobTrail:
    """The tasks and schedules of one version."""
    jobs = JobTrail(url, plugins=(), **settings)
    jobs.task(retry=AGAIN)(quick)
    jobs.task(retry=AGAIN)(gentle)
    jobs.task(retry=AGAIN)(listed)
    jobs.task(retry=AGAIN, queue=BULK)(load)
    jobs.task(retry=AGAIN)(asks)
    jobs.task(retry=AGAIN)(flaky)
    jobs.task(retry=AGAIN, settle=0.01)(reads)
    jobs.task(retry=AGAIN)(follows)
    jobs.task(on_interrupt="hold")(held)
    jobs.task(retry=AGAIN, executor="process" if os.environ.get(CHILDREN) else "local")(isolated)
    tick = jobs.task(retry=AGAIN, priority=1)(ticks)
    jobs.schedule(timedelta(seconds=1), name="every second", overlap="allow", catch_up="all", window=300)(tick)
    jobs.schedule(timedelta(seconds=3), name="one at a time", args={"seconds": 2.0})(tick)
    renamed = {"name": "report", "aliases": ("summary",)} if version != "old" else {"name": "summary"}
    jobs.task(retry=AGAIN, **renamed)(report)
    if version != "new":
        jobs.task(retry=AGAIN)(departing)
    if version != "old":
        jobs.task(retry=AGAIN)(arriving)
    return jobs


def quick(ctx: Context, *, seconds: float = 0.0) -> None:
    note("start", ctx)
    time.sleep(seconds)
    note("end", ctx)


async def gentle(ctx: AsyncContext, *, seconds: float = 0.0) -> None:
    import asyncio

    note("start", ctx)
    await asyncio.sleep(seconds)
    note("end", ctx)


def listed(ctx: Context, *, bad: int = 0, durable: bool = True) -> int:
    """A step, then items; the first ``bad`` ones fail when they are met for the first time."""
    note("start", ctx)
    _step(ctx, "prepare")
    ctx.set_progress(0, "prepared")
    ctx.log.info("%d items", ITEMS)
    first = ctx._claim.mode is None and ctx._claim.continues is None
    for item in ctx.items(range(ITEMS), durable=durable):
        with item:
            time.sleep(0.01)
            if first and item.value < bad:
                raise PermanentError(PLANNED)
            note("durable" if durable else "item", ctx, f"item {item.value}")
    note("end", ctx)
    return ITEMS


def load(ctx: Context, *, bad: int = 0) -> int:
    """The work of a unit."""
    return listed(ctx, bad=bad)


def asks(ctx: Context, *, expires: float | None = None, default: int | None = None) -> int:
    note("start", ctx)
    _step(ctx, "download")
    limits: dict[str, Any] = {} if expires is None else {"expires": expires}
    limits |= {} if default is None else {"default": default}
    many: int = ctx.ask("many", "How many?", int, **limits)
    _step(ctx, "load")
    ctx.schedule_next("follows", {"why": "answered"})
    note("end", ctx)
    return many


def flaky(ctx: Context, *, times: int) -> None:
    note("start", ctx)
    if ctx.attempt <= times:
        raise RetryableError(PLANNED)
    note("end", ctx)


def reads(ctx: Context) -> int:
    note("start", ctx)
    assert ctx.file is not None
    size = len(Path(ctx.file.path).read_bytes())
    note("end", ctx)
    return size


def follows(ctx: Context, *, why: object = None) -> None:
    note("start", ctx)
    note("end", ctx)


def held(ctx: Context, *, seconds: float = 0.0) -> None:
    """Waits for a person where its worker died."""
    quick(ctx, seconds=seconds)


def isolated(ctx: Context, *, seconds: float = 0.0) -> None:
    """In a child process."""
    quick(ctx, seconds=seconds)


def ticks(ctx: Context, *, seconds: float = 0.0) -> None:
    quick(ctx, seconds=seconds)


def report(ctx: Context) -> None:
    """Called ``summary`` in the old version."""
    quick(ctx)


def departing(ctx: Context) -> None:
    """Not in the new version."""
    quick(ctx)


def arriving(ctx: Context) -> None:
    """Not in the old version."""
    quick(ctx)


def _step(ctx: Context, name: str) -> None:
    ctx.step(name, lambda: note("step", ctx, name))
    note("stepped", ctx, name)


jobs = application(os.environ.get("CAMPAIGN_VERSION", "both"))
isolated = jobs.task_named("isolated")  # noqa: F811 - where a child process looks for it
