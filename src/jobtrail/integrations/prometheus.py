"""Metrics for Prometheus: how the store stands, read when it is scraped, and how long the runs of this process took."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, make_server

from jobtrail.errors import InvalidOption, JobTrailError, UsageError
from jobtrail.fork_lock import ForkLock
from jobtrail.messages import Message
from jobtrail.queries.monitoring import statistics
from jobtrail.worker.middleware import outcome_word

try:
    from prometheus_client import CollectorRegistry, Histogram, generate_latest, make_wsgi_app
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.exposition import ThreadingWSGIServer
    from prometheus_client.registry import Collector
except ImportError as missing:
    raise InvalidOption(Message("integrations.no-metrics")) from missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from wsgiref.simple_server import WSGIServer

    from prometheus_client import Metric

    from jobtrail.queries.monitoring.statistics import StoreSnapshot
    from jobtrail.store import Store
    from jobtrail.worker.middleware import Middleware
    from jobtrail.worker.run import CallNext, Run

WAIT_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400)  # seconds
RUN_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400)  # seconds
PATIENCE = 0.03  # seconds for which a scrape waits for the ends to be counted
REST = 50  # counting the ends takes at most one part in so many of the time
LOOPBACK = "127.0.0.1"
_HOSTS = {"127.0.0.1", "localhost", "[::1]"}
_log = logging.getLogger("jobtrail.worker")


class HasStore(Protocol):
    """Whoever knows where the jobs are."""

    store: Store
    metrics: Any

    def make_readable(self) -> None:
        """Bring the schema up to date where that is automatic."""


def metrics_of(service: HasStore, middleware: list[Middleware]) -> Metrics:
    """The one `Metrics` of an application; its middleware goes around all others."""
    if service.metrics is None:
        service.metrics = Metrics(service)
        middleware.insert(0, service.metrics.middleware)
    metrics: Metrics = service.metrics
    return metrics


class Metrics:
    """What Prometheus reads about one application, in a registry of its own.

    ``registry`` may be handed to whatever serves metrics already. Two of these know nothing of each other.
    """

    def __init__(self, service: HasStore) -> None:
        self.registry = CollectorRegistry()
        self._ends = Ends(service)
        self._wait = Histogram(
            "jobtrail_wait_seconds",
            "From the moment when a job was due to the start of its run, of runs in this process.",
            ("task", "queue"),
            buckets=WAIT_BUCKETS,
            registry=self.registry,
        )
        self._run = Histogram(
            "jobtrail_run_seconds",
            "Time that runs in this process took.",
            ("task", "queue", "outcome"),
            buckets=RUN_BUCKETS,
            registry=self.registry,
        )
        self.registry.register(StoreCollector(service, self._ends))

    async def middleware(self, run: Run, call_next: CallNext) -> Any:
        """Measure a run: how long its job had waited, and how long it takes."""
        claim, error = run.claim, None
        if claim.due_at is not None:
            waited = (claim.started_at - claim.due_at).total_seconds()
            self._wait.labels(claim.task, claim.queue).observe(max(waited, 0.0))
        began = time.monotonic()
        try:
            return await call_next(run)
        except BaseException as raised:
            error = raised
            raise
        finally:
            took = time.monotonic() - began
            self._run.labels(claim.task, claim.queue, outcome_word(run, error)).observe(took)

    def text(self) -> str:
        """All of it as Prometheus reads it."""
        return generate_latest(self.registry).decode()

    def samples(self) -> list[dict[str, Any]]:
        """All of it as plain values: name, labels, value."""
        return [
            {"name": one.name, "labels": one.labels, "value": one.value}
            for family in self.registry.collect()
            for one in family.samples
        ]

    def count_ends(self) -> None:
        """Count the ends now, however long it takes, so that the next scrape tells them.

        Raises: StoreUnavailable.
        """
        self._ends.count()

    def serve(self, port: int) -> WSGIServer:
        """Answer scrapes on 127.0.0.1 from threads of this process; port 0 takes a free one (``server_port`` tells).

        Raises: UsageError where the port is taken.
        """
        try:
            server = make_server(LOOPBACK, port, self._application(), ThreadingWSGIServer, handler_class=_Quiet)
        except OSError as error:
            raise UsageError(
                Message("integrations.cannot-listen", host=LOOPBACK, port=str(port), error=error.strerror or error)
            ) from error
        threading.Thread(target=server.serve_forever, name="jobtrail-metrics", daemon=True).start()
        return server

    def _application(self) -> Any:
        """A page on the open web that points a name at this machine is refused."""
        answer = make_wsgi_app(self.registry)

        def application(environ: dict[str, Any], start_response: Any) -> Any:
            if environ.get("HTTP_HOST", LOOPBACK).rsplit(":", 1)[0] in _HOSTS:
                return answer(environ, start_response)
            start_response("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"metrics are told to this machine by its own name only\n"]

        return application


class _Quiet(WSGIRequestHandler):
    """Scrapes are no news."""

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


# -- from the store ------------------------------------------------------------------------------------


class StoreCollector(Collector):
    """Reads the store at each scrape. Where that fails only ``jobtrail_up 0`` is told, and the log says why."""

    def __init__(self, service: HasStore, ends: Ends) -> None:
        self._service = service
        self._ends = ends

    def collect(self) -> Iterable[Metric]:
        """All families that come from the store."""
        up = GaugeMetricFamily("jobtrail_up", "Could the store be read at this scrape?")
        found: list[Metric] = [up]
        try:
            self._service.make_readable()
            now = self._service.store.now()
            with self._service.store.read() as conn:
                snapshot = statistics.snapshot(conn, now)
        except JobTrailError as error:
            _log.warning("the store cannot be read for metrics: %s", error)
            up.add_metric((), 0)
            return found
        up.add_metric((), 1)
        return found + list(_families(snapshot, now)) + list(self._ends.families())


def _families(snapshot: StoreSnapshot, now: datetime) -> Iterator[Metric]:
    yield _by_status(snapshot)
    waiting = _gauge("waiting_jobs", "Jobs that are due and wait for a slot, or wait for their time.", "queue", "when")
    oldest = _gauge("oldest_due_seconds", "For how long the longest waiting of the due jobs has been due.", "queue")
    for one in snapshot.waiting:
        waiting.add_metric((one.queue, "now"), one.due)
        waiting.add_metric((one.queue, "later"), one.later)
        oldest.add_metric((one.queue,), _age(one.oldest, now))
    yield from (waiting, oldest)
    running = _gauge("running_jobs", "Jobs that a worker holds.", "status", "task", "queue")
    for status, task, queue, number in snapshot.held:
        running.add_metric((status, task, queue), number)
    yield running
    asking = _gauge("open_questions", "Jobs that wait for a person.", "kind", "task")
    for status, task, number in snapshot.asking:
        asking.add_metric((status.removeprefix("awaiting_"), task), number)
    yield asking
    yield from _of_workers(snapshot, now)


def _by_status(snapshot: StoreSnapshot) -> Metric:
    """Those that ended well are told by the count of ends alone: they have no index to count them by."""
    jobs = _gauge("jobs", "Jobs that stand in a status; a number of 100,000 means so many or more.", "status")
    pending = sum(one.due + one.later for one in snapshot.waiting) + snapshot.behind + snapshot.suspects
    held = {"running": 0, "cancelling": 0}
    for status, _, _, number in snapshot.held:
        held[status] += number
    for status, number in {"pending": pending, **held, **snapshot.open}.items():
        jobs.add_metric((status,), number)
    return jobs


def _of_workers(snapshot: StoreSnapshot, now: datetime) -> Iterator[Metric]:
    states = {"alive": 0, "stopping": 0, "leaving": 0}
    slots = _gauge("worker_slots", "Jobs that a worker may run at once.", "worker", "host")
    beats = _gauge("worker_beat_age_seconds", "Time since a worker's last sign of life.", "worker", "host")
    for one in snapshot.workers:
        states[one.state] += 1
        slots.add_metric((one.id, one.host), one.slots)
        if one.beat_at is not None:
            beats.add_metric((one.id, one.host), _age(one.beat_at, now))
    workers = _gauge("workers", "Workers that are not known to have ended.", "state")
    for state, number in states.items():
        workers.add_metric((state,), number)
    yield from (workers, slots, beats)


def _gauge(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"jobtrail_{name}", meaning, labels=labels)


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max((now - since).total_seconds(), 0.0)


class Ends:
    """How often jobs have ended: exact, but it means reading every job, so it is counted beside the scrapes.

    A scrape that finds the last count old enough begins the next one and waits for it a moment: a small store
    is told as it is, of a big one the last finished count, with its age.
    """

    def __init__(self, service: HasStore) -> None:
        self._service = service
        self._one = threading.Lock()
        self._lock = ForkLock()
        self._counting: threading.Thread | None = None
        self._found: dict[tuple[str, str], int] | None = None
        self._begun = self._due = float("-inf")

    def count(self) -> None:
        """Count now.

        Raises: StoreUnavailable.
        """
        with self._one:  # two at once might leave the older look as the last word, and a counter never goes down
            begun = time.monotonic()
            self._service.make_readable()
            with self._service.store.read() as conn:
                found = statistics.ends(conn)
            ended = time.monotonic()
            with self._lock:
                self._found, self._begun = found, begun
                self._due = ended + REST * (ended - begun)

    def families(self) -> Iterator[Metric]:
        """The last count, perhaps made for this scrape; nothing before the first is done."""
        self._count_beside()
        with self._lock:
            found, age = self._found, time.monotonic() - self._begun
        if found is None:
            return
        ended = CounterMetricFamily(
            "jobtrail_jobs_ended", "How often jobs have ended, by status.", labels=("task", "status")
        )
        for (task, status), number in sorted(found.items()):
            ended.add_metric((task, status), number)
        yield ended
        yield GaugeMetricFamily("jobtrail_jobs_ended_age_seconds", "Time since the ends were counted.", value=age)

    def _count_beside(self) -> None:
        with self._lock:
            idle = self._counting is None or not self._counting.is_alive()
            if idle and time.monotonic() >= self._due:
                self._counting = threading.Thread(target=self._try, name="jobtrail-ends", daemon=True)
                self._counting.start()
            counting = self._counting
        if counting is not None:
            counting.join(PATIENCE)

    def _try(self) -> None:
        try:
            self.count()
        except JobTrailError as error:
            _log.warning("the ends of jobs cannot be counted for metrics: %s", error)
