"""Real processes of `celery beat` on our schedules: two at once, killed, restarted, with and without tracking."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from celery_site import Site
from tcp_proxy import proxy_of

pytest.importorskip("redis")


@pytest.fixture
def site(broker: str, url: str, tmp_path: Path) -> Iterator[Site]:
    found = Site(broker, url, tmp_path, app="beat_app")
    try:
        yield found
    finally:
        found.close()


def ran(site: Site) -> list[str]:
    """Celery's ids of the runs, one a line."""
    path = site.folder / "ran"
    return [line.split()[1] for line in path.read_text().splitlines()] if path.exists() else []


def submitted(site: Site, name: str = "often"):
    return [slot for slot in site.jobs.schedules.slots(name, limit=1000) if slot.state == "submitted"]


def leader(site: Site, beats):
    """The process that decides about the schedule now."""
    held = site.jobs.schedules.leaders().get("celery:beat_app/note")
    pids = {one.id: one.pid for one in site.jobs.queries.workers().workers}
    return next((one for one in beats if held and one.pid == pids.get(held) and one.poll() is None), None)


def check_each_time_ran_once(site: Site, name: str = "often") -> int:
    """Every planned time has one job, every job one run, and every run a job; returns how many."""
    slots = submitted(site, name)

    def all_ended():
        return {site.jobs.get(slot.job_id).status for slot in slots} == {"completed"}

    site.until(all_ended, "all jobs have ended")
    assert len({slot.planned_at for slot in slots}) == len(slots)
    assert len({slot.job_id for slot in slots}) == len(slots)
    runs = Counter(str(site.job(one).id) for one in ran(site))
    assert runs == Counter(str(slot.job_id) for slot in slots)
    return len(slots)


def test_two_beats_send_each_time_once_and_the_other_goes_on_when_one_is_killed(site: Site):
    site.worker(concurrency=1)
    beats = [site.beat(), site.beat()]
    site.until(lambda: len(ran(site)) >= 2, "two runs")
    killed = site.until(lambda: leader(site, beats), "a leader")
    os.kill(killed.pid, signal.SIGKILL)
    before = len(ran(site))
    site.until(lambda: len(ran(site)) >= before + 3, "the other beat goes on")
    for beat in beats:
        if beat is not killed:
            site.stop(beat)
    assert check_each_time_ran_once(site) >= 5
    schedule = site.jobs.schedules.get("often")
    assert (schedule.origin, schedule.state, schedule.row.task) == ("celery", "active", "celery:beat_app/note")
    job = site.jobs.get(submitted(site)[0].job_id)
    assert (job.task, site.jobs.queries.job(job.id).arguments) == ("note", {"what": "often"})


@pytest.fixture
def quick_site(redis_url: str, tmp_path: Path) -> Iterator[Site]:
    """One broker and one database, for what does not depend on them."""
    found = Site(redis_url, f"sqlite:///{tmp_path / 'jobs.db'}", tmp_path, app="beat_app")
    try:
        yield found
    finally:
        found.close()


@pytest.mark.long
def test_a_beat_that_starts_again_catches_up_by_the_rule_of_each_entry(quick_site: Site):
    site = quick_site
    entry = {"task": "note", "schedule": 1.0}
    entries = {"all": {**entry, "args": ["all"]}, "one": {**entry, "args": ["one"]}, "gone": {"task": "other", "schedule": 3600.0}}
    ours = json.dumps({"*": {"grace": 1}, "all": {"catch_up": "all", "grace": 1}})
    first = site.beat(ENTRIES=json.dumps(entries), OURS=ours)
    site.until(lambda: submitted(site, "all") and submitted(site, "one"), "both have run")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    last = submitted(site, "all")[0].planned_at
    site.until(lambda: datetime.now(UTC) > last + timedelta(seconds=5), "five times are missed")
    del entries["gone"]
    again = site.beat(ENTRIES=json.dumps(entries), OURS=ours)
    site.until(lambda: submitted(site, "all")[0].planned_at > last + timedelta(seconds=6), "it has caught up")
    site.stop(again)
    times = sorted(slot.planned_at for slot in submitted(site, "all"))
    assert {later - earlier for earlier, later in pairwise(times)} == {timedelta(seconds=1)}
    missed = [slot for name, slot in site.jobs.schedules.missed(name="one")]
    assert len(missed) >= 3
    assert site.jobs.schedules.get("gone").state == "retired"

    site.worker(concurrency=1)  # the messages that nobody has taken yet
    site.until(lambda: len(ran(site)) == len(submitted(site, "all")) + len(submitted(site, "one")), "all messages are taken")
    with (site.folder / "ran").open() as file:
        assert Counter(line.split()[0] for line in file) == {"all": len(times), "one": len(submitted(site, "one"))}


