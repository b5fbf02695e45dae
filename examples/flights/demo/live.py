"""The demonstration goes on: the console is served, weather flows in slowly, a source fails, one falls silent, a question waits."""

from __future__ import annotations

import asyncio
import itertools
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jobtrail.errors import JobTrailError, UsageError

from ..tasks import QUEUE

if TYPE_CHECKING:
    from socket import socket

    from jobtrail.app import JobTrail
    from jobtrail.cli.session import Session

PACE = 0.25  # seconds for a batch of 50 hours, so that a month takes four
EVERY = 5.0  # seconds from one submission to the next
RADAR_EVERY = 8  # of so many submissions one is of the source that fails
RADAR = "radar/EWR"
RADAR_AGAIN = 20  # seconds until it is tried again
SILENT = "LGA"  # its weather no longer comes, so that its module turns to warning and to error
ACTOR = "jobtrail demo"


def can_serve() -> bool:
    """Is the API installed?"""
    return find_spec("fastapi") is not None and find_spec("uvicorn") is not None


class Flow:
    """Submits one unit after the other, again and again, until it is stopped."""

    def __init__(self, jobs: JobTrail, units: list[tuple[str, str]]) -> None:
        self._jobs = jobs
        self._units = itertools.cycle([unit for unit in units if unit[0] != SILENT] or units)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="demo-flow", daemon=True)

    def start(self) -> None:
        """From a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Submit nothing more."""
        self._over.set()
        self._thread.join()

    def _repeat(self) -> None:
        for number in itertools.count(1):
            try:
                self._submit(number)
            except JobTrailError as error:  # somebody at the console works on the same unit, or the store is away
                self._jobs.state.last_refusal = str(error)
            if self._over.wait(EVERY):
                return

    def _submit(self, number: int) -> None:
        if number % RADAR_EVERY == 1:
            retry = {"attempts": 3, "wait": {"kind": "fixed", "seconds": RADAR_AGAIN}}
            task = self._jobs.task_named("sync_radar").using(source=RADAR, actor=ACTOR, retry=retry, queue=self._queue)
            task.enqueue(airport="EWR")
            return
        airport, period = next(self._units)
        weather = self._jobs.task_named("sync_weather").using(source=f"weather/{airport}", period=period, actor=ACTOR)
        weather.enqueue(airport=airport)

    @property
    def _queue(self) -> str:
        return QUEUE


def sync_radar(airport: str) -> None:
    """A source that does not answer: what fails is seen, tried again, and then stays failed."""
    message = f"the radar of {airport} does not answer (503 Service Unavailable)"
    raise ConnectionError(message)


def serve(session: Session, jobs: JobTrail, units: list[tuple[str, str]], listening: socket, *, local: bool) -> int:
    """Serve console and API with a worker beside them until Ctrl-C or SIGTERM; the exit code."""
    from jobtrail.cli.operate.serve import _serve

    jobs.task(name="sync_radar", kind="sync", options={"module": "radar"})(sync_radar)
    jobs.state.pace = PACE
    worker = jobs.worker(queues=[QUEUE, "default"], beat="thread")
    app: Any = jobs.asgi(local=local, allowed_hosts=() if local else ("*",))
    flow = Flow(jobs, units)
    flow.start()
    try:
        return asyncio.run(_serve(session, app, listening, worker))
    finally:
        flow.stop()


def address_of(listening: socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def open_address(host: str, port: int, jobs: JobTrail) -> tuple[socket, str | None]:
    """A socket that listens, and the token that an address needs which other machines can reach.

    Raises: UsageError where the address is taken.
    """
    from jobtrail.api.serving import is_loopback, listen
    from jobtrail.cli.operate.serve import _new_token

    try:
        listening = listen(host, port)
    except UsageError as error:
        message = f"{error}; say another one with --port (0 takes a free one)"
        raise UsageError(message) from None
    return listening, None if is_loopback(host) else _new_token(jobs, "operator")
