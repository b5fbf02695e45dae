"""The project of the page `move-from-celery.md`, stage by stage as it stands there, with real workers and brokers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers import redis_base, redis_database, redis_url  # noqa: F401 - fixtures
from celery_site import Site

redis = pytest.importorskip("redis")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "move-from-celery.md"
TEXT = PAGE.read_text(encoding="utf-8")
SEND = """
import shop
print(shop.one_day("2013-02-01", fails=1).delay().id, shop.month(["2013-02-02", "2013-02-03"]).delay().id)
"""


def block(title: str) -> str:
    """A block of the page."""
    [text] = re.findall(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', TEXT, re.DOTALL)
    return text


def replaced(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


class Project:
    """The project in a folder; its file is changed as the page says, and its programs are started."""

    def __init__(self, folder: Path, broker: str, backend: str) -> None:
        self.folder, self.broker, self.backend = folder, broker, backend
        self.url = f"sqlite:///{folder / 'jobs.db'}"
        self.site = Site(broker, self.url, folder, app="shop")
        path = f"{self.site.environment['PYTHONPATH']}{os.pathsep}{folder}"
        self.own = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment = {**self.site.environment, **self.own}

    def install(self, text: str) -> None:
        """Write ``shop.py`` with the addresses of the test, and schedules that run every second."""
        addresses = {
            "redis://localhost:6379/0": self.broker, "redis://localhost:6379/1": self.backend,
            "postgresql://localhost/shop": self.url, "hours=1": "seconds=1",
        }  # fmt: skip
        for old, new in addresses.items():
            text = text.replace(old, new)
        assert "localhost" not in text.replace(self.broker, "").replace(self.backend, "")
        (self.folder / "shop.py").write_text(text, encoding="utf-8")

    def call(self, code: str) -> list[str]:
        """Run a program of the project to its end; the words that it prints."""
        command = [sys.executable, "-c", f"import shop\n{code}"]
        done = subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=50)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def start(self, *words: str, **settings: str) -> subprocess.Popen[bytes]:
        """Start a program; it is ended with the test."""
        with (self.folder / f"worker-{words[1]}-{len(self.site.workers)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *words], env={**self.environment, **settings}, cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )  # fmt: skip
        self.site.workers.append(process)
        return process

    def completed(self) -> list:
        return [job for job in self.site.jobs.find("task:shop.* status:completed", limit=500)]

    def chain_of(self, first: str) -> Counter:
        """How many jobs of each task came from a job and have completed."""
        return Counter(job.task for job in self.completed() if self.site.jobs.queries.job(job.id).root == first)

    def status(self, job: str) -> str:
        return self.site.jobs.get(job).status

    def until_completed(self, *jobs: str) -> None:
        self.site.until(lambda: {self.status(one) for one in jobs} == {"completed"}, "all have completed", 40)


@pytest.fixture
def project(redis_url: str, redis_base: str, tmp_path: Path) -> Iterator[Project]:  # noqa: F811
    with redis_database(redis_base) as backend:
        made = Project(tmp_path, redis_url, backend)
        with contextlib.closing(made.site):
            yield made


# -- stage 1 -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_one_line_tracks_a_project_with_a_chain_a_chord_retries_and_beat(project: Project):
    """Long: a worker, a beat and a program that sends."""
    project.install(block("shop.py"))
    project.site.worker(**project.own)
    project.call(SEND)
    project.start("celery", "-A", "shop", "beat")
    check(project.site)


def check(site: Site) -> None:
    """What the page says of the record."""
    expected = Counter({"shop.download": 3, "shop.parse": 3, "shop.load": 3, "shop.report": 1})

    def completed():
        return [job for job in site.jobs.find("task:shop.* status:completed")]

    site.until(lambda: Counter(job.task for job in completed() if job.task != "shop.tidy") == expected, "all of it has run", 40)
    site.until(lambda: sum(job.task == "shop.tidy" for job in completed()) >= 2, "beat has sent twice")
    jobs = {job.task: job for job in completed()}
    assert (jobs["shop.report"].result(), jobs["shop.tidy"].result()) == (4, "tidy")
    [retried] = [job for job in completed() if job.task == "shop.download" and job.attempt == 2]
    assert site.jobs.queries.job(retried.id).max_attempts == 4
    assert any("the source does not answer" in str(event.reason) for event in retried.events())
    contexts = [site.jobs.queries.job(job.id).context for job in completed() if job.task != "shop.tidy"]
    assert all("celery_id" in one for one in contexts)
    assert len({one.get("celery_root", one["celery_id"]) for one in contexts}) >= 2


# -- stage 3 -------------------------------------------------------------------------------------------


def one_task_moved() -> str:
    """``shop.py`` with one task of jobtrail; the others stay as they are."""
    text = block("shop.py")
    [entry] = re.findall(r"^app\.conf\.beat_schedule.*\n", text, re.MULTILINE)
    old = '@app.task(name="shop.tidy")\ndef tidy():\n    return "tidy"\n'
    return replaced(text, {entry: "", old: block("shop.py, one task moved")})


def test_one_task_moves_and_the_others_stay(project: Project):
    """Both kinds of jobs are recorded once. It takes over three seconds for one worker of Celery and one program."""
    project.install(one_task_moved())
    project.site.worker(**project.own)
    [moved, celery_id] = project.call('print(shop.tidy.enqueue().id, shop.one_day("2013-02-01", fails=1).delay().id)')
    project.until_completed(moved)
    project.site.ended(celery_id, 40)
    project.site.until(lambda: sum(job.task == "shop.tidy" for job in project.completed()) >= 3, "the schedule has run twice")
    site = project.site
    begun = [event for event in site.jobs.get(moved).events() if event.name == "begun_by"]
    assert [one.detail["celery_id"] for one in begun] == [f"{moved}-1"], "a worker of Celery ran it"
    everything = list(site.jobs.find("", limit=500))
    assert {job.task for job in everything} == {"shop.tidy", "shop.download", "shop.parse", "shop.load"}, "not jobtrail.run"
    tracked = Counter(job.task for job in everything if "celery_id" in (site.jobs.queries.job(job.id).context or {}))
    assert tracked == {"shop.download": 1, "shop.parse": 1, "shop.load": 1}
    tidied = [job for job in everything if job.task == "shop.tidy"]
    slots = {slot.job_id for slot in site.jobs.schedules.slots("shop.tidy") if slot.job_id}
    assert {job.id for job in tidied} <= {moved} | slots, "each planned time is one job"


# -- stages 3 and 4, all tasks moved -------------------------------------------------------------------


SUBMIT = """
later = shop.download.using(delay=3600).enqueue("2013-02-04")
print(shop.one_day("2013-02-01", fails=1).id, shop.tidy.using(queue="night").enqueue().id, later.id)
shop.month(["2013-02-02", "2013-02-03"])
"""
FOLLOWED = {"shop.parse": 1, "shop.load": 1}


def messages(broker: str, queue: str) -> list[str]:
    """The ids of the messages that wait in a queue of the broker; Redis has a list for each priority."""
    with redis.from_url(broker) as client:
        lists = client.scan_iter(f"{queue}*", _type="list")
        return [json.loads(one)["headers"]["id"] for key in lists for one in client.lrange(key, 0, -1)]


def check_moved(project: Project, chain: str) -> None:
    """The chain and the group have run in Celery."""
    site = project.site
    site.until(lambda: any(job.task == "shop.report" for job in project.completed()), "the group was followed", 40)
    site.until(lambda: project.chain_of(chain) == FOLLOWED, "the chain has run")
    site.until(lambda: any(job.task == "shop.tidy" for job in project.completed()), "the schedule has run")
    jobs = {job.task: job for job in project.completed()}
    assert (jobs["shop.report"].result(), jobs["shop.load"].result()) == (4, 2)
    assert site.jobs.get(chain).attempt == 2
    assert [event.detail["celery_id"] for event in site.jobs.get(chain).events() if event.name == "begun_by"] == [f"{chain}-1", f"{chain}-2"]


def without_broker() -> str:
    """``shop.py`` without Celery: the page's lines in the place of the first ones."""
    text = block("shop.py, all tasks moved")
    return block("shop.py, without a broker") + text[text.index("\n\n@jobs.task") :]


