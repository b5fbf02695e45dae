"""Killed anywhere between a transition and its message: told once where a receiver knows ids, and else at least once, and said so."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from contextlib import closing
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import notify_app
import pytest
import warm
from receivers import MailServer, WebServer
from sqlalchemy import select

from jobtrail.notify import announce, tables

APP = Path(notify_app.__file__)


class Killing:
    """Servers, an application of the test that changes something, and processes that die."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.mails, self.hook = MailServer(), WebServer()
        self.jobs = notify_app.make(url, self.mails.port, self.hook.port)
        self.jobs.migrate()
        self.jobs.notify.turn()
        self.wanted: set[str] = set()

    def close(self) -> None:
        self.jobs.close()
        self.mails.close()
        self.hook.close()

    def change(self, number: int) -> None:
        """One transition of a module, and one job that will fail."""
        name = f"module-{number}"
        now = self.jobs.store.now()
        self.jobs.store.write(lambda conn: announce(conn, "module.error", name, {}, now))
        job = self.jobs.task_named("load").enqueue()
        self.wanted |= {name, job.id}

    def run(self, die_at: int) -> int:
        """One process; its exit code, or how many statements it took."""
        words = [str(APP), self.url, str(self.mails.port), str(self.hook.port), str(die_at)]
        done = warm.run(*words, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(APP.parent)})
        if done.returncode == 0:
            return int(done.stdout)
        assert die_at, done.stderr
        return -1

    def settle(self) -> None:
        """Until nothing waits any more; also what a killed process held is given away."""
        for _ in range(60):
            self.run(0)
            with self.jobs.store.read() as conn:
                states = set(conn.execute(select(tables.deliveries.c.state)).scalars())
                decided = select(tables.events.c.subject).where(tables.events.c.processed_at.is_not(None))
                known = set(conn.execute(decided).scalars())
            if states <= {"sent"} and known == self.wanted:
                return
            later = self.jobs.store.now() + timedelta(seconds=40)
            self.jobs.notify._abandon(later)
        pytest.fail(f"deliveries are {states}, not decided is {self.wanted - known}")

    def rows(self, table):
        with self.jobs.store.read() as conn:
            return list(conn.execute(select(table)))


def kill(world: Killing, times: int, seed: int) -> None:
    chance = random.Random(seed)
    world.change(-1)
    usual = world.run(0)
    killed = 0
    while killed < times:
        world.change(killed)
        killed += world.run(chance.randint(1, usual)) == -1
    world.settle()


def check(world: Killing) -> None:
    rows = {row.id: row for row in world.rows(tables.deliveries)}
    subjects = {row.id: row.subject for row in world.rows(tables.events)}
    links = [(row.delivery_id, subjects[row.event_id]) for row in world.rows(tables.delivery_events)]

    def told(ids) -> Counter[str]:
        return Counter(subject for one, subject in links if one in ids)

    wanted = Counter(world.wanted)
    entries = Counter(row.delivery_id for row in world.rows(tables.inbox))
    assert set(entries.values()) == {1}
    assert told(entries) == wanted, "each transition is told once in the inbox"
    hooks = [(headers, body) for path, headers, body in world.hook.requests if path == "/hook"]
    posted = {headers["idempotency-key"]: json.loads(body) for headers, body in hooks}
    assert told(posted) == wanted, "each transition is told under one id at the webhook"
    for one, message in posted.items():
        assert message["count"] == rows[one].events
        assert {event["subject"] for event in message["events"]} <= set(told({one}))
    mails = [(mail["X-Jobtrail-Delivery"], mail.get_content()) for mail in world.mails.messages]
    assert told({one for one, _ in mails}) == wanted, "each transition is in the mail of one delivery"
    twice = {one for one, count in Counter(one for one, _ in mails).items() if count > 1}
    assert twice <= {one for one, row in rows.items() if row.perhaps_twice}, "who got a mail twice can read so"
    seen: set[str] = set()
    for one, body in mails:
        assert one not in seen or "may have come before" in body
        seen.add(one)
    chats, sent = len(world.hook.requests) - len(hooks), [row for row in rows.values() if row.channel == "chat"]
    assert len(sent) <= chats <= sum(row.tries for row in sent)
    assert chats == len(sent) or any(row.perhaps_twice for row in sent)
    print(f"{len(wanted)} transitions, {len(posted)} ids, {len(hooks)} requests, {len(mails)} mails, {len(twice)} twice, {chats} by Apprise")


def killed(url: str, folder: Path, times: int, seed: int) -> None:
    with closing(Killing(url, folder)) as world:
        kill(world, times, seed)
        check(world)


@pytest.mark.timeout(120)
def test_killed_five_times(url, tmp_path, no_notify_tables):
    killed(url, tmp_path, 5, seed=7)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_killed_two_hundred_times(url, tmp_path, no_notify_tables, monkeypatch):
    if find_spec("apprise") is not None:
        monkeypatch.setenv(notify_app.CHAT, "1")
    killed(url, tmp_path, 200, seed=2026)
