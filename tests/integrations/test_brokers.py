"""The brokers that other tests use: namespaces of their own, private servers, and a proxy whose connections are cut and held."""

from __future__ import annotations

import signal
import socket
import threading

import pytest
import redis
from brokers import (
    AMQP_ENVIRONMENT,
    REDIS_ENVIRONMENT,
    Unavailable,
    amqp_server,
    amqp_vhost,
    answers_amqp,
    answers_redis,
    drop_amqp_connections,
    redis_database,
    redis_server,
    start_rabbitmq,
    start_redis,
)
from kombu import Connection
from kombu.exceptions import OperationalError
from services import free_port, skip_or_fail
from tcp_proxy import proxy_of
from trails import until

NOBODY = "127.0.0.1:1"


def put(url: str, queue: str, value: str) -> None:
    with Connection(url) as conn, conn.SimpleQueue(queue) as waiting:
        waiting.put(value)


def take(url: str, queue: str) -> str:
    with Connection(url) as conn, conn.SimpleQueue(queue) as waiting:
        message = waiting.get(timeout=10)
        message.ack()
        return str(message.payload)


def length(url: str, queue: str) -> int:
    with Connection(url) as conn:
        try:
            return int(conn.default_channel.queue_declare(queue, passive=True).message_count)
        except conn.channel_errors:
            return 0


def test_each_test_has_an_empty_broker_of_its_own(broker: str, request: pytest.FixtureRequest):
    put(broker, "q", "here")
    base = broker.rpartition("/")[0]
    with (redis_database if broker.startswith("redis") else amqp_vhost)(base) as other:
        assert other != broker
        assert length(other, "q") == 0
        put(other, "q", "there")
    assert take(broker, "q") == "here"
    if other.startswith("amqp"):
        assert not answers_amqp(other, other.rpartition("/")[2])
    else:
        assert redis.Redis.from_url(other).dbsize() == 0


@pytest.mark.parametrize(
    ("variable", "server", "scheme"), [(REDIS_ENVIRONMENT, redis_server, "redis"), (AMQP_ENVIRONMENT, amqp_server, "amqp")]
)
def test_a_named_server_that_is_not_there_is_an_error_and_in_ci_a_failure(variable, server, scheme, monkeypatch):
    monkeypatch.setenv(variable, f"{scheme}://{NOBODY}")
    with pytest.raises(Unavailable, match=variable) as found, server():
        pass
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception):
        skip_or_fail(str(found.value))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        skip_or_fail(str(found.value))


def private_redis(*, keeps: bool = False):
    try:
        return start_redis(keeps=keeps)
    except Unavailable as error:
        skip_or_fail(str(error))


def test_a_private_redis_stops_restarts_and_is_emptied():
    with private_redis() as server:
        put(server.address, "q", "one")
        server.flush()
        assert length(server.address, "q") == 0
        put(server.address, "q", "two")
        server.stop()
        assert not answers_redis(server.address)
        server.start()
        assert length(server.address, "q") == 0
    assert not answers_redis(server.address)
    with private_redis(keeps=True) as server:
        put(server.address, "q", "three")
        server.restart(signal.SIGKILL)
        assert take(server.address, "q") == "three"


@pytest.mark.long
def test_a_private_rabbitmq_starts_keeps_messages_over_a_restart_and_ends():
    """Long: two starts of about five seconds."""
    try:
        with start_rabbitmq() as server, amqp_vhost(server.address) as url:
            put(url, "q", "one")
            server.restart()
            assert take(url, "q") == "one"
        assert not answers_amqp(server.address)
    except Unavailable as error:
        skip_or_fail(str(error))


def test_a_proxy_cuts_holds_and_refuses_connections(broker: str):
    with proxy_of(broker) as proxy:
        url = proxy.address(broker)
        put(url, "q", "one")
        until("the first is closed", lambda: proxy.open == 0)
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as client:  # says nothing, so the server waits
            until("it is open", lambda: proxy.open == 1)
            assert proxy.cut() == 1
            with pytest.raises(ConnectionResetError):
                client.recv(100)
        assert take(url, "q") == "one"

        proxy.hold()
        done = threading.Event()
        threading.Thread(target=lambda: (put(url, "q", "two"), done.set()), daemon=True).start()
        assert not done.wait(0.5)
        proxy.release()
        assert done.wait(20)
        assert take(broker, "q") == "two"

        proxy.refuse()
        with pytest.raises(OperationalError), Connection(url, connect_timeout=2) as conn:
            conn.ensure_connection(max_retries=1, interval_start=0)
        proxy.accept()
        put(url, "q", "three")
        assert take(broker, "q") == "three"


def test_connections_of_one_vhost_are_dropped_by_the_server(amqp_url: str, amqp_base: str):
    put(amqp_url, "q", "one")
    with Connection(amqp_url) as conn:
        conn.connect()
        drop_amqp_connections(amqp_base, amqp_url)
        with pytest.raises((OSError, *conn.connection_errors)):
            conn.drain_events(timeout=10)
    assert take(amqp_url, "q") == "one"


def test_nobody_answers_on_a_free_port():
    port = free_port()
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", port)) != 0
    assert not answers_redis(f"redis://127.0.0.1:{port}")
    assert not answers_amqp(f"amqp://guest:guest@127.0.0.1:{port}")