@pytest.mark.long
def test_all_tasks_move_and_then_the_broker_goes(project: Project):
    """Long: a worker of Celery, one of ours, and two programs that submit."""
    project.install(block("shop.py, all tasks moved"))
    celery = project.start("celery", "-A", "shop", "worker", "-c", "1", "--without-mingle", "--without-gossip")
    chain, waits, later = project.call(SUBMIT)
    check_moved(project, chain)
    project.site.until(lambda: messages(project.broker, "night") == [f"{waits}-1"], "it waits in the broker")
    project.site.stop(celery)
    more = project.call('print(shop.one_day("2013-02-05").id)')
    assert [project.status(one) for one in (waits, later, *more)] == ["pending"] * 3
    project.install(without_broker())
    [command] = re.findall(r"^jobtrail (.*worker.*)$", TEXT, re.MULTILINE)
    hurry = {"JOBTRAIL_SILENT_AFTER": "1", "JOBTRAIL_BEAT_INTERVAL": "0.2", "JOBTRAIL_SWEEP_INTERVAL": "0.2"}
    project.start("jobtrail", *command.split(), **hurry)
    project.until_completed(waits, *more)
    project.site.jobs.get(later).run_now()
    project.until_completed(later)
    project.site.until(lambda: project.chain_of(more[0]) == FOLLOWED, "its chain has run")
    assert messages(project.broker, "night") == [f"{waits}-1"], "what is left in the broker began nothing"
    assert {project.site.jobs.get(one).attempt for one in (waits, later, *more)} == {1}
    assert not list(project.site.jobs.find("status:failed", limit=5))
