"""The first call in a child process: it dies with its worker, and then answers over the line."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from jobtrail.executors.forks import own_signals

from .wire import Wire

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from .wire import WireMessage

HIGH = 512  # the lowest number for the line to the worker


def begin(connection: Connection, setup: WireMessage) -> None:
    """Prepare the signals, die with the parent, and call the entry of the setup."""
    signal.signal(signal.SIGINT, _ignored)  # a function, not SIG_IGN: what the body starts must not inherit it
    signal.signal(signal.SIGTERM, _ignored)
    own_signals(signal.SIGINT, signal.SIGTERM)
    _die_with_parent(setup["parent"])
    module, _, name = setup["entry"].partition(":")
    getattr(import_module(module), name)(Wire(_out_of_reach(connection)), setup)


def _ignored(_number: int, _frame: Any) -> None:
    """The worker acts on signals and tells its children."""


def _out_of_reach(connection: Connection) -> Connection:
    """The line under a high number, which a body does not close by mistake (``open(5)``)."""
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        number = fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, HIGH)
        connection.close()
        return type(connection)(number)
    return connection


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(Exception):
            import ctypes

            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)
