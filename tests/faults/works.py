"""The application that the workers of these tests run; what its bodies do stands in a diary that survives a SIGKILL."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import subprocess
import threading
import time
from pathlib import Path

from sqlalchemy import create_engine

from jobtrail import AsyncContext, Context, JobTrail
from jobtrail.database.connection import normalise

jobs = JobTrail(migrate=True)
_diary: int | None = None


def note(what: str, ctx: Context | AsyncContext, **more: object) -> None:
    """One line, whole or not at all."""
    global _diary
    if _diary is None:
        _diary = os.open(os.environ["FAULTS_DIARY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    line = {"what": what, "job": ctx.job_id, "run": ctx.run_no, "pid": os.getpid(), "at": time.time(), **more}
    os.write(_diary, (json.dumps(line) + "\n").encode())


@jobs.task
def quick(ctx: Context, *, seconds: float = 0.0) -> None:
    note("start", ctx)
    if seconds:
        time.sleep(seconds)
    note("end", ctx)


@jobs.task
async def gentle(ctx: AsyncContext, *, seconds: float) -> None:
    note("start", ctx)
    await asyncio.sleep(seconds)
    note("end", ctx)


@jobs.task
def listed(ctx: Context, *, count: int, durable: bool = False, pause: float = 0.0) -> int:
    note("start", ctx)
    ctx.step("prepare", lambda: note("step", ctx))
    for item in ctx.items(range(count), durable=durable):
        with item:
            if pause:
                time.sleep(pause)
            note("item", ctx, key=item.value)
    note("end", ctx)
    return count


@jobs.task
def cooperative(ctx: Context, *, seconds: float = 300.0) -> None:
    note("start", ctx)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.02)
        ctx.check_cancelled()
    note("end", ctx)


@jobs.task
def deaf(ctx: Context, *, seconds: float = 300.0) -> None:
    note("start", ctx)
    time.sleep(seconds)
    note("end", ctx)


@jobs.task
async def computing(ctx: AsyncContext, *, seconds: float) -> None:
    """Never awaits, so the loop stands still."""
    note("start", ctx)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
    note("end", ctx)


@jobs.task(timeout=2)
async def blocking(ctx: AsyncContext) -> None:
    """Its first run never lets the loop turn again, so that its own limit is not enforced."""
    note("start", ctx)
    time.sleep(300 if ctx.run_no == 1 else 0)
    note("end", ctx)


@jobs.task
def holding(ctx: Context, *, seconds: int) -> None:
    """A C call that does not give the interpreter's lock away."""
    note("start", ctx)
    ctypes.PyDLL(None).usleep(seconds * 1_000_000)
    note("end", ctx)


@jobs.task
def killer(ctx: Context) -> None:
    note("start", ctx)
    os.kill(os.getpid(), 9)
    time.sleep(60)


@jobs.task(timeout=0.5)
def hung(ctx: Context) -> None:
    note("start", ctx)
    threading.Event().wait()


@jobs.task
def forking(ctx: Context, *, seconds: float) -> None:
    """Leaves a forked grandchild that holds everything this process has open."""
    note("start", ctx)
    if Path(os.environ["FAULTS_DIARY"] + ".forked").exists():
        note("end", ctx)
        return
    pid = os.fork()
    if pid == 0:
        time.sleep(seconds)
        os._exit(0)
    Path(os.environ["FAULTS_DIARY"] + ".forked").write_text(str(pid))
    time.sleep(seconds)
    note("end", ctx)


@jobs.task(executor="process")
def starting(ctx: Context) -> None:
    """Starts a program of its own, and tells its pid; the second run only ends."""
    program = subprocess.Popen(["sleep", "300"]) if ctx.run_no == 1 else None
    note("start", ctx, program=program and program.pid)
    if program is not None:
        program.wait()
    note("end", ctx)


@jobs.task
async def once_long(ctx: AsyncContext) -> None:
    """Its first run does not end by itself."""
    note("start", ctx)
    await asyncio.sleep(300 if ctx.run_no == 1 else 0)
    note("end", ctx)


@jobs.task
def asks(ctx: Context) -> int:
    note("start", ctx)
    ctx.step("download", lambda: note("download", ctx))
    many: int = ctx.ask("many", "How many?", int)
    ctx.step("load", lambda: note("load", ctx))
    ctx.schedule_next("follows", {"many": many})
    return many


@jobs.task
def follows(ctx: Context, *, many: object = None) -> None:
    note("follows", ctx, many=many)


@jobs.task
def fenced(ctx: Context, *, table: str, go: str) -> None:
    """Publish its run in its own transaction; the first one waits until it may go on."""
    note("start", ctx)
    while ctx.run_no == 1 and not Path(go).exists():
        time.sleep(0.02)
    note("publishes", ctx)
    with create_engine(normalise(str(jobs.store.database.url.render_as_string(hide_password=False)))).begin() as conn:
        conn.exec_driver_sql(f"INSERT INTO {table} VALUES ({ctx.run_no})")
        ctx.fence(conn)
    note("end", ctx)
