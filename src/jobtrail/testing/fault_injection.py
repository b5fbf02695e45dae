"""Fault injection: a worker that kills its own process at a named point, for tests; see `jobtrail.testing.crash`.

The worker knows nothing of it: `install` wraps its steps. As a program, ``python -m jobtrail.testing.fault_injection
POINT …`` installs a point and then is the command ``jobtrail …``.
"""

from __future__ import annotations

import functools
import os
import runpy
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message
from jobtrail.recovery import upkeep
from jobtrail.runtime.item_loops import ItemLoop
from jobtrail.runtime.recorder import Recorder
from jobtrail.runtime.steps import StepKeeper
from jobtrail.worker import session
from jobtrail.worker.run_starter import RunStarter
from jobtrail.worker.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

NAMED = ("claim_answer_lost", "claimed", "before_settle", "settle_answer_lost", "after_settle", "released")


def check(point: str) -> None:
    """Check that a point exists.

    Raises:
        InvalidOption: if it does not; the message lists those that do.

    """
    kind, _, which = point.partition(":")
    numbered = kind == "item" and which.isdecimal() and int(which) > 0
    if point in NAMED or numbered or (kind == "step" and which):
        return
    raise InvalidOption(Message("testing.no-point", point=point, known=NAMED))


def install(point: str) -> None:
    """Let every worker of this process kill the process with SIGKILL at the first time that it reaches ``point``.

    Args:
        point: ``before_settle``: an end is about to be written. ``settle_answer_lost``: it is written, and the worker
            does not know yet. ``after_settle``: the turn is over. ``released``: a chunk of many successors has come. ``claim_answer_lost``: jobs are claimed, and the
            worker does not know yet. ``claimed``: a run begins. ``step:NAME``: a step is kept. ``item:N``: the N-th
            item of a job is recorded.

    Raises:
        InvalidOption: if there is no such point.

    """
    check(point)

    def reached(one: str) -> None:
        if one == point:
            os.kill(os.getpid(), signal.SIGKILL)

    _at_turns(reached)
    _at_items(reached)
    _at_releases(reached)
    start, save = RunStarter._perform, StepKeeper.save

    @functools.wraps(start)
    async def perform(self: Any, run: Any) -> None:
        reached("claimed")
        await start(self, run)

    @functools.wraps(save)
    def kept(self: Any, claim: Any, name: str, *rest: Any) -> bool:
        found = save(self, claim, name, *rest)
        reached(f"step:{name}")
        return found

    _replace(RunStarter, "_perform", perform)
    _replace(StepKeeper, "save", kept)


def _at_turns(reached: Callable[[str], None]) -> None:
    write, turn = Turns._write_turn, Turns.run_once

    @functools.wraps(write)
    async def write_turn(self: Any, ends: Any, wants: Any, tickets: Any, *, looks: bool) -> Any:
        if ends:
            reached("before_settle")
        found = await write(self, ends, wants, tickets, looks=looks)
        if ends:
            reached("settle_answer_lost")
        if found[1]:
            reached("claim_answer_lost")
        return found

    @functools.wraps(turn)
    async def run_once(self: Any) -> Any:
        found = await turn(self)
        if found.settled:
            reached("after_settle")
        return found

    _replace(Turns, "_write_turn", write_turn)
    _replace(Turns, "run_once", run_once)


def _at_items(reached: Callable[[str], None]) -> None:
    """An item of this process is recorded by its loop, which may also wait for the commit; one of a child by the recorder."""
    record, item, inside = ItemLoop.record, Recorder.item, threading.local()

    @functools.wraps(record)
    def recorded(self: Any, *given: Any, **more: Any) -> None:
        inside.loop = True
        try:
            record(self, *given, **more)
        finally:
            inside.loop = False
        reached(f"item:{len(self._recorder._own)}")

    @functools.wraps(item)
    def taken(self: Any, one: Any) -> None:
        item(self, one)
        if not getattr(inside, "loop", False):
            reached(f"item:{len(self._own)}")

    _replace(ItemLoop, "record", recorded)
    _replace(Recorder, "item", taken)


def _at_releases(reached: Callable[[str], None]) -> None:
    release = upkeep.release

    def resting(store: Any, *, wait: Callable[[float], Any] = time.sleep) -> int:
        def rest(seconds: float) -> Any:
            reached("released")
            return wait(seconds)

        return release(store, wait=rest)

    for caller in (upkeep, session):
        _replace(caller, "release", resting)


def _replace(owner: Any, name: str, function: Callable[..., Any]) -> None:
    setattr(owner, name, function)


def main() -> None:
    """Install the point that is the first argument; the others are those of the command ``jobtrail``."""
    install(sys.argv[1])
    sys.argv = ["jobtrail", *sys.argv[2:]]
    runpy.run_module("jobtrail", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
