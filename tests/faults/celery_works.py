"""Jobs that Celery runs: the same application for its workers and, without a broker, for the test that submits."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from works import note

from jobtrail import AsyncContext, Context, JobTrail
from jobtrail.executors.base import HandingOver, Ticket


class Elsewhere(HandingOver):
    """The executor as a program has it that submits only: it never sends."""

    name = "celery"

    def send(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Send nothing."""
        del tickets
        return []


def quick(ctx: Context, *, seconds: float = 0.0) -> None:
    note("start", ctx)
    if seconds:
        time.sleep(seconds)
    note("end", ctx)


async def gentle(ctx: AsyncContext, *, seconds: float = 300.0) -> None:
    note("start", ctx)
    await asyncio.sleep(seconds)
    note("end", ctx)


def cooperative(ctx: Context, *, seconds: float = 300.0) -> None:
    note("start", ctx)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.02)
        ctx.check_cancelled()
    note("end", ctx)


def once_long(ctx: Context, *, seconds: float = 300.0) -> None:
    """Its first run does not end by itself."""
    note("start", ctx)
    if ctx.run_no == 1:
        time.sleep(seconds)
    note("end", ctx)


def stubborn(ctx: Context) -> None:
    """No exception ends it."""
    note("start", ctx)
    while ctx.run_no == 1:
        try:
            time.sleep(300)
        except BaseException as error:
            note("caught", ctx, error=type(error).__name__)
    note("end", ctx)


def computing(ctx: Context) -> None:
    """A loop in C that never looks for signals."""
    note("start", ctx)
    if ctx.run_no == 1:
        sum(itertools.repeat(1, 10**14))
    note("end", ctx)


def killer(ctx: Context, *, always: bool = False) -> None:
    """Its process is killed, as the system does where memory runs out."""
    note("start", ctx)
    if always or ctx.run_no == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    note("end", ctx)


def raising(ctx: Context, *, how: str = "value") -> None:
    """Raise what cannot be sent to another process, printed or counted."""
    note("start", ctx)
    if how == "exit":
        sys.exit(3)
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "group":
        raise ExceptionGroup("many", [ValueError(str(number)) for number in range(1000)])
    if how == "circle":
        first, second = ValueError("first"), ValueError("second")
        first.__cause__, second.__cause__ = second, first
        raise first
    raise unfit(how)


def unfit(how: str) -> Exception:
    """An error that cannot be pickled, printed or rebuilt."""

    class Local(Exception):
        def __init__(self, needed: object, also: object) -> None:
            super().__init__(needed, also)
            self.lock = threading.Lock()

        def __str__(self) -> str:
            if how == "text":
                raise RuntimeError("no text")
            return "x" * 50_000_000 if how == "large" else "bad row"

        __repr__ = __str__

    return Local(1, 2)


TASKS = (quick, gentle, cooperative, once_long, stubborn, computing, killer, raising)


def declare(jobs: JobTrail) -> JobTrail:
    """Give an application the tasks."""
    for function in TASKS:
        jobs.task(function)
    return jobs


def die_once_at(point: str) -> None:
    """The first process that reaches a point of `jobtrail.testing.fault_injection` is killed there, and no other one."""
    from types import SimpleNamespace

    from jobtrail.testing import fault_injection

    def kill(pid: int, number: int) -> None:
        try:
            os.close(os.open(os.environ["FAULTS_DIARY"] + ".died", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(pid, number)

    fault_injection.os = SimpleNamespace(kill=kill, getpid=os.getpid)  # type: ignore[assignment]
    fault_injection.install(point)


def made() -> tuple[Any, JobTrail]:
    """The Celery application and ours, as a worker of Celery imports them."""
    from celery import Celery

    from jobtrail.integrations.celery import CeleryExecutor

    app = Celery("faults", broker=os.environ["FAULTS_BROKER"])
    app.conf.update(broker_connection_retry_on_startup=True, broker_heartbeat=10, worker_prefetch_multiplier=4)
    if "FAULTS_VISIBILITY" in os.environ:
        seconds = float(os.environ["FAULTS_VISIBILITY"])
        looks = {"unacked_restore_interval": 1, "unacked_restore_throttle": 1}
        app.conf.broker_transport_options = {"visibility_timeout": seconds, **looks}
    app.conf.worker_soft_shutdown_timeout = float(os.environ.get("FAULTS_SOFT_SHUTDOWN", "0"))
    for name, value in (one.split("=") for one in os.environ.get("FAULTS_CELERY", "").split()):
        app.conf[name] = {"True": True, "False": False}.get(value, value)
    jobs = declare(JobTrail(os.environ["JOBTRAIL_URL"], migrate=True, executor=CeleryExecutor(app)))
    if "FAULTS_POINT" in os.environ:
        die_once_at(os.environ["FAULTS_POINT"])
    if "FAULTS_USED_BEFORE" in os.environ:
        list(jobs.find())
        jobs.task_named("quick").enqueue()
    return app, jobs


if "FAULTS_BROKER" in os.environ:
    app, jobs = made()
