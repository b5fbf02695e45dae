"""The pool of child processes.

A child is started with a fresh interpreter (never forked from a process with threads), is given one job at a time over a
socket that carries JSON, and is handed the dotted name of the function that answers there. It leads its own process group:
a Ctrl-C in the terminal does not reach it, and what it has started is ended with it. One thread starts all children and
lives as long as they do, because the kernel's signal at the parent's death is bound to the thread that started the child.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from jobtrail.messages import Message

from .body_call import TICK, BodyCall, converse
from .child_process import ChildGone, ChildProcess
from .wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .body_call import BodyConversation
    from .wire import WireMessage

LEAVE = 2.0  # seconds for a child that was asked to leave
SPARE_AFTER = 1.0  # seconds in which all children were busy, before one is started ahead of need
IDLE = 60.0  # seconds after which an idle child is let go
_BOOT = (
    "import sys,json;from multiprocessing.connection import Connection;w=Connection(int(sys.argv[1]));"
    "s=json.loads(w.recv_bytes());sys.argv[:]=s['argv'];sys.path[:]=s['path'];"
    "from jobtrail.executors.process.bootstrap import begin;begin(w,s)"
)


class ProcessExecutor:
    """Child processes that are started when they are needed, kept for the next job, and one ahead of need.

    Args:
        entry: the dotted name (``module:function``) of what answers in the child.
        limit: how many children there may be.
        modules: modules that a child imports before its first job, in this order.

    """

    def __init__(self, entry: str, *, limit: int, modules: Iterable[str] = ()) -> None:
        self._entry = entry
        self._limit = limit
        self._modules = list(dict.fromkeys(modules))
        self._lock = threading.Lock()
        self._idle: list[ChildProcess] = []
        self._busy: set[ChildProcess] = set()
        self._leaving: list[ChildProcess] = []
        self._closed = False
        self._requests: queue.SimpleQueue[tuple[Future[ChildProcess], bool] | None] = queue.SimpleQueue()
        self._keeper: threading.Thread | None = None

    # -- for the worker ------------------------------------------------------------------------------

    def start(self, conversation: BodyConversation) -> BodyCall:
        """Hand a job to a child; the call's future gives the child's last message, or raises `ChildGone`."""
        call = BodyCall(conversation)
        threading.Thread(target=self._drive, args=(call,), name="jobtrail-process", daemon=True).start()
        return call

    @staticmethod
    async def wait(call: BodyCall) -> WireMessage:
        """The end of a call; cancelling this does not end the body, `BodyCall.stop` does."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def tell(_: Future[WireMessage]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_wake, ended)

        call.future.add_done_callback(tell)
        await ended
        return call.future.result()

    def warm(self) -> None:
        """Have a child ready before the first job."""
        self._request(None)

    def pids(self) -> list[int]:
        """All children there are."""
        with self._lock:
            return [child.pid for child in (*self._idle, *self._busy, *self._leaving) if child.lives]

    def release(self) -> None:
        """No new child ahead of need, and let the idle ones go; busy ones go when their job has ended."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            self._leaving += idle
        for child in idle:
            child.leave()

    def close(self) -> None:
        """End all children; returns when none is left (blocking)."""
        self.release()
        with self._lock:
            busy = list(self._busy)
        for child in busy:
            child.kill(ChildGone(Message("executors.worker-ended"), cause="shutdown"))
        end = time.monotonic() + 2 * LEAVE
        while self._keeper is not None and self._keeper.is_alive() and time.monotonic() < end:
            self._requests.put(None)
            self._keeper.join(timeout=0.05)
        with self._lock:
            left = [*self._busy, *self._leaving]
        for child in left:
            child.kill(ChildGone(Message("executors.worker-ended"), cause="shutdown"))

    # -- one job -------------------------------------------------------------------------------------

    def _drive(self, call: BodyCall) -> None:
        child = None
        try:
            child = self._take(call.conversation.max_jobs)
            call.begin(child)
            last = converse(call, child)
        except BaseException as error:
            if child is not None:
                child.kill(ChildGone(Message("executors.worker-failed")))
            outcome: tuple[WireMessage | None, BaseException | None] = (None, error)
        else:
            outcome = (last, None)
        call.end()
        if child is not None:
            self._give_back(child, call.conversation.max_jobs)
        _settle(call.future, *outcome)

    # -- the pool ------------------------------------------------------------------------------------

    def _take(self, max_jobs: int) -> ChildProcess:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
                if child is not None and child.lives and child.jobs < max_jobs:
                    child.since = time.monotonic()
                    self._busy.add(child)
                    return child
                if child is not None:
                    self._leaving.append(child)
            if child is not None:
                child.leave()
                continue
            wanted: Future[ChildProcess] = Future()
            self._request(wanted)
            return wanted.result()

    def _give_back(self, child: ChildProcess, max_jobs: int) -> None:
        child.jobs += 1
        child.since = time.monotonic()
        with self._lock:
            self._busy.discard(child)
            keeps = child.lives and not child.spent and child.jobs < max_jobs and not self._closed
            (self._idle if keeps else self._leaving).append(child)
        if not keeps:
            child.leave()

    def _request(self, wanted: Future[ChildProcess] | None) -> None:
        with self._lock:
            if wanted is None and self._closed:
                return
            if self._keeper is None or not self._keeper.is_alive():
                self._keeper = threading.Thread(target=self._keep, name="jobtrail-processes", daemon=True)
                self._keeper.start()
        self._requests.put((Future(), True) if wanted is None else (wanted, False))

    def _keep(self) -> None:
        """Start children and look after them; the one thread that starts any, see above."""
        while True:
            with contextlib.suppress(queue.Empty):
                wanted = self._requests.get(timeout=TICK)
                if wanted is not None:
                    self._serve(*wanted)
            if self.run_once(time.monotonic()):
                return

    def _serve(self, wanted: Future[ChildProcess], ahead: bool) -> None:
        try:
            child = self._spawn()
        except BaseException as error:
            _settle(wanted, None, error)
            return
        with self._lock:
            if not ahead:
                self._busy.add(child)
            elif self._closed:
                self._leaving.append(child)
            else:
                self._idle.append(child)
            leaves = ahead and self._closed
        if leaves:
            child.leave()
        _settle(wanted, child, None)

    def run_once(self, now: float) -> bool:
        """One look at all children; True when the pool is closed and none is left."""
        with self._lock:
            old = [one for one in self._idle[:-1] if now - one.since > IDLE]
            old += [one for one in self._idle if not one.lives]
            self._idle = [one for one in self._idle if one not in old]
            self._leaving = [one for one in (*self._leaving, *old) if one.lives]
            busy, leaving = list(self._busy), list(self._leaving)
        for child in old:
            child.leave()
        for child in busy:
            child.look(now)
        for child in leaving:
            if now - child.since > LEAVE:
                child.kill(ChildGone(Message("executors.did-not-leave")))
        self._keep_one_ahead(now)
        with self._lock:
            return self._closed and not (self._idle or self._busy or self._leaving) and self._requests.empty()

    def _keep_one_ahead(self, now: float) -> None:
        """Where all children have been busy for a while, the next job need not wait for an interpreter."""
        with self._lock:
            full = self._idle or self._closed or not self._busy or len(self._busy) >= self._limit
            wanted = not full and all(now - one.since > SPARE_AFTER for one in self._busy)
        if wanted:
            self._serve(Future(), ahead=True)

    def _spawn(self) -> ChildProcess:
        here, there = socket.socketpair()
        with here, there:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, *_interpreter_flags(), "-c", _BOOT, str(there.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(there.fileno(),),
                process_group=0,
            )
            wire = Wire(Connection(here.detach()))
        child = ChildProcess(process, wire)
        with contextlib.suppress(OSError):  # it died at once: the first receive says so
            wire.send(self._setup())
        return child

    def _setup(self) -> WireMessage:
        return {
            "entry": self._entry,
            "modules": self._modules,
            "path": [str(one) for one in sys.path],
            "argv": [str(one) for one in sys.argv],
            "main": _main_module(),
            "parent": os.getpid(),
        }


def _settle(future: Future[Any], value: Any, error: BaseException | None) -> None:
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _interpreter_flags() -> list[str]:
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return flags


def _main_module() -> dict[str, str]:
    """Where the program's main module comes from, as `multiprocessing.spawn.prepare` takes it."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name is not None:
        return {"init_main_from_name": name}
    path = getattr(main, "__file__", None)
    return {"init_main_from_path": os.path.abspath(path)} if path is not None else {}  # noqa: PTH100 - a text is sent
