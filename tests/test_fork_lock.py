"""Locks that a forked child never finds held."""

from __future__ import annotations

import os
import threading
import time

import pytest

from jobtrail import fork_lock
from jobtrail.commands import service
from jobtrail.fork_lock import ForkLock

pytestmark = [pytest.mark.timeout(60), pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def child_takes(lock: ForkLock) -> int:
    """Fork; the exit code of a child that takes a lock, or -14 where it waits for ever."""
    import signal

    pid = os.fork()
    if pid == 0:
        signal.alarm(5)
        with lock:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_waits_for_what_a_lock_guards() -> None:
    assert service.fork_lock is fork_lock, "what is imported here registers the hooks"
    lock, done = ForkLock(), []
    taken, go = threading.Event(), threading.Event()

    def work() -> None:
        with lock:
            taken.set()
            go.wait(10)
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    taken.wait(10)
    threading.Timer(0.1, go.set).start()
    assert child_takes(lock) == 0
    assert done, "the fork has waited"
    thread.join(10)


def test_a_lock_that_stays_held_is_free_in_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_lock, "LONGEST", 0.05)
    lock, other, taken, go = ForkLock(), ForkLock(), threading.Event(), threading.Event()

    def work() -> None:
        with lock:
            taken.set()
            go.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    taken.wait(10)
    assert child_takes(lock) == 0
    assert child_takes(other) == 0
    assert not lock.try_hold(), "in the parent it is held as before"
    go.set()
    thread.join(10)
    assert lock.try_hold()
    lock.let_go()
    assert other.try_hold()
    other.let_go()


def test_two_locks_in_the_other_order_do_not_stop_a_fork() -> None:
    first, second = ForkLock(), ForkLock()
    over = threading.Event()

    def work(*order: ForkLock) -> None:
        while not over.is_set():
            with order[0], order[1]:
                time.sleep(0.0005)
            time.sleep(0.0005)

    threads = [threading.Thread(target=work, args=order) for order in ((first, second),) * 2]
    for thread in threads:
        thread.start()
    try:
        assert [child_takes(one) for one in (first, second) * 3] == [0] * 6
    finally:
        over.set()
        for thread in threads:
            thread.join(10)


def test_a_thread_that_forks_within_its_own_lock_keeps_it() -> None:
    lock = ForkLock()
    with lock:
        assert child_takes(lock) == 0
        found: list[bool] = []
        thread = threading.Thread(target=lambda: found.append(lock.try_hold()))
        thread.start()
        thread.join(10)
        assert found == [False]
    assert lock.try_hold()
    lock.let_go()
