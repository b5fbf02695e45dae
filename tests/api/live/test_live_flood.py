"""A job that reports 10,000 times a second, watched by twenty: little is written, all see its last word soon, and it keeps its speed.

`pytest -s` prints what was measured; `-m long` measures for longer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from live_server import Live, serving
from trails import until
from websockets.exceptions import ConnectionClosed

APPS = Path(__file__).parents[2] / "apps"
CLIENTS = 20
RATE = 10_000  # calls a second
WRITES = 4  # a second, at most
MESSAGES = 8  # a second, at most: four of the job, four of the list

TABLES = ("progress", "logs", "jobs")
FUNCTION = """CREATE FUNCTION flood_write() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN INSERT INTO flood_writes VALUES (TG_TABLE_NAME); RETURN NULL; END'"""
PER_ROW = "CREATE TRIGGER flood_{name} AFTER INSERT OR UPDATE ON jobtrail_{name} FOR EACH ROW EXECUTE FUNCTION flood_write()"
SQLITE = "CREATE TRIGGER flood_{name}_{what} AFTER {what} ON jobtrail_{name} BEGIN INSERT INTO flood_writes VALUES ('jobtrail_{name}'); END"


@pytest.fixture
def writes(app_jobs):
    """How many rows the database has written of a job's record, whoever did it: counted by the database, by table."""
    store = app_jobs.store
    sqlite = store.database.is_sqlite
    both = [(name, what) for name in TABLES for what in ("INSERT", "UPDATE")]
    made = ["CREATE TABLE flood_writes (place TEXT)"]
    if sqlite:
        made += [SQLITE.format(name=name, what=what) for name, what in both]
        unmade = [f"DROP TRIGGER flood_{name}_{what}" for name, what in both]
    else:
        made += [FUNCTION, *(PER_ROW.format(name=name) for name in TABLES)]
        unmade = [*(f"DROP TRIGGER flood_{name} ON jobtrail_{name}" for name in TABLES), "DROP FUNCTION flood_write"]

    def run(statements):
        store.write(lambda conn: [conn.exec_driver_sql(one) for one in statements])

    def count():
        with store.read() as conn:
            return Counter(conn.exec_driver_sql("SELECT place FROM flood_writes").scalars())

    app_jobs.service.make_ready()
    run(made)
    yield count
    run([*unmade, "DROP TABLE flood_writes"])


