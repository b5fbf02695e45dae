"""One process of a Celery worker as it runs our jobs: its host, and Celery's signals."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

from jobtrail.errors import JobTrailError
from jobtrail.fork_lock import ForkLock
from jobtrail.messages import Message
from jobtrail.store.tracked.hand_over import Refusal

from .checks import RUN_TASK, check_worker
from .child_watch import ChildWatch

if TYPE_CHECKING:
    from celery import Celery

    from jobtrail.worker.handed.host import JobHost


CLAIMS_WITHIN = 5.0  # seconds from a message to the claim of its job: Celery's limits count from the message
_log = logging.getLogger("jobtrail.celery")


class WorkerProcess:
    """Runs jobs of one application in the processes of one Celery worker.

    In a prefork pool each child has a host with one slot, and the main process a host that only leads: it looks after lost
    jobs, runs schedules and hands jobs over. In a pool of threads, or without a pool, the main process does both.

    Args:
        celery_app: The Celery application.
        application: The `JobTrail`.
    """

    def __init__(self, celery_app: Celery, application: Any) -> None:
        self._app = celery_app
        self._jobs = application
        self._lock = ForkLock()
        self._host: JobHost | None = None
        self._pid = self._main_pid = 0
        self._is_child = False
        self._watch: ChildWatch | None = None

    def connect(self) -> Any:
        """Listen to Celery, and return the task that runs jobs."""
        from celery import signals

        for signal, receiver in (
            (signals.celeryd_init, self.on_init),
            (signals.celeryd_after_setup, self.on_setup),
            (signals.worker_process_init, self.on_child),
            (signals.worker_process_shutdown, self.on_shutdown),
            (signals.worker_ready, self.on_ready),
            (signals.worker_shutdown, self.on_shutdown),
            (signals.task_revoked, self.on_revoked),
        ):
            signal.connect(receiver, weak=False, dispatch_uid=f"jobtrail-run-{id(self)}-{receiver.__name__}")

        def run(task: Any, job_id: str, token: int, trace: Any = None) -> None:
            """Run a job of jobtrail."""
            del trace  # the options of the job have it; it is in the message for those who follow messages
            self.run(task.request, job_id, token)

        return self._app.task(
            run, name=RUN_TASK, bind=True, acks_late=True, reject_on_worker_lost=False, ignore_result=True,
            track_started=False, max_retries=0, typing=False,
        )  # fmt: skip

    # -- a message -----------------------------------------------------------------------------------

    def run(self, request: Any, job_id: str, token: int) -> None:
        """Run a job; nothing of Celery decides about it."""
        from celery.exceptions import Reject

        about = {"celery_id": str(request.id), "celery_worker": str(request.hostname)}
        done = self.host().run(job_id, token, about=about, ids={"celery": about["celery_id"]})
        if done.refused in {Refusal.STOPPING, Refusal.AWAY} and not done.terminated:
            raise Reject(done.refused.value, requeue=True)
        if done.terminated:
            raise SystemExit(0)

    def host(self) -> JobHost:
        """Return the host of this process; a forked one makes its own."""
        with self._lock:
            if self._host is None or self._pid != os.getpid():
                self._begin(leads=not self._is_child, slots=self._threads())
            host = self._host
        assert host is not None  # noqa: S101
        return host

    def _begin(self, *, leads: bool, slots: int) -> None:
        self._pid = os.getpid()
        self._host = self._jobs.host(
            "celery", slots=slots, leads=leads, interrupts=True, ends_process=self._is_child, patience=CLAIMS_WITHIN
        )
        self._host.start()

    def _threads(self) -> int:
        return 1 if self._is_child else max(int(self._app.conf.worker_concurrency or 1), 1)

    # -- the processes -------------------------------------------------------------------------------

    def on_init(self, **_: Any) -> None:
        """The main process of a worker begins."""
        self._main_pid = os.getpid()

    def on_setup(self, instance: Any = None, **_: Any) -> None:
        """The worker is about to start: refuse or warn of what could lose or repeat jobs."""
        check_worker(self._app, instance, self._jobs)

    def on_child(self, **_: Any) -> None:
        """A child of a prefork pool begins. The pool solo says so too, in the main process."""
        if os.getpid() == self._main_pid:
            return
        self._is_child = True
        with self._lock:
            self._begin(leads=False, slots=1)

    def on_ready(self, sender: Any = None, **_: Any) -> None:
        """The worker takes messages; its main process leads."""
        pool = getattr(sender, "pool", None)
        if pool is not None and type(pool).__module__.rpartition(".")[2] == "prefork" and self._watch is None:
            self._watch = ChildWatch(self._jobs.store, self._jobs.settings, lambda: pool.info["processes"])
            self._watch.start()
        in_main = type(pool).__module__.rpartition(".")[2] != "prefork"
        with self._lock:
            if self._host is None or self._pid != os.getpid():
                self._begin(leads=True, slots=int(getattr(pool, "limit", None) or 1) if in_main else 0)

    def on_shutdown(self, **_: Any) -> None:
        """The process ends in order: what runs is ended or handed back, and its ends are written."""
        host = self._host
        if host is not None and self._pid == os.getpid():
            self._host = None
            host.stop()
            if self._watch is not None and not self._is_child:
                self._watch.stop()

    def on_revoked(self, sender: Any = None, request: Any = None, expired: Any = None, **_: Any) -> None:
        """Somebody revoked the message of a job: that is a wish to cancel the job."""
        if getattr(sender, "name", None) != RUN_TASK or sender.app is not self._app or expired:
            return
        job_id, _dash, token = str(request.id).rpartition("-")
        try:
            job = self._jobs.get(job_id)
            row = job.refresh()
            if row.run_no in {int(token), int(token) - 1}:
                job.cancel(actor="celery", reason=Message("integrations.revoked-in-celery").stored)
        except (JobTrailError, ValueError):
            with contextlib.suppress(Exception):
                _log.warning("the revoked message %s cancelled no job", request.id, exc_info=True)
