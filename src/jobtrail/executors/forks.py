"""Forks in a body: signals, the wake-up descriptor and the answer belong to the process that began the body.

A forked child would otherwise inherit the worker's signal handlers, which keep SIGTERM from ending it, and the descriptor
that wakes the worker's event loop, so that a signal to the child would stop the worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from types import coroutine
from typing import TYPE_CHECKING, Any, NoReturn

from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping

_own: dict[int, Any] = {}  # the handlers that a forked child must not have, by the number of the signal
_forking = threading.local()


def own_signals(*numbers: int) -> None:
    """Note that the present handlers of these signals are for this process only: a forked child gets the default."""
    _own.update({number: signal.getsignal(number) for number in numbers})


def call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a body's plain function; a process that it forks and that returns from it ends there."""
    pid = os.getpid()
    try:
        value = function(**arguments)
    except BaseException as error:
        _end_fork_of(pid, error)
        raise
    _end_fork_of(pid)
    return value


@coroutine
def awaited(body: Awaitable[Any]) -> Generator[Any, None, Any]:
    """Await a body's coroutine; a process that it forks ends where it returns, or awaits something."""
    pid = os.getpid()
    steps = body.__await__()
    thrown: BaseException | None = None
    while True:
        try:
            paused = next(steps) if thrown is None else steps.throw(thrown)
        except StopIteration as end:
            if os.getpid() != pid:
                _end_fork_of(pid)
            return end.value
        except BaseException as error:
            _end_fork_of(pid, error)
            raise
        finally:
            thrown = None
        if os.getpid() != pid:
            _end_fork_of(pid, RuntimeError(Message("executors.await-in-fork")))
        try:
            yield paused
        except BaseException as error:
            thrown = error


def _end_fork_of(pid: int, error: BaseException | None = None) -> None:
    """End this process, as a program would end, unless it is the one that began the body."""
    if os.getpid() == pid:
        return
    status = 0
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        traceback.print_exception(error)
        status = 1
    _leave(status)


def _leave(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


def _before_fork() -> None:
    """Hold signals back: one that reached the child before its handlers are reset would be the parent's."""
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def _after_fork_in_parent() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _after_fork_in_child() -> None:
    signal.set_wakeup_fd(-1)  # it wakes a loop of the parent; Python itself does this from 3.12 on
    for number, handler in _own.items():
        if signal.getsignal(number) is handler:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    _own.clear()
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