@pytest.mark.long
def test_a_beat_killed_around_the_sending_loses_no_time_silently_and_sends_none_twice(quick_site: Site):
    site = quick_site
    entries = json.dumps({"hourly": {"task": "note", "schedule": 3600.0, "args": ["hourly"]}})
    asked = {}
    for when in ("before", "after"):
        beat = site.beat(ENTRIES=entries)
        (site.folder / f"die-{when}").touch()
        asked[when] = site.jobs.schedules.run_now("hourly").id  # this program does not know the task
        assert beat.wait(20) == -signal.SIGKILL
    site.worker(concurrency=1)
    site.until(lambda: site.jobs.get(asked["before"]).status == "failed", "nobody has the one message", 40)
    site.until(lambda: site.jobs.get(asked["after"]).status == "completed", "Celery has the other message")
    before, after = (site.jobs.get(asked[when]) for when in ("before", "after"))
    assert "not known whether Celery has it" in site.jobs.queries.job(before.id).failure.message
    assert [str(site.job(one).id) for one in ran(site)] == [str(after.id)]
    before.retry()
    site.until(lambda: site.jobs.get(before.id).status == "completed", "a person has it sent again")


@pytest.mark.long
def test_times_wait_while_the_broker_is_away_and_are_sent_once_it_is_back(broker: str, tmp_path: Path):
    site = Site(broker, f"sqlite:///{tmp_path / 'jobs.db'}", tmp_path, app="beat_app")
    with proxy_of(broker) as proxy:
        try:
            site.worker(concurrency=1)
            beat = site.beat(BROKER=proxy.address(broker))
            site.until(lambda: len(ran(site)) >= 1, "a run")
            proxy.cut()
            before = len(ran(site))
            site.until(lambda: len(ran(site)) >= before + 2, "runs after the cut")
            proxy.refuse()
            before = len(submitted(site))
            site.until(lambda: len(submitted(site)) >= before + 3, "times go on to be planned")
            assert "celery" in {one.waiting for one in site.jobs.queries.jobs("status:pending").jobs}
            proxy.accept()
            site.until(lambda: len(ran(site)) >= before + 3, "they are sent", 30)
            site.stop(beat)
            check_each_time_ran_once(site)
        finally:
            site.close()


@pytest.mark.long
def test_without_tracking_a_job_is_complete_once_celery_has_its_message(quick_site: Site):
    site = quick_site
    beat = site.beat(TRACK="0")
    site.until(lambda: len(submitted(site)) >= 2, "two times")
    job = site.until(lambda: (found := site.jobs.get(submitted(site)[-1].job_id)).status == "completed" and found, "it is sent")
    site.stop(beat)
    assert "nobody records" in site.jobs.queries.job(job.id).note
    sent = {str(site.jobs.get(slot.job_id).result()["celery_id"]) for slot in submitted(site)}
    site.worker(concurrency=1, TRACK="0", AWAY="1")
    site.until(lambda: set(ran(site)) == sent, "each message is there once")
    assert len(ran(site)) == len(sent)


def test_a_beat_refuses_to_start_with_an_entry_that_cannot_be_converted(quick_site: Site):
    beat = quick_site.beat(ENTRIES=json.dumps({"bad": {"task": "note", "schedule": "sometimes"}}))
    assert beat.wait(20) != 0
    log = next(quick_site.folder.glob("worker-*-beat.log")).read_text()
    assert "'bad'" in log
    assert quick_site.jobs.schedules.list() == []
