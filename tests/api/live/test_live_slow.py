"""Clients that do not read: bounded memory, dropped with a code, and nobody else waits for them (C-34)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time

import pytest
from live_server import Live, serving
from sqlalchemy import update
from trails import until

from jobtrail.api.live import connections, hub, topics
from jobtrail.api.live.send_buffer import MOST_CHANGES, MOST_EVENTS, Following, SendBuffer, Watching
from jobtrail.database import tables

KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def never_reads(server, **subscription):
    """A client that shakes hands, watches the list and then reads nothing."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", server.port))
    made.sendall(
        f"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += made.recv(1)
    made.sendall(frame(type="subscribe", id="a", topic="jobs", **subscription))
    return made


def frame(**words):
    said = json.dumps(words).encode()
    mask = os.urandom(4)
    return bytes([0x81, 0x80 | len(said)]) + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(said))


def buffered(server):
    """How many bytes wait in the server for each client."""
    return [one.transport.get_write_buffer_size() for one in list(server.server.server_state.connections)]


@pytest.mark.timeout(150)
def test_c34_of_a_hundred_clients_ten_never_read_and_the_others_are_on_time(app_jobs, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 1.0)
    app_jobs.task_named("add").using(delay=9000).enqueue_many({"a": n} for n in range(100))
    mine = app_jobs.task_named("asks").using(delay=9000).enqueue()
    with serving(app_jobs.asgi(), SO_SNDBUF=8192) as server:
        deaf = [never_reads(server, limit=100) for _ in range(10)]
        pages = [Live(server) for _ in range(90)]
        for one in pages:
            one.snapshot("jobs", filter="task:asks")
        until("everybody is there", lambda: counts(server)["clients"] == 100)
        late, most = [], 0
        for n in range(6):
            note = f"{n} " + "x" * 1500
            app_jobs.store.write(lambda conn, note=note: conn.execute(update(tables.jobs).values(note=note)))
            begun = time.monotonic()
            for one in pages:
                one.shows(f"note {n}", lambda one=one, note=note: one.parts["jobs"][mine.id]["note"] == note)
            late.append(time.monotonic() - begun)
            most = max(most, *buffered(server))
        until("the deaf ones are dropped", lambda: counts(server) == {"clients": 90, "dropped": 10}, timeout=60)
        for one in (*pages, *deaf):
            one.close()
    assert most <= 65_536 + 100 * 2_500  # what the transport holds before it says stop, and one message
    assert sorted(late)[len(late) // 2] < 2.0


def counts(server):
    import urllib.request

    with urllib.request.urlopen(f"{server.address}/api/live/clients", timeout=10) as answer:
        return json.load(answer)


def test_c34_who_begins_to_read_again_is_told_that_it_was_too_slow_and_gets_all_of_it_anew(app_jobs, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 2.0)
    monkeypatch.setattr(hub, "SOONEST", 0.05)
    app_jobs.task_named("add").using(delay=9000).enqueue_many({"a": n} for n in range(100))
    with serving(app_jobs.asgi(), SO_SNDBUF=8192) as server:
        slow = never_reads(server, limit=100)
        note = 0

        def change():
            nonlocal note
            note += 1
            text = f"{note} " + "y" * 1500
            app_jobs.store.write(lambda conn: conn.execute(update(tables.jobs).values(note=text)))
            return counts(server)["dropped"] == 1

        until("it is found too slow", change, every=0.1)
        slow.settimeout(10)
        tail = b""
        while b"too slowly" not in tail and (data := slow.recv(65_536)):
            tail = (tail + data)[-64:]
        assert connections.TOO_SLOW.to_bytes(2, "big") + b"this client reads too slowly" in tail
        slow.close()
        again = Live(server)
        assert len(again.snapshot("jobs", limit=100)["order"]) == 100
        again.close()


def test_a_flood_of_questions_from_one_that_does_not_read_ends_it(app_jobs, monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0.5)
    with serving(app_jobs.asgi(), SO_SNDBUF=4096) as server:
        one = never_reads(server)
        one.settimeout(10)
        for _ in range(100):
            one.sendall(frame(type="ping") * 50)
            if counts(server)["dropped"]:
                break
        until("it is dropped", lambda: counts(server) == {"clients": 0, "dropped": 1})
        one.close()


# -- what is kept for a client ---------------------------------------------------------------------------


class Told:
    """A topic, by hand."""

    def __init__(self, **parts):
        self.parts = {name: json.dumps(value) for name, value in parts.items()}
        self.order, self.order_no, self.problem, self.known = None, 0, None, True


@pytest.fixture
def outbox():
    async def make():
        return SendBuffer()

    return asyncio.run(make())


def test_what_changes_often_before_it_is_told_is_told_once_as_it_is_then(outbox):
    told = Told(a=0, b=0)
    one = Watching("w", outbox, told)
    one.changed(())
    assert json.loads(outbox.take()) == {"type": "snapshot", "id": "w", "parts": {"a": 0, "b": 0}}
    for n in range(1000):
        told.parts["a"] = str(n)
        one.changed({"a"})
    del told.parts["b"]
    one.changed({"b"})
    assert json.loads(outbox.take()) == {"type": "change", "id": "w", "parts": {"a": 999}, "gone": ["b"]}
    assert outbox.take() is None
    assert not outbox.ready.is_set()


def test_too_many_changes_become_all_of_it_anew(outbox):
    told = Told(a=1)
    one = Watching("w", outbox, told)
    one.changed(())
    outbox.take()
    for n in range(MOST_CHANGES + 10):
        one.changed({f"came and went {n}"})
    assert len(one._changed) <= MOST_CHANGES
    assert json.loads(outbox.take())["type"] == "snapshot"
    assert outbox.take() is None


def test_lines_of_the_trail_that_nobody_takes_are_lost_with_a_word_and_bounded(outbox):
    one = Following("e", outbox)
    one.add([(n, json.dumps({"id": n})) for n in range(MOST_EVENTS + 1)])
    assert len(one._lines) <= MOST_EVENTS
    one.add([(9999, '{"id":9999}')])
    told = [json.loads(outbox.take()), json.loads(outbox.take())]
    assert [message["type"] for message in told] == ["reset", "events"]
    assert told[1]["last"] == 9999
    assert outbox.take() is None


def test_what_was_missed_comes_before_what_comes_now_and_nothing_twice(outbox):
    one = Following("e", outbox)
    one.add([(7, '{"id":7}'), (8, '{"id":8}')])
    one.missed([(5, '{"id":5}'), (7, '{"id":7}')])
    one.add([(5, '{"id":5}'), (9, '{"id":9}')])
    assert [line["id"] for line in json.loads(outbox.take())["events"]] == [5, 7, 8, 9]


def test_one_subscription_does_not_keep_another_waiting(outbox):
    busy, quiet = Watching("busy", outbox, Told(a=1)), Watching("quiet", outbox, Told(b=1))
    busy.changed(())
    quiet.changed(())
    told = []
    for _ in range(3):
        told.append(json.loads(outbox.take())["id"])
        busy._told.parts["a"] = str(len(told))
        busy.changed({"a"})
    assert told == ["busy", "quiet", "busy"]


def test_a_look_that_was_held_up_once_keeps_nobody_waiting_and_what_is_slow_is_looked_at_rarely():
    rests = []

    class Looks(hub.Repeated):
        took = [0.3, 0.01, 0.3, 0.01, 0.3, 0.4, 0.5]  # seconds

        async def look(self):
            return self.took[len(rests)]

        async def _rest(self, least):
            rests.append(round(least, 2))
            if len(rests) == len(self.took):
                raise asyncio.CancelledError

    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(Looks(None, 0.25)._repeat())
    assert rests == [0.25, 0.25, 0.25, 0.25, 0.25, 3.0, 4.0]


def test_topics_are_named_and_limited():
    assert sorted(topics.topics()) == ["job", "jobs", "needs", "questions", "schedules", "stats", "workers"]
