"""Faults of Celery, its broker and the store, one after the other under the same load: the table of docs/operating.md."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from brokers import amqp_server, amqp_vhost, start_redis
from crew import Crew, crew
from fleet import Balance, balance, until
from services import fresh_database
from tcp_proxy import Proxy, proxy_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brokers import RedisServer
    from services import Cluster

BROKERS = ("Redis", "Redis without persistence", "RabbitMQ")
OUTAGE = 60.0  # seconds
WAITS = 60.0  # seconds until a run is given up as not right


@dataclass(frozen=True)
class Site:
    """Workers, what is in front of and behind them, and two long jobs that run."""

    one: Crew
    proxy: Proxy
    store: Cluster
    redis: RedisServer | None
    running: tuple[str, str]


def child_killed(site: Site) -> None:
    os.kill(site.one.begun(site.running[0]), signal.SIGKILL)


def worker_killed(site: Site) -> None:
    os.killpg(site.one.processes[-1].pid, signal.SIGKILL)
    site.one.start()


def child_stopped(site: Site) -> None:
    child = site.one.begun(site.running[0])
    os.kill(child, signal.SIGSTOP)
    time.sleep(6)
    with contextlib.suppress(ProcessLookupError):  # its main process has killed it
        os.kill(child, signal.SIGCONT)


def warm_restart(site: Site) -> None:
    for _ in range(3):
        worker = site.one.processes[-1]
        worker.signal(signal.SIGTERM)
        worker.popen.wait(40)
        site.one.start()


def cold_restart(site: Site) -> None:
    worker = site.one.processes[-1]
    until("the main process knows what runs", lambda: site.one.are_known(*site.running))
    worker.signal(signal.SIGQUIT)
    worker.popen.wait(40)
    site.one.start()


def connections_cut(site: Site) -> None:
    for _ in range(3):
        site.proxy.cut()
        time.sleep(1)


def network_silent(site: Site) -> None:
    site.proxy.hold()
    time.sleep(8)
    site.proxy.release()


def broker_away(site: Site) -> None:
    if site.redis is None:
        site.proxy.refuse()
        time.sleep(OUTAGE)
        site.proxy.accept()
        return
    site.redis.stop()
    time.sleep(OUTAGE)
    site.redis.start()


def broker_emptied(site: Site) -> None:
    if site.redis is not None:
        site.redis.flush()
    else:
        with site.one.client.connection_for_write() as connection:
            connection.default_channel.queue_purge("celery")


def delivered_again(site: Site) -> None:
    for job in site.running:
        site.one.client.send_task("jobtrail.run", (job, 1))


def store_restarted(site: Site) -> None:
    site.store.stop()
    time.sleep(OUTAGE)
    site.store.start()


FAULTS: dict[str, tuple[Callable[[Site], None], tuple[str, ...]]] = {
    "child killed": (child_killed, BROKERS[::2]),
    "worker killed, with its children and prefetched messages": (worker_killed, BROKERS[::2]),
    "child stopped for 6 s (SIGSTOP), twice its lease": (child_stopped, BROKERS[::2]),
    "three warm restarts": (warm_restart, BROKERS[::2]),
    "cold restart": (cold_restart, BROKERS[::2]),
    "connections cut three times in 3 s": (connections_cut, BROKERS[::2]),
    "network silent for 8 s": (network_silent, BROKERS[::2]),
    "broker away for 60 s": (broker_away, BROKERS),
    "broker emptied": (broker_emptied, BROKERS[::2]),
    "messages of running jobs delivered again": (delivered_again, BROKERS[::2]),
    "PostgreSQL away for 60 s": (store_restarted, BROKERS[::2]),
}


@dataclass(frozen=True)
class Result:
    """What became of the jobs of some runs of one fault."""

    runs: int
    jobs: int
    lost: int
    doubled: int
    seconds: float


def measure(fault: str, kind: str, store: Cluster, runs: int) -> Result:
    """Let a fault happen ``runs`` times, each in a deployment of its own; ``seconds`` is the longest time until all was right."""
    found = [_once(FAULTS[fault][0], kind, store) for _ in range(runs)]
    balances = [one for one, _ in found]
    return Result(
        runs, sum(one.submitted for one in balances), sum(one.lost for one in balances),
        sum(one.overstarted for one in balances), max(seconds for _, seconds in found),
    )  # fmt: skip


def _once(fault: Callable[[Site], None], kind: str, store: Cluster) -> tuple[Balance, float]:
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jobtrail-celery-")))
        broker, redis = stack.enter_context(_broker(kind))
        proxy = stack.enter_context(proxy_of(broker))
        url = stack.enter_context(fresh_database(store.address))
        one = stack.enter_context(crew(url, proxy.address(broker), folder))
        one.start()
        running = one.submit("quick", seconds=4), one.submit("gentle", seconds=4)
        for job in running:
            one.begun(job, timeout=40)
        jobs = [*running, *(one.submit("quick", seconds=0.05) for _ in range(40))]
        until("all tickets are sent", lambda: one.are_sent(*jobs))
        fault(Site(one, proxy, store, redis, running))
        since = time.monotonic()
        with contextlib.suppress(AssertionError):
            one.ended(*jobs, timeout=WAITS)
        return balance(one, jobs), time.monotonic() - since


@contextlib.contextmanager
def _broker(kind: str) -> Iterator[tuple[str, RedisServer | None]]:
    if kind == "RabbitMQ":
        with amqp_server() as server, amqp_vhost(server) as address:
            yield address, None
    else:
        with start_redis(keeps=kind == "Redis") as redis:
            yield f"{redis.address}/0", redis
