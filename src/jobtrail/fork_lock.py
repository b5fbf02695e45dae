"""A lock that a forked child never finds held by a thread that it does not have.

A fork copies locks as they are, but of the threads only the one that forks: what another one held would be held in the child
for ever. So a fork waits until these locks are free, and what they guard is whole in the child. A fork that has waited too
long goes on, and its child gets a free lock all the same.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

LONGEST = 2.0  # seconds that a fork waits
LOOK = 0.001  # seconds between two tries


class ForkLock:
    """A lock that its thread may take again, for whatever a child may use that was forked beside threads of its parent."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Take it."""
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self._lock.release()

    def try_hold(self) -> bool:
        """Take it for a fork, if nobody else has it."""
        return self._lock.acquire(blocking=False)

    def let_go(self) -> None:
        """Give it back after a fork."""
        self._lock.release()

    def begin_anew(self) -> None:
        """In a child: whoever held it is not here."""
        self._lock = threading.RLock()


_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()
_held: list[ForkLock] = []


def _before_fork() -> None:
    """Take all at once or none, so that no thread waits for one of them while it holds another."""
    end = time.monotonic() + LONGEST
    while True:
        for lock in list(_locks):
            if not lock.try_hold():
                break
            _held.append(lock)
        else:
            return
        if time.monotonic() >= end:
            return
        _let_go()
        time.sleep(LOOK)


def _let_go() -> None:
    while _held:
        _held.pop().let_go()


def _in_child() -> None:
    held = set(_held)
    for lock in list(_locks):
        if lock not in held:
            lock.begin_anew()
    _let_go()


def register() -> None:
    """Let forks wait. Called where all that stops other threads for a fork is registered already: those must still run here."""
    if hasattr(os, "register_at_fork") and not _registered:
        _registered.append(True)
        os.register_at_fork(before=_before_fork, after_in_parent=_let_go, after_in_child=_in_child)


_registered: list[bool] = []
