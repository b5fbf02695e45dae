"""Bodies around which middleware is tried; a child process imports this module to find those that run there."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from jobtrail import JobTrail

ENDS = ("success", "retry", "failure", "cancel", "timeout", "shutdown")
BREAKS = ("raises", "hangs", "cancelled", "changes", "swallows")
FAR = 30  # seconds

app = JobTrail("sqlite:///never-opened.db", plugins=(), config=None)


def said(path, word):
    with Path(path).open("a") as file:
        file.write(f"{word}\n")


def sync(ctx, *, end: str, path: str):
    said(path, "body")
    if end == "failure" or (end == "retry" and ctx.attempt == 1):
        raise ValueError("the body's")
    until = time.monotonic() + FAR
    while end in {"cancel", "timeout", "shutdown"} and time.monotonic() < until:
        ctx.check_cancelled()
        time.sleep(0.01)
    return "earned"


async def alone(ctx, *, end: str, path: str):
    said(path, "body")
    if end == "failure" or (end == "retry" and ctx.attempt == 1):
        raise ValueError("the body's")
    if end in {"cancel", "timeout", "shutdown"}:
        await asyncio.sleep(FAR)
    return "earned"


for breaks in (*BREAKS, "waits"):
    app.task(name=f"process_{breaks}", executor="process")(sync)
    globals()[f"process_{breaks}"] = app.task_named(f"process_{breaks}")
