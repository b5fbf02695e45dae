"""``jobtrail worker``: runs jobs in this process until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.executors.forks import own_signals
from jobtrail.messages import Message, tr, use_language

from . import systemd

if TYPE_CHECKING:
    from jobtrail import JobTrail
    from jobtrail.worker.worker import Worker

RESERVED = 64  # descriptors below this are taken by an empty file, where the limit of open files allows that
HAND_BACK_WITHIN = 5.0  # seconds, after the second signal
FAILED = 1


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "worker", "run", "help.worker")(work)


def work(
    session: Session,
    queues: Annotated[str, typer.Option("--queues", "-q", metavar="A,B", help="help.worker-queues")] = "default",
    concurrency: Annotated[int | None, typer.Option("--concurrency", "-c", min=1, help="help.concurrency")] = None,
    end_blocked: Annotated[bool, typer.Option("--end-blocked", help="help.worker-end-blocked")] = False,
    burst: Annotated[bool, typer.Option("--burst", help="help.worker-burst")] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", min=0, max=65_535, help="help.worker-metrics-port"),
    ] = None,
) -> int:
    """Run jobs. SIGTERM or Ctrl-C lets running jobs end; a second one hands them back at once."""
    from jobtrail.worker.session import own_process

    _reserve_low_numbers()
    named = _queues(queues, concurrency)
    jobs = session.open(tasks=True, creates=True)
    _log_to_terminal()
    jobs.make_ready()
    if metrics_port is not None:
        port = jobs.metrics().serve(metrics_port).server_port
        session.hint((tr("cli.metrics-served", url=f"http://127.0.0.1:{port}/metrics"), "dim"))
    own_process()
    options = {"slots": concurrency, "end_blocked": end_blocked or None}
    worker = jobs.worker(queues=named, beat="child", leaves_process=True, **options)
    _tell_start(session, jobs, worker)
    begun = time.monotonic()
    with asyncio.Runner() as runner:
        code = runner.run(_serve(session, worker, burst=burst))
        _tell_end(session, jobs, worker, time.monotonic() - begun)
        if worker.bodies_live():
            _leave(code)  # a body that ignores its cancel would keep the process alive
    return code


def _reserve_low_numbers() -> None:
    """Keep descriptors of the worker away from the small numbers that a body may close by mistake (``open(5)``)."""
    if not hasattr(os, "sysconf") or os.sysconf("SC_OPEN_MAX") < 4 * RESERVED:
        return
    number = 0
    with contextlib.suppress(OSError):
        while number < RESERVED:
            number = os.open(os.devnull, os.O_RDONLY)
        os.close(number)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _queues(text: str, concurrency: int | None) -> list[str] | dict[str, int]:
    from jobtrail.errors import UsageError

    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise UsageError(Message("cli.queues-without-names"))
    if not any("=" in name for name in names):
        return list(dict.fromkeys(names))
    slots: dict[str, int] = {}
    for name in names:
        queue, _, number = name.rpartition("=")
        if not number.isdecimal() or int(number) < 1 or concurrency is not None:
            raise UsageError(Message("cli.queues-and-slots"))
        slots[queue.strip()] = int(number)
    return slots


def _log_to_terminal() -> None:
    """Print warnings of the worker and of libraries on standard error; what a job logs goes to its own log."""
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(logging.WARNING)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
        if root.level == logging.WARNING:
            root.setLevel(logging.INFO)  # for the logs of jobs


# -- the run ----------------------------------------------------------------------------------------


async def _serve(session: Session, worker: Worker, *, burst: bool) -> int:
    stop = _Stop(session, worker)
    told = asyncio.get_running_loop().create_task(_tell_systemd(worker))
    with use_language("en"), _signals(stop.ask):  # a worker stores and logs in English
        await worker.run(burst=burst)
    told.cancel()
    if stop.leaving is not None:
        await stop.leaving
    return 0


async def _tell_systemd(worker: Worker) -> None:
    await worker.ready.wait()
    systemd.tell("READY=1")
    await systemd.keep_watchdog_quiet()


class _Stop:
    """The first signal drains, the second hands back and leaves, the third leaves at once."""

    def __init__(self, session: Session, worker: Worker) -> None:
        self.leaving: asyncio.Task[None] | None = None
        self._session, self._worker = session, worker
        self._asked = 0

    def ask(self) -> None:
        self._asked += 1
        if self._asked == 1:
            self._drain()
        elif self._asked == 2:
            self.leaving = asyncio.get_running_loop().create_task(_hand_back(self._worker))
        else:
            os._exit(FAILED)

    def _drain(self) -> None:
        running = len(self._worker.running)
        if running:
            limit = self._worker.settings.graceful_shutdown_timeout
            with use_language(self._session.language):
                self._session.hint(tr("cli.draining", running=running, seconds=limit))
        systemd.tell("STOPPING=1")
        self._worker.stop()


@contextlib.contextmanager
def _signals(ask: Any) -> Any:
    loop = asyncio.get_running_loop()
    wanted = [signal.SIGTERM, signal.SIGINT]
    try:
        for number in wanted:
            loop.add_signal_handler(number, ask)
        own_signals(*wanted)
    except (NotImplementedError, RuntimeError):  # no such thing on Windows, or not in a thread
        wanted = []
    try:
        yield
    finally:
        for number in wanted:
            loop.remove_signal_handler(number)


async def _hand_back(worker: Worker) -> None:
    """Hand every run back and leave, whatever the bodies do."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HAND_BACK_WITHIN):
            await worker.hand_back_all()
    _leave(FAILED)


# -- output ------------------------------------------------------------------------------------


def _tell_start(session: Session, jobs: JobTrail, worker: Worker) -> None:
    from jobtrail.cli.rendering.text import address, clean, tail

    told = tr(
        "cli.worker-started", id=tail(worker.id), queues=list(worker.queues), slots=worker.slots,
        where=address(jobs.store.database.url), tasks=[task.name for task in jobs.tasks.all()] or Message("cli.none"),
    )  # fmt: skip
    session.hint((clean(told), "dim"))


def _tell_end(session: Session, jobs: JobTrail, worker: Worker, seconds: float) -> None:
    from jobtrail.cli.rendering.text import span, tail
    from jobtrail.cli.rendering.views import counted as counted_as

    counted = _ended(jobs, worker)
    if session.as_json:
        session.json({"worker": worker.id, "jobs": dict(counted), "seconds": round(seconds, 3)})
        return
    told = ", ".join(counted_as(number, status) for status, number in sorted(counted.items())) or tr("cli.no-jobs")
    session.say((tr("cli.worker-stopped", id=tail(worker.id), span=span(seconds), counted=told), "bold"))


def _ended(jobs: JobTrail, worker: Worker) -> Counter[str]:
    """Count the jobs that ran here last, by status."""
    from jobtrail.errors import StoreError
    from jobtrail.queries.monitoring import health

    with contextlib.suppress(StoreError), jobs.store.read() as conn:
        return health.last_run_on(conn, worker.id)
    return Counter()
