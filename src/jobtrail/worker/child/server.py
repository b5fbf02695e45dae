"""The entry of a child process: one thread reads messages, the main thread runs one body after the other.

Nothing here opens the application's database. A body gets the same context as in the worker; behind it are a recorder
that gathers and sends, and steps that ask the worker.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import signal
import threading
import time
from contextvars import copy_context
from dataclasses import asdict
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StopSignal, StoreError, StoreUnavailable
from jobtrail.executors.forks import own_signals
from jobtrail.job.failure import describe
from jobtrail.messages import Message
from jobtrail.runtime import log_capture

from .job import NO_VERDICT, RemoteJob, end_message

if TYPE_CHECKING:
    from jobtrail.executors.process.wire import Wire, WireMessage

TURN = 0.05  # seconds
LOOK = 1.0  # seconds between two looks for the parent


def main(wire: Wire, setup: WireMessage) -> None:
    """Serve one job after the other until the worker closes the line."""
    ChildServer(wire, setup).serve()


class ChildServer:
    """This process: a thread reads orders, the main thread runs bodies."""

    def __init__(self, wire: Wire, setup: WireMessage) -> None:
        self.wire = wire
        self._setup = setup
        self._orders: SimpleQueue[WireMessage | None] = SimpleQueue()
        self._answers: dict[int, SimpleQueue[WireMessage]] = {}
        self._ids = itertools.count()
        self._lock = threading.Lock()
        self._job: RemoteJob | None = None
        self._stopped: tuple[int, str] | None = None
        self.main_error: BaseException | None = None

    def serve(self) -> None:
        """Run jobs in the main thread until the worker closes the line."""
        signal.signal(signal.SIGTERM, self._on_term)
        own_signals(signal.SIGTERM)
        threading.Thread(target=self._read, name="jobtrail-orders", daemon=True).start()
        log_capture.install()
        self.main_error = _prepare_main(self._setup["main"])
        for module in self._setup["modules"]:
            with contextlib.suppress(BaseException):  # the job that needs it reports the error
                import_module(module)
        while (order := self._orders.get()) is not None:
            self._serve(order)

    def _serve(self, order: WireMessage) -> None:
        try:
            job = RemoteJob(order, self)
        except Exception as error:  # the program was exchanged under the worker's feet
            self.wire.send(
                end_message(order["no"], {"how": "raised", "failure": asdict(describe(error)), **NO_VERDICT})
            )
            return
        with self._lock:
            self._job = job
            if self._stopped is not None and self._stopped[0] == order["no"]:
                job.stop.cause = self._stopped[1]
        try:
            end = copy_context().run(job.run)
        finally:
            with self._lock:
                self._job = None
        self.wire.send(end)

    # -- the line ------------------------------------------------------------------------------------

    def ask(self, message: WireMessage) -> WireMessage:
        """A question to the worker and its answer.

        Raises:
            StoreUnavailable: if the database is away.
            StoreError: if it refused what was asked, or the job has ended.

        """
        if self._job is None or self._job.no != message["no"]:
            raise StoreError(Message("worker.job-over"))
        number = next(self._ids)
        box = self._answers[number] = SimpleQueue()
        self.wire.send({**message, "id": number})
        try:
            answer = box.get()
        finally:
            del self._answers[number]
        if "error" in answer:
            raise (StoreUnavailable if answer["away"] else StoreError)(answer["error"])
        return answer

    def _read(self) -> None:
        try:
            while os.getppid() == self._setup["parent"]:
                message = self.wire.receive(LOOK)
                if message is not None:
                    self._heard(message)
        except (EOFError, OSError):
            if self._job is None and os.getppid() == self._setup["parent"]:
                self._orders.put(None)  # the worker closed the line
                return
        except BaseException:
            logging.getLogger("jobtrail.worker").exception("the line to the worker cannot be read any more")
        _end_group()

    def _heard(self, message: WireMessage) -> None:
        if message["kind"] == "job":
            self._orders.put(message)
        elif message["kind"] == "answer":
            box = self._answers.get(message["id"])
            if box is not None:
                box.put(message)
        elif message["kind"] == "stop":
            with self._lock:
                self._stopped = (message["no"], message["cause"])
                job = self._job if self._job is not None and self._job.no == message["no"] else None
            if job is not None:
                job.request_stop(message["cause"])

    def _on_term(self, _number: int, _frame: Any) -> None:
        """SIGTERM: the grace time is over, so leave the body where it is. Without a body it is ignored."""
        job = self._job
        if job is None or not job.in_body:
            return
        if job.stop.cause is None:
            time.sleep(TURN)  # a C call kept the reading thread from its turn: the order may lie there
        if job.stop.cause is not None:
            job.stop.noticed = True
            raise StopSignal(job.stop.cause)


def _end_group() -> None:
    """The worker is gone: end at once, with all that the body has started."""
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _prepare_main(main: dict[str, str]) -> BaseException | None:
    """Have the program's main module here as `multiprocessing` would; the job that needs it reports an error."""
    from multiprocessing import spawn

    try:
        spawn.prepare(main)
    except BaseException as error:
        return error
    return None
