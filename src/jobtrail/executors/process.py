"""Bodies in child processes: a warm pool whose children really end when they are told to.

A child is started with a fresh interpreter (never forked from a process with threads), is given one job at a
time over a socket that carries JSON, and is handed the dotted name of the function that answers there. It is
the leader of its own process group: a Ctrl-C in the terminal does not reach it, and what it started is ended
with it. All children are started by one thread that lives as long as they do, because the kernel's signal at
the parent's death is bound to the thread that started the child.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

Message = dict[str, Any]
TICK = 0.25  # seconds between two looks at a child
TERM_TO_KILL = 0.5  # seconds from SIGTERM, which raises inside the body, to SIGKILL
LEAVE = 2.0  # seconds for a child that was told to leave
SPARE_AFTER = 1.0  # seconds in which all children were busy, before one is started ahead of need
IDLE = 60.0  # seconds after which an idle child is let go
_BOOT = (
    "import sys,json;from multiprocessing.connection import Connection;w=Connection(int(sys.argv[1]));"
    "s=json.loads(w.recv_bytes());sys.argv[:]=s['argv'];sys.path[:]=s['path'];"
    "from jobtrail.executors.process import begin;begin(w,s)"
)


class Wire:
    """One end of the line: JSON messages, sent from any thread, received by one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Raises OSError when the other side is gone."""
        data = json.dumps(message, separators=(",", ":")).encode()
        with self._sending:
            self._connection.send_bytes(data)

    def receive(self, timeout: float) -> Message | None:
        """The next message; None when there was none in time.

        Raises: EOFError, OSError when the other side is gone.
        """
        if not self._connection.poll(timeout):
            return None
        message: Message = json.loads(self._connection.recv_bytes())
        return message

    def close(self) -> None:
        """The other side reads the end."""
        self._connection.close()


class Talk(Protocol):
    """What the engine has to say and to hear about one job; called in a thread of the pool."""

    order: Message
    memory_limit: int | None
    max_jobs: int

    def heard(self, message: Message) -> Message | None:
        """The child reports or asks; the answer is sent back."""

    def look(self) -> str | None:
        """Called several times a second: a cause to stop for, or None."""


class ChildGone(Exception):
    """The child ended before its job; the sentence says how. ``told`` is the cause where it was ended on purpose."""

    def __init__(self, message: str, *, told: str | None = None, memory: bool = False) -> None:
        super().__init__(message)
        self.told = told
        self.memory = memory


class Child:
    """One child process, seen from the parent."""

    def __init__(self, process: subprocess.Popen[bytes], wire: Wire) -> None:
        self.pid = process.pid
        self.wire = wire
        self.jobs = 0
        self.memory_limit: int | None = None
        self.why: ChildGone | None = None
        self.since = time.monotonic()
        self._process = process
        self._signals: list[tuple[float, int, str | None]] = []

    @property
    def lives(self) -> bool:
        """Its process is there."""
        return self._process.poll() is None

    @property
    def spent(self) -> bool:
        """It was interrupted in the middle of something and is not trusted with another job."""
        return bool(self._signals) or self.why is not None

    def arm(self, cause: str | None, grace: float) -> None:
        """SIGTERM after ``grace`` seconds, SIGKILL a moment later, unless the job has ended by then."""
        at = time.monotonic() + grace
        self._signals = [(at, signal.SIGTERM, cause), (at + TERM_TO_KILL, signal.SIGKILL, cause)]

    def disarm(self) -> None:
        """The job has ended in time. Where the body was interrupted by SIGTERM, the child stays spent."""
        if len(self._signals) > 1:
            self._signals = []

    def look(self, now: float) -> None:
        """Send the signals that are due, and end it above its memory limit."""
        while self._signals and self._signals[0][0] <= now:
            _, number, cause = self._signals[0]
            if number == signal.SIGKILL:
                self.kill(ChildGone(f"its process did not stop and was killed ({cause})", told=cause))
                return
            self._signals = self._signals[1:]
            self._signal(number)
        used = _resident(self.pid) if self.memory_limit is not None else None
        if used is not None and self.memory_limit is not None and used > self.memory_limit:
            message = f"memory limit {size_words(self.memory_limit)}: its process held {size_words(used)} and was killed"
            self.kill(ChildGone(message, memory=True))

    def kill(self, why: ChildGone) -> None:
        """SIGKILL for it and for what it started."""
        if self.why is None:
            self.why = why
        if self.lives:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.lives:
            with contextlib.suppress(OSError):
                os.kill(self.pid, number)

    def leave(self) -> None:
        """Tell it to end by itself."""
        self.since = time.monotonic()
        with contextlib.suppress(OSError):
            self.wire.close()

    def end(self) -> ChildGone:
        """How it ended, after its line broke."""
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.kill(ChildGone("closed its line to the worker and was killed"))
            code = self._process.wait()
        return self.why or ChildGone(_exit_words(code))


class Call:
    """One job on its way through a child."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.future: Future[Message] = Future()
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._stop: tuple[str, float] | None = None
        self._killed: ChildGone | None = None
        self._over = False

    @property
    def pid(self) -> int | None:
        """The child that has the job."""
        return self._child.pid if self._child is not None else None

    def stop(self, cause: str, grace: float) -> None:
        """Ask the body to stop; after ``grace`` seconds SIGTERM raises inside it, and SIGKILL ends it. Never blocks."""
        with self._lock:
            if self._over or self._stop is not None:
                return
            self._stop = (cause, grace)
            if self._child is not None:
                self._tell_stop(self._child)

    def kill(self, words: str, told: str | None = None) -> None:
        """End it now."""
        with self._lock:
            self._killed = ChildGone(words, told=told)
            if self._child is not None and not self._over:
                self._child.kill(self._killed)

    def begin(self, child: Child) -> None:
        """This child has the job from now on."""
        with self._lock:
            self._child = child
            child.memory_limit = self.talk.memory_limit
            if self._killed is not None:
                child.kill(self._killed)
            elif self._stop is not None:
                self._tell_stop(child)

    def end(self) -> None:
        """The child has nothing to do with it any more."""
        with self._lock:
            self._over = True
            if self._child is not None:
                self._child.disarm()
                self._child.memory_limit = None

    def _tell_stop(self, child: Child) -> None:
        cause, grace = self._stop or ("cancel", 0.0)
        child.arm(cause, grace)
        # In a thread of its own: a child that does not read must not hold up the caller.
        message = {"kind": "stop", "cause": cause, "no": child.jobs}
        threading.Thread(target=_quietly_send, args=(child, message), name="jobtrail-stop", daemon=True).start()


