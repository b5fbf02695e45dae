"""doctor, of executors that hand jobs over: what was not sent, what has not begun, and what they say themselves."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from jobtrail import JobTrail
from jobtrail.database import leases, tables
from jobtrail.job.model import new_id
from jobtrail.store import workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Answer

    Command = Callable[..., Answer]

APP = """
from jobtrail import JobTrail
from jobtrail.executors.base import NOTE, Examined, HandingOver
from jobtrail.messages import Message


class Elsewhere(HandingOver):
    name = "elsewhere"

    def examine(self, queues, tasks):
        if tasks != ["send"]:
            raise RuntimeError("it is not there")
        told = Message("integrations.celery-depth", queue=list(queues)[0], name="elsewhere", waiting=3)
        yield Examined(NOTE, told, Message("integrations.celery-consume", name="x"))


jobs = JobTrail({url!r}, executor=Elsewhere())


@jobs.task(queue="mail")
def send():
    pass
"""


@pytest.fixture
def doctor(jt: Command, url: str, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """The findings about the executor and about versions, with one job that waits for it."""

    def application(text: str) -> str:
        """A module of its own, because the command runs in this process, which loads each module once."""
        name = f"elsewhere_{new_id().replace('-', '')}"
        (tmp_path / f"{name}.py").write_text(text.format(url=url), encoding="utf-8")
        return f"{name}:jobs"

    app = application(APP)
    assert jt("submit", "send", "--app", app).code == 0

    def ask(*names: str, text: str | None = None) -> list[dict[str, Any]]:
        found = jt("doctor", "--json", "--app", application(text) if text else app).json["findings"]
        return [one for one in found if one["name"] in (names or ("executor",))]

    return ask


@pytest.fixture
def jobs(url: str) -> Iterator[JobTrail]:
    with closing(JobTrail(url)) as app:
        yield app


def put(jobs: JobTrail, **values: Any) -> None:
    jobs.store.write(lambda conn: conn.execute(update(tables.jobs).values(**values)))


def begin_process(jobs: JobTrail, slots: int) -> str:
    store, worker = jobs.store, new_id()
    store.write(lambda conn: workers.register(conn, store.dialect, worker, [], slots, store.now(), executor="elsewhere"))
    return worker


def test_a_due_job_is_not_called_unserved_and_what_the_executor_says_is_told(doctor: Any) -> None:
    (waiting,) = doctor("waiting")
    assert (waiting["state"], waiting["told"]) == ("ok", "no job that is due waits for a worker")
    processes, asked = doctor()
    assert processes["told"] == "elsewhere: no living process runs jobs; 0 handed over and not begun"
    assert (asked["state"], asked["told"]) == ("note", "queue mail (in Celery elsewhere): 3 messages wait")
    assert asked["advice"] == "start a worker with -Q x"


def test_a_job_that_was_not_handed_over_for_a_minute(doctor: Any, jobs: JobTrail) -> None:
    put(jobs, run_at=jobs.store.now() - timedelta(seconds=50))
    assert len(doctor()) == 2
    put(jobs, run_at=jobs.store.now() - timedelta(minutes=2))
    late = doctor()[1]
    assert (late["state"], late["told"][:47]) == ("wrong", "elsewhere: 1 due jobs were not handed over, the")
    assert late["advice"].startswith("start a worker or a process of elsewhere")
    store, now = jobs.store, jobs.store.now()
    worker = begin_process(jobs, 0)
    until = now + timedelta(minutes=1)
    store.write(lambda conn: leases.take(conn, store.dialect, ["relay:elsewhere"], worker, now, until))
    assert doctor()[1]["advice"].startswith("the broker of elsewhere may be away")


def test_jobs_that_were_handed_over_and_do_not_begin(doctor: Any, jobs: JobTrail) -> None:
    put(jobs, handed_run=0, handed_at=jobs.store.now() - timedelta(minutes=4))
    processes, _ = doctor()
    assert processes["state"] == "wrong"
    assert processes["told"].endswith("no living process runs jobs; 1 handed over and not begun")
    begin_process(jobs, 2)
    processes, _ = doctor()
    assert processes["told"] == "elsewhere: 1 process runs jobs; 1 handed over and not begun"
    put(jobs, handed_at=jobs.store.now() - timedelta(minutes=6))
    late = doctor()[1]
    assert late["told"].startswith("elsewhere: of 1 jobs that were handed over from the queue mail none has begun for 6")


def test_processes_of_different_versions(doctor: Any, jobs: JobTrail) -> None:
    begin_process(jobs, 2)
    first = begin_process(jobs, 2)
    assert doctor("versions") == []
    table = tables.workers
    jobs.store.write(lambda conn: conn.execute(update(table).where(table.c.id == first).values(version="0.0.9")))
    (skew,) = doctor("versions")
    assert skew["state"] == "note"
    assert "0.0.9 (1)" in skew["told"]


def test_an_executor_that_cannot_be_asked(doctor: Any) -> None:
    asked = doctor(text=APP.replace("def send", "def other"))[-1]
    assert (asked["state"], asked["told"]) == ("wrong", "elsewhere cannot be asked: it is not there")
