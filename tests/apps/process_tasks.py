"""Tasks that run in child processes; a child imports this module to find them."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

from jobtrail import AsyncContext, Context, JobTrail, Partial, PermanentError, RetryableError, Snooze

app = JobTrail("sqlite:///never-opened.db")
app.state.word = "of the child"
AT_ONCE = {"attempts": 2, "wait": {"kind": "fixed", "seconds": 0}}
log = logging.getLogger("process_tasks")


def task(**options):
    return app.task(executor="process", **options)


# -- reports -------------------------------------------------------------------------------------------


@task()
def who(ctx: Context, *, word: str = "x"):
    return {"pid": os.getpid(), "parent": os.getppid(), "word": word, "state": ctx.state.word, "attempt": ctx.attempt}


@task()
def about(ctx: Context):
    file = ctx.file.name if ctx.file else None
    return [ctx.job_id, ctx.source, str(ctx.period), file, ctx.max_attempts, ctx.run_no]


@task()
def read_a_growing_file(ctx: Context):
    path = Path(ctx.file.path)
    rows = path.read_text().splitlines()
    with path.open("a") as file:
        file.write("4\n")
    return len(rows)


@task()
def no_context(number):
    return number * 2


@task()
def loop(ctx: Context, *, count: int, bad: list[int] = (), durable: bool = False):
    for item in ctx.items(range(count), durable=durable):
        with item:
            if item.value in bad:
                raise ValueError(f"bad {item.value}")
    ctx.set_progress(100, "looped", {"count": count})
    return count


class Rows:
    """Much memory."""


LEFT: list[weakref.ref[Rows]] = []


@task(retry=1)
def fail_with_rows(ctx: Context):
    """Raise with a variable that the next jobs of this child look for."""
    gc.disable()
    rows = Rows()
    LEFT.append(weakref.ref(rows))
    error = ValueError(str(rows))
    raise error


@task()
def rows_left(ctx: Context):
    return [len(LEFT), sum(1 for ref in LEFT if ref() is not None)]


@task(retry=1)
def save_when_told(ctx: Context, *, folder: str):
    """Save a step once the file ``go`` is there; the error of the step goes into the file ``raised``."""
    Path(folder, "began").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.01)
    try:
        return ctx.step("fetch", lambda: 7)
    except Exception as error:
        Path(folder, "raised").write_text(type(error).__name__)
        raise


@task()
async def aloop(ctx: AsyncContext, *, count: int):
    for item in ctx.items(range(count), name="numbers"):
        with item:
            await asyncio.sleep(0)
    return await ctx.step("sum", sum, list(range(count)))


@task()
def left_early(ctx: Context, *, reason: str | None = None):
    for item in ctx.items(range(10)):
        with item:
            pass
        if item.value == 3:
            break
    if reason:
        ctx.stop(reason)


@task(retry=AT_ONCE)
def steps(ctx: Context, *, path: str):
    def download():
        with open(path, "a") as file:
            file.write("downloaded\n")
        return [1, 2, 3]

    rows = ctx.step("download", download)
    if ctx.attempt == 1:
        for item in ctx.items(rows):
            with item:
                if item.value == 3:
                    raise RetryableError("once more", delay=0)
    given = [item.value for item in entered(ctx.items(rows))]
    return [rows, given]


def entered(items):
    for item in items:
        with item:
            yield item


@task()
def talks(ctx: Context):
    ctx.log.info("by the job's logger")
    log.warning("by a logger of the module")
    ctx.set_progress(done=5, total=10, message="half")
    return None


@task()
def partial():
    return Partial({"rows": 3}, "two were missing")


@task()
def snoozes(ctx: Context):
    return "awake" if ctx.run_no > 1 else Snooze(0.0, "later")


@task()
def not_json():
    return {"fine": 1, "thing": object()}


@task(retry=AT_ONCE)
def asks_again(ctx: Context):
    if ctx.attempt == 1:
        ctx.request_retry(0, "not yet")
    return "done"


def hold_the_lock():
    """One endless C call: no other thread, no signal handler of Python has a turn. It waits, so it costs no processor time."""
    mutex, library = ctypes.create_string_buffer(128), ctypes.PyDLL(None)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)  # by the same thread: for ever, and a signal does not end it
    sum(itertools.repeat(0))  # where a mutex is not all zeros


# -- bodies that do not end ----------------------------------------------------------------------------


@task(timeout=0.5)
def sleeps_too_long(ctx: Context, *, seconds: float = 60):
    try:
        time.sleep(seconds)
    finally:
        ctx.log.info("the sleep was left")


@task(timeout=4)
def blocks_in_c():
    hold_the_lock()


@task(timeout=0.5, retry=AT_ONCE)
def never_listens():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            time.sleep(1)
        except BaseException:
            pass


@task()
def until_cancelled(ctx: Context):
    ctx.on_cleanup(lambda: ctx.log.info("cleaned up"))
    ctx.set_progress(1, "begun")
    while True:
        ctx.check_cancelled()
        time.sleep(0.01)


@task()
async def acancelled(ctx: AsyncContext):
    ctx.set_progress(1, "begun")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        ctx.log.info("cancelled in the coroutine")
        raise


@task()
def deaf(ctx: Context, *, children: bool = False):
    if children:
        started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        ctx.set_progress(1, str(started.pid))
    else:
        ctx.set_progress(1, str(os.getpid()))
    time.sleep(0.5)
    hold_the_lock()


@task()
def naps(*, seconds: float = 0.3):
    began = time.time()
    time.sleep(seconds)
    return [began, time.time()]


@task()
def meets(*, folder: str, peers: int):
    """Returns when so many of these run side by side."""
    open(os.path.join(folder, str(os.getpid())), "w").close()
    end = time.monotonic() + 30
    while len(os.listdir(folder)) < peers:
        if time.monotonic() > end:
            raise TimeoutError("the others did not come")
        time.sleep(0.01)
    return os.getpid()


# -- bodies that take their process with them ----------------------------------------------------------


@task(retry=AT_ONCE)
def kills_itself(ctx: Context):
    ctx.log.info("the last words")
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)


@task(retry=AT_ONCE)
def exits_hard(code: int = 3):
    os._exit(code)


@task(retry=AT_ONCE)
def dies_once(ctx: Context):
    for item in ctx.items(range(3), durable=True):
        with item:
            if ctx.attempt == 1 and item.value == 2:
                os.kill(os.getpid(), signal.SIGSEGV)
    return "alive"


@task(memory_limit="128MB", max_jobs_per_child=2)
def hungry(*, megabytes: int):
    data = bytearray(megabytes * 1_048_576)
    return len(data)


@task(memory_limit="96MB")
def hungry_beside_the_heap():
    import mmap

    shared = mmap.mmap(-1, 600 * 1_048_576)
    for place in range(0, len(shared), 4096):
        shared[place] = 1
        if place % (4 << 20) == 0:
            time.sleep(0.02)


@task(max_jobs_per_child=2)
def pid():
    return os.getpid()


# -- exceptions ----------------------------------------------------------------------------------------


class NeedsMore(Exception):
    def __init__(self, code, *, where):
        super().__init__(code)
        self.where = where


class HoldsALock(Exception):
    def __init__(self):
        super().__init__("locked")
        self.lock = threading.Lock()


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Enormous(Exception):
    def __str__(self):
        return "x" * 50_000_000


class Own(BaseException):
    pass


def looping():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def local_class():
    class Local(Exception):
        pass

    return Local("made inside")


RAISED = {
    "plain": (lambda: ValueError("plain"), "plain"),
    "extra": (lambda: NeedsMore(5, where="here"), "5"),
    "lock": (HoldsALock, "locked"),
    "unprintable": (Unprintable, "<unprintable Unprintable>"),
    "enormous": (Enormous, "xxx"),
    "group": (lambda: ExceptionGroup("many", [ValueError(str(n)) for n in range(1000)]), "many"),
    "loop": (looping, "one"),
    "local": (local_class, "made inside"),
    "nul": (lambda: ValueError("a\x00b\ud800c"), "a"),
    "exit 0": (lambda: SystemExit(0), "job called exit (0)"),
    "exit 3": (lambda: SystemExit(3), "job called exit (3)"),
    "exit text": (lambda: SystemExit("bye"), "bye"),
    "keyboard": (KeyboardInterrupt, "KeyboardInterrupt"),
    "generator": (GeneratorExit, "GeneratorExit"),
    "own": (lambda: Own("mine"), "mine"),
    "cancelled": (asyncio.CancelledError, "nobody had asked"),
    "stop iteration": (lambda: StopIteration(5), ""),
}


@task(retry=AT_ONCE)
def raises(name: str):
    error = RAISED[name][0]()
    raise error


@task()
async def araises(name: str):
    error = RAISED[name][0]()
    raise error


@task(retry={"attempts": 5, "wait": {"kind": "fixed", "seconds": 0}})
def permanent():
    raise PermanentError("no use")


@task(retry={"attempts": 3})
def retryable(ctx: Context):
    if ctx.attempt == 1:
        raise RetryableError("busy", delay=0.05)
    return ctx.attempt


@app.task
def local_pid():
    return os.getpid()


@task()
def asking(ctx: Context) -> list:
    """Asks after a step."""
    downloaded = ctx.step("download", lambda: "downloaded")
    return [ctx.ask("many", "How many?", int), downloaded]