def _quietly_send(child: Child, message: Message) -> None:
    with contextlib.suppress(OSError):
        child.wire.send(message)


def _converse(call: Call, child: Child) -> Message:
    """Listen until the child's last word.

    Raises: ChildGone.
    """
    try:
        child.wire.send({**call.talk.order, "no": child.jobs})
        while True:
            message = child.wire.receive(TICK)
            if message is None and not child.lives:
                message = child.wire.receive(0)
                if message is None:
                    raise EOFError  # what it forked still holds the line open
            if message is not None and message["no"] == child.jobs:  # else a thread that an earlier body left behind
                if message["kind"] == "end":
                    return message
                answer = call.talk.heard(message)
                if answer is not None:
                    child.wire.send(answer)
            cause = call.talk.look()
            if cause is not None:
                call.stop(cause, TICK)
    except (EOFError, OSError):
        raise child.end() from None


class ProcessExecutor:
    """Children that are started when they are needed, kept for the next job, and one ahead of need up to ``limit``.

    ``entry`` is the dotted name of what answers in the child, ``modules`` are imported there before the first job.
    """

    def __init__(self, entry: str, *, limit: int, modules: Iterable[str] = ()) -> None:
        self._entry = entry
        self._limit = limit
        self._modules = sorted(set(modules))
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._leaving: list[Child] = []
        self._closed = False
        self._requests: queue.SimpleQueue[tuple[Future[Child], bool] | None] = queue.SimpleQueue()
        self._keeper: threading.Thread | None = None

    # -- for the engine ------------------------------------------------------------------------------

    def start(self, talk: Talk) -> Call:
        """Hand a job to a child; the call's future gives the child's last message, or raises `ChildGone`."""
        call = Call(talk)
        threading.Thread(target=self._drive, args=(call,), name="jobtrail-process", daemon=True).start()
        return call

    @staticmethod
    async def wait(call: Call) -> Message:
        """The end of a call; cancelling this does not end the body, `Call.stop` does."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def tell(_: Future[Message]) -> None:
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
            child.kill(ChildGone("its worker ended", told="shutdown"))
        end = time.monotonic() + 2 * LEAVE
        while self._keeper is not None and self._keeper.is_alive() and time.monotonic() < end:
            self._requests.put(None)
            self._keeper.join(timeout=0.05)
        with self._lock:
            left = [*self._busy, *self._leaving]
        for child in left:
            child.kill(ChildGone("its worker ended", told="shutdown"))

    # -- one job -------------------------------------------------------------------------------------

    def _drive(self, call: Call) -> None:
        child = None
        try:
            child = self._take(call.talk.max_jobs)
            call.begin(child)
            last = _converse(call, child)
        except BaseException as error:
            if child is not None:
                child.kill(ChildGone("the worker could not go on with it"))
            outcome: tuple[Message | None, BaseException | None] = (None, error)
        else:
            outcome = (last, None)
        call.end()
        if child is not None:
            self._give_back(child, call.talk.max_jobs)
        _settle(call.future, *outcome)

    # -- the pool ------------------------------------------------------------------------------------

    def _take(self, max_jobs: int) -> Child:
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
            wanted: Future[Child] = Future()
            self._request(wanted)
            return wanted.result()

    def _give_back(self, child: Child, max_jobs: int) -> None:
        child.jobs += 1
        child.since = time.monotonic()
        with self._lock:
            self._busy.discard(child)
            keeps = child.lives and not child.spent and child.jobs < max_jobs and not self._closed
            (self._idle if keeps else self._leaving).append(child)
        if not keeps:
            child.leave()

    def _request(self, wanted: Future[Child] | None) -> None:
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

    def _serve(self, wanted: Future[Child], ahead: bool) -> None:
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
                child.kill(ChildGone("it was told to leave and did not"))
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

    def _spawn(self) -> Child:
        here, there = socket.socketpair()
        with here, there:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, *_interpreter_flags(), "-c", _BOOT, str(there.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(there.fileno(),),
                process_group=0,
            )
            wire = Wire(Connection(here.detach()))
        child = Child(process, wire)
        with contextlib.suppress(OSError):  # it died at once: the first receive says so
            wire.send(self._setup())
        return child

    def _setup(self) -> Message:
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


def _resident(pid: int) -> int | None:
    """Bytes of its own that a process holds in memory (no mapped files); None where that cannot be read."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            lines = [line.split() for line in file if line.startswith(("RssAnon:", "RssShmem:"))]
        return sum(int(line[1]) for line in lines) * 1024 if lines else None
    except (OSError, IndexError, ValueError):
        return None


def _exit_words(code: int) -> str:
    if code >= 0:
        return f"exited with code {code} (os._exit)" if code else "exited with code 0 (os._exit) before its job had ended"
    with contextlib.suppress(ValueError):
        return f"killed by signal {-code} ({signal.Signals(-code).name})"
    return f"killed by signal {-code}"


def size_words(count: int) -> str:
    """Bytes in whole MB, as people write a limit."""
    return f"{count / 1_048_576:.0f} MB"


# -- in the child ------------------------------------------------------------------------------------


def begin(connection: Connection, setup: Message) -> None:
    """The first call in a child: be no orphan, then answer."""
    signal.signal(signal.SIGINT, _unheard)  # a function, not SIG_IGN: what the body starts must not inherit it
    signal.signal(signal.SIGTERM, _unheard)
    _die_with_parent(setup["parent"])
    module, _, name = setup["entry"].partition(":")
    from importlib import import_module

    getattr(import_module(module), name)(Wire(connection), setup)


def _unheard(_number: int, _frame: Any) -> None:
    """Signals are the parent's to judge."""


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(Exception):
            import ctypes

            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)
