"""The demonstration's jobs in a Celery worker."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256
from typing import TYPE_CHECKING

from jobtrail.errors import UsageError

from ..tasks import QUEUE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobtrail.app import JobTrail
    from jobtrail.integrations.celery import CeleryExecutor

CELERY_APP = "jobtrail.cli.operate.demo:celery_app"
CHILDREN = 2
READY_WITHIN = 60.0  # seconds
DONE_WITHIN = 300.0  # seconds
STOP_WITHIN = 30.0  # seconds
LOG = "celery.log"


def celery_executor(broker: str, folder: Path) -> CeleryExecutor:
    """Return the executor of the demonstration in a folder; its queue in the broker is its own.

    Raises:
        UsageError: If Celery is not installed.
    """
    try:
        from celery import Celery

        from jobtrail.integrations.celery import CeleryExecutor
    except ImportError:
        message = "Celery is not installed: pip install 'jobtrail[celery]', and for Redis pip install redis"
        raise UsageError(message) from None
    app = Celery("flights", broker=broker)
    app.conf.update(worker_prefetch_multiplier=1, broker_connection_retry_on_startup=False, broker_connection_timeout=3)
    return CeleryExecutor(app, queues={QUEUE: queue_name(folder)})


def queue_name(folder: Path) -> str:
    """Return the name of the queue in the broker."""
    return f"jobtrail-demo-{sha256(str(folder).encode()).hexdigest()[:8]}"


@contextlib.contextmanager
def celery_worker(jobs: JobTrail, folder: Path, variable: str) -> Iterator[None]:
    """Run a Celery worker meanwhile.

    Args:
        jobs: The application.
        folder: The folder of the demonstration; the worker's log goes into it.
        variable: The environment variable that names the folder to the worker.

    Raises:
        UsageError: If the worker does not start.
    """
    command = [
        sys.executable, "-m", "celery", "-A", CELERY_APP, "worker", "-c", str(CHILDREN), "-Q", queue_name(folder), "-l", "INFO",
        "--without-mingle", "--without-gossip", "-n", f"{queue_name(folder)}@%h",
    ]  # fmt: skip
    log = folder / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - a command of ours
            command, stdout=output, stderr=output, env={**os.environ, variable: str(folder)}, start_new_session=True
        )
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        _await_ready(jobs, process, log)
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        process.terminate()
        try:
            process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _leave(*_: object) -> None:
    """End as Ctrl-C does, so that the worker is not left."""
    raise KeyboardInterrupt


def _await_ready(jobs: JobTrail, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + READY_WITHIN
    while not any(one.executor == "celery" and one.state == "alive" and one.slots for one in jobs.queries.workers().workers):
        if process.poll() is not None or time.monotonic() > end:
            last = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
            message = f"the Celery worker does not start; see {log}: {''.join(last)}"
            raise UsageError(message)
        time.sleep(0.05)


def await_idle(jobs: JobTrail) -> None:
    """Wait until no job of the demonstration waits for a run or runs."""
    end = time.monotonic() + DONE_WITHIN
    while jobs.count(f"queue:{QUEUE} status:pending status:running status:cancelling").number:
        if time.monotonic() > end:
            message = f"jobs still run after {DONE_WITHIN:g} s; see jobtrail doctor"
            raise UsageError(message)
        time.sleep(0.05)