@pytest.fixture
def worker(url):
    """A worker in a process of its own."""
    path = os.pathsep.join([str(APPS), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "jobtrail", "worker", "--app", "flood_app:jobs", "--concurrency", "2"]
    environment = {**os.environ, "FLOOD_URL": url, "PYTHONPATH": path}
    started = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield psutil.Process(started.pid)
    started.terminate()
    started.wait(40)


class Page:
    """A client that reads all the time and remembers when it saw what."""

    def __init__(self, server, job):
        self.live = Live(server)
        self.job = job
        self.seen: dict[str, dict[int, float]] = {"job": {}, "jobs": {}}  # by topic: how far, and when that was first seen
        self.messages = 0
        self.lines = 0
        self.live.snapshot("job", job=job)
        self.live.snapshot("jobs")
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        while True:
            try:
                told = self.live.receive(60)
            except (ConnectionClosed, TimeoutError):
                return
            self.live.messages.clear()
            self.messages += 1
            self.lines += sum(part["text"].count("\n") + 1 for name, part in told["parts"].items() if name.startswith("log:"))
            line = told["parts"].get("job" if told["id"] == "job" else self.job)
            if line and line["progress"]:
                self.seen[told["id"]].setdefault(line["progress"]["done"], told["heard"])

    def late(self, topic, told):
        """How many seconds after its last call it was seen here; None where it has not been yet."""
        at = self.seen[topic].get(told["done"])
        return None if at is None else at - told["last_at"]

    def close(self):
        self.live.close()
        self._thread.join(10)


@dataclass
class Round:
    """How a round of the job went."""

    told: dict
    writes: Counter
    pages: list = field(default_factory=list)
    messages: list = field(default_factory=list)

    @property
    def rate(self):
        return self.told["calls"] / self.told["seconds"]

    def written(self, name):
        return self.writes[f"jobtrail_{name}"]

    def late(self, topic):
        return max(page.late(topic, self.told) for page in self.pages)


def play(folder, number, writes, pages=(), **order):
    """Have the job report, and wait until every page has seen its last word."""
    before, said = writes(), [page.messages for page in pages]
    (folder / "part").write_text(json.dumps(order))
    (folder / "part").rename(folder / f"order-{number}.json")
    path = folder / f"told-{number}.json"
    until("the round is over", path.exists, timeout=order["seconds"] + 30)
    told = json.loads(path.read_text())
    for page in pages:
        for topic in ("job", "jobs"):
            until("it has seen the last word", lambda page=page, topic=topic: page.late(topic, told) is not None)
    time.sleep(0.5)  # so that what was written last is counted in this round
    messages = [page.messages - begun for page, begun in zip(pages, said, strict=True)]
    return Round(told, writes() - before, list(pages), messages)


def flooded(app_jobs, worker, writes, folder, *, seconds, rounds, task="flood"):
    """Rounds alone and watched in turn, as fast as it goes; then one at the rate that is asked for, watched."""
    flood = app_jobs.task(lambda ctx, *, folder, rounds: None, name=task)
    job = flood.enqueue(folder=str(folder), rounds=2 * rounds + 2)
    until("it runs", lambda: job.refresh().status == "running", timeout=30)
    alone, watched, memory, here = [], [], [], psutil.Process()
    with serving(app_jobs.asgi()) as server:
        for number in range(0, 2 * rounds, 2):
            alone.append(play(folder, number, writes, seconds=seconds))
            pages = [Page(server, job.id) for _ in range(CLIENTS)]
            memory.append([one.memory_info().rss for one in (worker, here)])
            watched.append(play(folder, number + 1, writes, pages, seconds=seconds))
            if number < 2 * rounds - 2:
                for page in pages:
                    page.close()
        paced = play(folder, 2 * rounds, writes, pages, seconds=seconds, rate=RATE)
        memory.append([one.memory_info().rss for one in (worker, here)])
        play(folder, 2 * rounds + 1, writes, seconds=0)  # and it ends
        most = max(one.transport.get_write_buffer_size() for one in list(server.server.server_state.connections))
        until("it has ended", lambda: job.refresh().status == "completed", timeout=30)
        for page in pages:
            page.close()
    grown = [last - first for first, last in zip(memory[0], memory[-1], strict=True)]
    return alone, watched, paced, {"worker": grown[0], "server": grown[1], "unsent": most}


def show(alone, watched, paced, memory):
    for name, some in (("alone", alone), ("watched", watched), (f"at {RATE:,}/s", [paced])):
        for one in some:
            told = f"{name:12} {one.rate:9,.0f} calls/s  {' '.join(f'{name} {one.written(name)}' for name in TABLES)} rows written in {one.told['seconds']:.1f} s"
            if one.pages:
                most = max(one.messages) / one.told["seconds"]
                told += f"  {most:4.1f} messages/s  seen after {one.late('job'):.2f} s, in the list after {one.late('jobs'):.2f} s"
            print(told)
    grown = f"the worker grew by {memory['worker'] / 1e6:.1f} MB, server and clients by {memory['server'] / 1e6:.1f} MB"
    print(f"watched ÷ alone: {share(alone, watched):.2f}; {grown}; {memory['unsent']} bytes unsent")


def share(alone, watched):
    return sum(one.rate for one in watched) / sum(one.rate for one in alone)


def judge(alone, watched, paced, memory, *, least=0.3):  # in two short rounds a busy machine has its say
    assert paced.rate > 0.95 * RATE
    for one in (*alone, *watched, paced):
        assert 1 <= one.written("progress") <= WRITES * one.told["seconds"] + 2
        assert 1 <= one.written("logs") <= WRITES * one.told["seconds"] + 2
        assert one.written("jobs") <= 1
    for one in (*watched, paced):
        assert max(one.messages) <= MESSAGES * (one.told["seconds"] + 1.0)
        assert max(one.late("job"), one.late("jobs")) < 3.0
    for topic in ("job", "jobs"):  # on a machine that is busy with other things, too, once
        assert min(one.late(topic) for one in (*watched, paced)) < 1.0
    assert min(page.lines for page in paced.pages) > 0
    assert share(alone, watched) > least
    assert memory["worker"] < 16e6
    assert memory["server"] < 48e6
    assert memory["unsent"] < 1e6


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seconds", [0.6, pytest.param(1.5, marks=pytest.mark.long)])
def test_twenty_clients_on_a_job_that_reports_ten_thousand_times_a_second(app_jobs, worker, writes, tmp_path, seconds):
    found = flooded(app_jobs, worker, writes, tmp_path, seconds=seconds, rounds=1)
    show(*found)
    judge(*found)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("task", ["flood", "flood_process"])
def test_twenty_clients_on_a_job_that_reports_ten_thousand_times_a_second_for_long(app_jobs, worker, writes, tmp_path, task):
    found = flooded(app_jobs, worker, writes, tmp_path, seconds=10, rounds=3, task=task)
    show(*found)
    judge(*found, least=0.6)
