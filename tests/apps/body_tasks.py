"""Tasks whose bodies act on their process: they fork, close descriptors, change directories. Each for both executors."""

from __future__ import annotations

import asyncio
import contextlib
import decimal
import locale
import logging
import multiprocessing
import os
import signal
import threading
import time
from contextvars import ContextVar
from pathlib import Path

from jobtrail import JobTrail

app = JobTrail(os.environ.get("JOBTRAIL_URL", "sqlite:///never-opened.db"))
log = logging.getLogger("body_tasks")
FORK = multiprocessing.get_context("fork")


def everywhere(function):
    """Register a function as NAME-local and NAME-process."""
    for executor in ("local", "process"):
        name = f"{function.__name__}-{executor}"
        globals()[name] = app.task(name=name, executor=executor)(function)
    return function


# -- processes that a body forks -----------------------------------------------------------------------


@everywhere
def terminates_a_child():
    child = FORK.Process(target=time.sleep, args=(60,))
    child.start()
    child.terminate()
    child.join(10)
    code = child.exitcode
    child.kill()
    return code


@everywhere
def uses_a_pool():
    with FORK.Pool(2) as pool:
        return pool.map(abs, [-1, -2])


def _status_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@everywhere
def forks():
    pid = os.fork()
    if pid == 0:
        log.info("said by the child")
        return "CHILD"
    log.info("said by the parent")
    return _status_of(pid)


@everywhere
def forks_a_child_that_raises():
    pid = os.fork()
    if pid == 0:
        raise ValueError("in the child")
    return _status_of(pid)


@everywhere
def forks_a_child_that_exits():
    pid = os.fork()
    if pid == 0:
        raise SystemExit(3)
    return _status_of(pid)


@everywhere
async def forks_on_the_loop():
    pid = os.fork()
    if pid == 0:
        return "CHILD"
    await asyncio.sleep(0)
    return _status_of(pid)


@everywhere
async def forks_and_awaits():
    pid = os.fork()
    await asyncio.sleep(0)
    return "CHILD" if pid == 0 else _status_of(pid)


# -- descriptors ---------------------------------------------------------------------------------------

_taken = []


@everywhere
def closes_low_numbers(folder: str):
    """As ``open(5)`` does with an argument that is no path; other files get the numbers."""
    for number in range(3, 60):
        with contextlib.suppress(OSError):
            os.close(number)
    _taken.extend((Path(folder) / f"taken-{number}").open("wb") for number in range(60))
    return os.getpid()


@everywhere
def process_id():
    return os.getpid()


# -- state of the process ------------------------------------------------------------------------------

_variable: ContextVar[str] = ContextVar("variable", default="none")
decimal.getcontext()  # one object, which the contexts of all bodies would share


@everywhere
def looks_at_its_process():
    return {
        "directory": os.getcwd(),
        "environment": [os.environ.get("LEFT"), os.environ.get("PATH")],
        "locale": locale.setlocale(locale.LC_ALL),
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "precision": decimal.getcontext().prec,
        "variable": _variable.get(),
        "ignores SIGTERM": signal.getsignal(signal.SIGTERM) == signal.SIG_IGN,
        "timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "pid": os.getpid(),
    }


@everywhere
def umask():
    before = os.umask(0)
    os.umask(before)
    return before


def _change():
    os.chdir("/")
    os.environ["LEFT"] = "1"
    os.environ["PATH"] = "elsewhere"
    locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    decimal.getcontext().prec = 3
    _variable.set("left")


@everywhere
def changes_its_process():
    _change()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 3600)
        os.umask(0o077)


@everywhere
async def changes_its_process_on_the_loop():
    _change()
