"""The broker restarts, loses what it had, drops connections or delivers again: every job runs once, and none is lost."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from brokers import drop_amqp_connections, start_redis
from crew import RIGHT_WITHIN, Crew, check, crew
from fleet import until
from redis import Redis
from services import Unavailable
from tcp_proxy import proxy_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from brokers import RedisServer

pytestmark = [pytest.mark.timeout(240), pytest.mark.long]


@pytest.fixture(params=["keeps", "forgets"])
def redis(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A private Redis, with and without persistence."""
    try:
        with start_redis(keeps=request.param == "keeps") as server:
            yield server
    except Unavailable as error:
        pytest.skip(str(error))


def busy(one: Crew, *, number: int = 12, seconds: float = 4.0) -> tuple[list[str], list[str]]:
    """Two jobs that run, and many whose tickets wait behind them."""
    running = [one.submit("quick", seconds=seconds), one.submit("gentle", seconds=seconds)]
    for job in running:
        one.begun(job)
    waiting = [one.submit("quick", seconds=0.05) for _ in range(number)]
    until("all tickets are sent", lambda: one.are_sent(*waiting))
    return running, waiting


def right(one: Crew, *jobs: str, since: float) -> None:
    """All have run once, soon after the fault."""
    one.ended(*jobs, timeout=max(RIGHT_WITHIN - (time.monotonic() - since), 1))
    assert {one.rows()[job].run_no for job in jobs} == {1}, one.told()
    check(one, jobs)


def test_redis_restarts(redis: RedisServer, sqlite_url: str, tmp_path: Path) -> None:
    with crew(sqlite_url, f"{redis.address}/0", tmp_path) as one:
        one.start()
        running, waiting = busy(one)
        redis.stop()
        meanwhile = [one.submit("quick") for _ in range(5)]
        redis.start()
        right(one, *running, *waiting, *meanwhile, since=time.monotonic())


def test_redis_is_away_for_a_while(redis: RedisServer, sqlite_url: str, tmp_path: Path) -> None:
    """Submissions go on, what runs ends, and the worker says what it waits for."""
    with crew(sqlite_url, f"{redis.address}/0", tmp_path) as one:
        worker = one.start()
        running, waiting = busy(one, seconds=2)
        redis.stop()
        meanwhile = [one.submit("quick") for _ in range(5)]
        one.ended(*running)
        until("the row of the worker says so", lambda: "relay-celery" in str(one.worker(worker.pid).detail), timeout=30)
        assert one.handed_run(meanwhile[-1]) is None
        redis.start()
        right(one, *running, *waiting, *meanwhile, since=time.monotonic())


def test_redis_is_emptied(redis: RedisServer, sqlite_url: str, tmp_path: Path) -> None:
    with crew(sqlite_url, f"{redis.address}/0", tmp_path) as one:
        one.start()
        running, waiting = busy(one, number=40)
        redis.flush()
        right(one, *running, *waiting, since=time.monotonic())


def test_connections_are_cut(broker: str, sqlite_url: str, tmp_path: Path) -> None:
    with proxy_of(broker) as proxy, crew(sqlite_url, proxy.address(broker), tmp_path) as one:
        one.start()
        running, waiting = busy(one)
        assert proxy.cut()
        meanwhile = [one.submit("quick") for _ in range(5)]
        right(one, *running, *waiting, *meanwhile, since=time.monotonic())


def test_the_network_swallows_everything_for_a_while(broker: str, sqlite_url: str, tmp_path: Path) -> None:
    with proxy_of(broker) as proxy, crew(sqlite_url, proxy.address(broker), tmp_path) as one:
        one.start()
        running, waiting = busy(one, seconds=2)
        proxy.hold()
        meanwhile = [one.submit("quick") for _ in range(5)]
        one.ended(*running)
        proxy.release()
        right(one, *running, *waiting, *meanwhile, since=time.monotonic())


def test_connections_that_a_firewall_forgets(broker: str, sqlite_url: str, tmp_path: Path) -> None:
    """Nothing comes through them any more, and nobody is told; new ones work. Jobs that are submitted now run all the same."""
    with proxy_of(broker) as proxy, crew(sqlite_url, proxy.address(broker), tmp_path) as one:
        one.start()
        first = one.submit("quick")
        one.ended(first)
        proxy.forget()
        jobs = [one.submit("quick") for _ in range(5)]
        until("all tickets are sent", lambda: one.are_sent(*jobs), timeout=30)
        one.start()
        one.ended(first, *jobs, timeout=60)
        check(one, [first, *jobs])


