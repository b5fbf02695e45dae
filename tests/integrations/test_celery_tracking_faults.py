"""What Celery does to a task besides running it: revoked, expired, rejected, delivered again, stopped; on both brokers."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery_site import Site

pytest.importorskip("redis")


@pytest.fixture
def site(broker: str, tmp_path: Path) -> Iterator[Site]:
    yield from made(broker, f"sqlite:///{tmp_path / 'jobs.db'}", tmp_path)


@pytest.fixture
def redis_site(redis_url: str, tmp_path: Path) -> Iterator[Site]:
    yield from made(redis_url, f"sqlite:///{tmp_path / 'jobs.db'}", tmp_path)


def made(broker: str, url: str, folder: Path) -> Iterator[Site]:
    found = Site(broker, url, folder)
    try:
        yield found
    finally:
        found.close()


def begun(site: Site, name: str) -> int:
    """The process that runs a `wait`."""
    path = site.folder / f"{name}.begun"
    return int(site.until(lambda: path.exists() and path.read_text(), f"{name} has begun"))


def reasons(job) -> list[str]:
    """Why the changes of a job were made."""
    return [event.reason for event in job.events() if event.reason]


def status(site: Site, celery_id: str, *wanted: str, seconds: float = 20.0):
    return site.until(
        lambda: (job := site.job(celery_id)) is not None and job.status in wanted and job, f"{celery_id} is {wanted}", seconds
    )


@pytest.mark.long
def test_a_task_is_revoked_expires_is_rejected_and_ignored(site: Site):
    site.worker(concurrency=1)
    held = site.send("wait", "held")
    begun(site, "held")
    site.until(lambda: site.job(held), "it runs")
    before = site.send("add", 1)
    site.client.control.revoke(before)
    late = str(site.client.send_task("add", [2], expires=0.2).id)
    site.client.control.revoke(held, terminate=True, signal="SIGKILL")
    stopped, revoked, expired = (site.ended(one, 40) for one in (held, before, late))
    assert [job.status for job in (stopped, revoked, expired)] == ["cancelled"] * 3
    assert "terminated by SIGKILL" in reasons(stopped)
    assert [reasons(job) for job in (revoked, expired)] == [["revoked before it began"], ["expired before a worker took it"]]
    assert [job.attempt for job in (stopped, revoked, expired)] == [1, 0, 0]

    ignored = site.ended(site.send("ignore"))
    assert (ignored.status, "ignore" in site.jobs.queries.job(ignored.id).note) == ("completed", True)
    away = status(site, site.send("reject"), "pending")
    assert "the task rejected its message" in reasons(away)
    (site.folder / "rejected").unlink()
    again = site.ended(site.send("reject", requeue=True))
    assert (again.status, again.result(), again.attempt) == ("completed", "at last", 1)


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_message_that_becomes_visible_again_is_the_next_attempt_of_the_same_job(redis_site: Site):
    """Long: waits for a visibility timeout of five seconds, which RabbitMQ does not have."""
    site = redis_site
    site.worker(concurrency=2, VISIBILITY="5")
    sent = site.send("late", "twice", 100)
    first = begun(site, "twice")
    (site.folder / "twice.begun").unlink()
    second = int(site.until(lambda: (path := site.folder / "twice.begun").exists() and path.read_text(), "the second delivery", 60))
    assert first != second
    job = site.until(lambda: (found := site.job(sent)).attempt == 2 and found, "the second run is seen")
    assert [str(one.id) for one in site.jobs.find("task:late")] == [str(job.id)]
    (site.folder / "twice.go").touch()
    done = site.ended(sent)
    assert (done.status, done.attempt) == ("completed", 2)


@pytest.mark.long
def test_a_child_that_is_stopped_is_declared_lost_and_its_end_opens_the_job_again(site: Site):
    """Long: a process is silent for three seconds before it is declared lost."""
    site.worker(concurrency=1)
    sent = site.send("wait", "frozen")
    child = begun(site, "frozen")
    site.until(lambda: site.job(sent), "it runs")
    os.kill(child, signal.SIGSTOP)
    lost = status(site, sent, "failed")
    assert "WorkerLostError" in site.jobs.queries.job(lost.id).failure.type
    (site.folder / "frozen.go").touch()
    os.kill(child, signal.SIGCONT)
    done = status(site, sent, "completed")
    assert (done.id, done.result()) == (lost.id, "waited")


@pytest.mark.long
def test_groups_chords_and_chains_keep_their_family(broker: str, redis_url: str, url: str, tmp_path: Path):
    """Long: once on each broker and each store; a chord needs a result backend, which is Redis."""
    site = Site(broker, url, tmp_path)
    try:
        site.worker(concurrency=2, BACKEND=redis_url)
        canvas = site.ended(site.send("canvas"))
        expected = Counter({"one": 6, "total": 1, "anything": 1})
        jobs = site.jobs.find
        site.until(lambda: Counter(job.task for job in jobs() if job.id != canvas.id and job.status == "completed") == expected, "all of it has run", 40)
        found = {job.task: job for job in jobs()}
        assert found["total"].result() == 33
        assert found["anything"].result() == "100"
        assert {site.jobs.queries.job(job.id).root for job in jobs() if job.id != canvas.id} == {canvas.id}
        contexts = [site.jobs.queries.job(job.id).context for job in jobs() if job.task == "one"]
        assert len([one for one in contexts if "celery_group" in one]) == 5  # two of the group, three of the chord
        assert len([one for one in contexts if "celery_chord" in one]) == 3
        assert site.jobs.queries.job(found["anything"].id).parent is not None
    finally:
        site.close()
