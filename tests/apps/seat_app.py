"""A process of another system with one ticket, whose main thread runs the body: ``seat_app.py URL CASE``."""

import asyncio
import os
import signal
import sys
import threading
import time

from handing import Box

from jobtrail import JobTrail
from jobtrail.errors import StopSignal

url, case = sys.argv[1:]
jobs = JobTrail(url, executor=Box(), cancel_timeout=0.3, poll_interval=0.1, graceful_shutdown_timeout=1)
host = jobs.host("box", leads=False, interrupts=True, ends_process="own_signals" not in case)
begun = threading.Event()


def say(*words):
    print(*words, flush=True)


def asleep(ctx):
    begun.set()
    try:
        time.sleep(30)
    except StopSignal as error:
        say("stopped", error.cause)
        if case == "limit_slow_clean_up":
            os.kill(os.getpid(), signal.SIGUSR1)  # one that comes late
            time.sleep(1)
            say("cleaned up")
        raise
    finally:
        say("left")


def refuses(ctx):
    begun.set()
    while True:
        try:
            time.sleep(30)
        except BaseException as error:
            say("caught", type(error).__name__)


async def awaits(ctx):
    begun.set()
    await asyncio.sleep(30)


def foreign(number, frame):
    say("the handler of before")
    raise TimeoutError("a limit of the other system")


TASKS = {"refuse": refuses, "await": awaits}
body = next((function for name, function in TASKS.items() if name in case), asleep)
task = jobs.task(name="work", timeout=0.5 if case.startswith("limit") else None)(body)
signal.signal(signal.SIGUSR1, foreign)
signal.signal(signal.SIGTERM, lambda *_: say("SIGTERM of before"))
job = task.enqueue()
host.start()


def act():
    begun.wait(20)
    if case.startswith("cancel"):
        job.cancel()
    elif case.startswith("term"):
        os.kill(os.getpid(), signal.SIGTERM)
    elif case.startswith("foreign"):
        os.kill(os.getpid(), signal.SIGUSR1)
    elif case.startswith("own_signals"):
        os.kill(os.getpid(), signal.SIGTERM)
        job.cancel()


threading.Thread(target=act, daemon=True).start()
end = host.run(job.id, 1)
say("terminated" if end.terminated else "lives", end.refused)
host.stop()
row = job.refresh()
say(str(row.status), row.attempt, str(row.error or "")[:200])