@pytest.mark.parametrize("how", ["full", "replica"])
def test_redis_takes_no_writes_for_a_while(sqlite_url: str, tmp_path: Path, how: str) -> None:
    """It is full, or became a replica at a failover: the worker says so, and all goes on when it is over."""
    with start_redis() as server, crew(sqlite_url, f"{server.address}/0", tmp_path) as one:
        worker = one.start()
        running, waiting = busy(one, seconds=2)
        with Redis.from_url(server.address) as admin:
            admin.config_set("maxmemory", "1") if how == "full" else admin.replicaof("127.0.0.1", "1")
            meanwhile = [one.submit("quick") for _ in range(5)]
            one.ended(*running)
            until("the row of the worker says so", lambda: "relay-celery" in str(one.worker(worker.pid).detail), timeout=30)
            admin.config_set("maxmemory", "0")
            admin.replicaof("NO", "ONE")
        worker.popen.wait(30)  # Celery gives up then, and a service manager starts it again
        one.start()
        right(one, *running, *waiting, *meanwhile, since=time.monotonic())


def test_a_queue_that_rabbitmq_refuses_does_not_block_the_others(amqp_url: str, sqlite_url: str, tmp_path: Path) -> None:
    """It was declared with other arguments by somebody else."""
    with crew(sqlite_url, amqp_url, tmp_path) as one:
        with one.client.connection_for_write() as connection:
            connection.default_channel.queue_declare("other", durable=True, auto_delete=False, arguments={"x-max-length": 7})
        one.start()
        refused = [one.submit("quick", queue="other") for _ in range(3)]
        good = [one.submit("quick") for _ in range(5)]
        right(one, *good, since=time.monotonic())
        assert [one.handed_run(job) for job in refused] == [None] * 3
        assert "PRECONDITION_FAILED" in one.processes[0].said()


def test_rabbitmq_loses_a_queue(amqp_url: str, sqlite_url: str, tmp_path: Path) -> None:
    """What waited in it is sent again, into a queue that is declared anew."""
    with crew(sqlite_url, amqp_url, tmp_path) as one:
        worker = one.start()
        running, waiting = busy(one, number=30)
        with one.client.connection_for_write() as connection:
            connection.default_channel.queue_delete("celery")
        worker.signal(signal.SIGTERM)
        worker.popen.wait(30)
        one.start()
        right(one, *running, *waiting, since=time.monotonic())


def test_what_celery_cancels_when_its_connection_is_lost(broker: str, sqlite_url: str, tmp_path: Path) -> None:
    """An option of Celery: children are terminated then. Their jobs are handed back and not charged."""
    option = "worker_cancel_long_running_tasks_on_connection_loss=True"
    with proxy_of(broker) as proxy, crew(sqlite_url, proxy.address(broker), tmp_path, celery=option) as one:
        one.start()
        jobs = [one.submit("once_long"), one.submit("gentle", seconds=3)]
        for job in jobs:
            one.begun(job)
        proxy.cut()
        one.ended(*jobs)
        assert {one.rows()[job].attempt for job in jobs} == {1}
        check(one, jobs)


def test_rabbitmq_closes_all_connections(amqp_base: str, amqp_url: str, sqlite_url: str, tmp_path: Path) -> None:
    with crew(sqlite_url, amqp_url, tmp_path) as one:
        one.start()
        running, waiting = busy(one)
        drop_amqp_connections(amqp_base, amqp_url)
        right(one, *running, *waiting, since=time.monotonic())


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_second_delivery_changes_nothing(redis_url: str, sqlite_url: str, tmp_path: Path, pool: str) -> None:
    """The job is longer than the visibility timeout of 5 s; another worker gets its message."""
    with crew(sqlite_url, redis_url, tmp_path) as one:
        for _ in range(2):
            one.start(pool=pool, FAULTS_VISIBILITY="5")
        job = one.submit("quick", seconds=14)
        one.begun(job)
        until("it is delivered again", lambda: one.events(job), timeout=20)
        right(one, job, since=time.monotonic())


def test_the_same_ticket_twice_in_one_process(redis_url: str, sqlite_url: str, tmp_path: Path) -> None:
    with crew(sqlite_url, redis_url, tmp_path) as one:
        one.start(pool="threads", number=4)
        job = one.submit("quick", seconds=3)
        one.begun(job)
        for _ in range(3):
            one.client.send_task("jobtrail.run", (job, 1), task_id=f"{job}-1")
        until("all are counted", lambda: len(one.events(job)) == 3)
        right(one, job, since=time.monotonic())
