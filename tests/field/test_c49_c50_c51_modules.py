"""C-49: a module that comes and goes. C-50: never reported, and who watches the watcher. C-51: two hundred at the same moment."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from jobtrail import InvalidOption, JobTrail
from jobtrail.errors import StoreUnavailable
from jobtrail.notify import tables as notify_tables
from jobtrail.office import Office
from jobtrail.office.rules import UnknownModule
from jobtrail.testing import MovableClock, drain

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class Monitor:
    """One process that watches on a movable clock: warning after 30 s, error after 60 s of silence."""

    def __init__(self, url, clock, **options):
        self.clock = clock
        self.jobs = JobTrail(url, plugins=[Office(**{"warn_after": 30, "error_after": 60, **options})], clock=clock)
        self.jobs.migrate()
        self.jobs.office.beats._background = False

    def pass_to(self, seconds, step=5):
        """Let the time pass, with a look every few seconds."""
        end = NOON + timedelta(seconds=seconds)
        while self.clock.now() < end:
            self.clock.set(min(self.clock.now() + timedelta(seconds=step), end))
            self.jobs.office.turn()

    def beat(self, name="parser", **said):
        self.jobs.office.beat(name, wait=True, **said)

    def moves(self, name="parser"):
        """ "90 warning>error" for each change, oldest first."""
        return [
            f"{(line.at - NOON).total_seconds():g} {line.was}>{line.to}"
            for line in reversed(self.jobs.office.history(name, limit=1000))
            if line.was != line.to
        ]

    def told(self, name="parser"):
        with self.jobs.store.read() as conn:
            table = notify_tables.events
            rows = conn.execute(select(table.c.at, table.c.kind).where(table.c.subject == name).order_by(table.c.id)).all()
        return [f"{(row.at - NOON).total_seconds():g} {row.kind}" for row in rows]

    def status(self, name="parser"):
        return self.jobs.office.get(name).module.status


@pytest.fixture
def clock():
    return MovableClock(NOON)


@pytest.fixture
def start(url, clock):
    """Starts a monitor over the same database."""
    made = []

    def one(**options):
        made.append(Monitor(url, clock, **options))
        return made[-1]

    yield one
    for each in made:
        each.jobs.office.close()
        each.jobs.close()


# -- C-49 --------------------------------------------------------------------------------------------------


def test_c49_each_change_is_told_and_a_recovery_only_after_a_problem_and_always_then(start):
    """C-49 (1), (2), (3): gaps of 35 s and 65 s; the announcements are the changes, one to one."""
    monitor = start()
    monitor.beat()
    for at in (35, 100, 135, 200):
        monitor.pass_to(at)
        monitor.beat()
    monitor.pass_to(229)
    changes = [
        "30 ok>warning", "35 warning>ok", "65 ok>warning", "95 warning>error", "100 error>ok",
        "130 ok>warning", "135 warning>ok", "165 ok>warning", "195 warning>error", "200 error>ok",
    ]  # fmt: skip
    assert monitor.moves() == ["0 None>new", "0 new>ok", *changes]
    kinds = {"ok>warning": "warning", "warning>error": "error", "warning>ok": "recovered", "error>ok": "recovered"}
    assert monitor.told() == [f"{line.split()[0]} module.{kinds[line.split()[1]]}" for line in changes]


def test_c49_flapping_for_an_hour_sends_a_bounded_number_of_messages_and_says_once_that_it_flaps(start):
    """C-49 (1): 36 errors in an hour are no 72 messages."""
    monitor = start()
    monitor.beat()
    at = 0
    while at < 3600:
        for gap in (35, 65):
            at += gap
            monitor.pass_to(at, step=20)
            monitor.beat()
        monitor.jobs.notify.turn()
    drain(monitor.jobs)
    assert len([line for line in monitor.told() if line.endswith("module.error")]) == 36
    with monitor.jobs.store.read() as conn:
        messages = conn.execute(select(notify_tables.inbox)).all()
    assert 1 <= len(messages) <= 60
    assert [line for line in monitor.told() if line.endswith("module.flapping")] == ["275 module.flapping"]


def test_c49_a_muted_module_stays_muted_until_its_end_whatever_comes(start, clock):
    """C-49 (4): beats, failures and other settings do not end it; what it reported is known afterwards."""
    monitor = start()
    monitor.beat()
    monitor.jobs.office.pause("parser", until=NOON + timedelta(seconds=1000), reason="new disk", actor="ann")
    monitor.pass_to(300)
    monitor.beat(status="error", message="no disk")
    other = start(warn_after=20, error_after=40)
    other.pass_to(995)
    assert other.status() == "paused"
    assert other.told() == []
    assert other.jobs.office.get("parser").module.message == "no disk"
    other.pass_to(1000)
    assert other.moves()[2:] == ["0 ok>paused", "1000 paused>error"]
    assert other.told() == ["1000 module.error"]


def test_c49_limits_changed_in_error_are_judged_at_once_and_wrong_ones_refused(start):
    """C-49 (5), (6)."""
    monitor = start()
    monitor.beat()
    monitor.pass_to(60)
    monitor.jobs.office.set_limits("parser", warn_after=100, error_after=200)
    assert monitor.moves()[-1] == "60 error>ok"
    assert monitor.told()[-1] == "60 module.recovered"
    for wrong in ({"warn_after": 200}, {"warn_after": 300}, {"error_after": 100}):
        with pytest.raises(InvalidOption):
            monitor.jobs.office.set_limits("parser", **wrong)
    with pytest.raises(InvalidOption):
        Office(warn_after=60, error_after=60)
    monitor.pass_to(100)
    assert monitor.moves()[-1] == "100 ok>warning"


def test_c49_the_time_in_which_the_monitor_was_blind_raises_no_alarm_and_is_marked(start, clock):
    """C-49 (7): the monitor was paused for five minutes."""
    monitor = start()
    monitor.beat()
    monitor.pass_to(10)
    clock.move(seconds=300)
    monitor.jobs.office.turn()
    assert monitor.status() == "ok"
    newest = monitor.jobs.office.history("parser", limit=1)[0]
    assert (newest.was, newest.to) == ("ok", "ok")
    assert newest.reason.startswith("not observed from 2026-03-02 12:00 UTC to 2026-03-02 12:05 UTC")
    monitor.pass_to(335)
    assert monitor.told() == []
    monitor.pass_to(370)
    assert monitor.moves()[2:] == ["340 ok>warning", "370 warning>error"]


# -- C-50 --------------------------------------------------------------------------------------------------


def states(monitor):
    return {one.module: one.status for one in monitor.jobs.office.all().modules}


def test_c50_declared_modules_at_0_30_60_and_120_seconds(start):
    """C-50: M1 never reports, M2 is misspelt, M3 reports from the future and dies, M4 leaves the configuration."""
    monitor = start(modules=["M1", "M2", "M3", "M4"])
    monitor.jobs.office.turn()
    with pytest.raises(UnknownModule, match="'M22'; the modules are: M1, M2, M3, M4"):
        monitor.beat("M22")
    monitor.beat("M3", at=NOON + timedelta(hours=1))
    assert states(monitor) == {"M1": "new", "M2": "new", "M3": "ok", "M4": "new"}
    monitor.pass_to(30)
    assert states(monitor) == {"M1": "warning", "M2": "warning", "M3": "warning", "M4": "warning"}
    monitor.pass_to(55)
    later = start(modules=["M1", "M2", "M3"])  # a new version is deployed
    later.jobs.office.turn()
    later.pass_to(60)
    assert states(later) == {"M1": "error", "M2": "error", "M3": "error"}
    later.pass_to(120)
    assert later.moves("M4") == ["0 None>new", "30 new>warning", "55 warning>removed"]
    assert later.told("M4") == ["30 module.warning", "55 module.recovered"]
    assert later.jobs.office.get("M3").module.ahead == 3600


def test_c50_a_restart_of_the_monitor_lets_the_elapsed_silence_count(start, clock):
    """C-50: after a restart within the tolerance; after a longer one nobody is declared before one full limit."""
    first = start()
    first.beat()
    first.pass_to(20)
    clock.move(seconds=20)  # killed, and started again
    second = start()
    second.jobs.office.turn()
    assert second.moves()[2:] == ["40 ok>warning"]


def test_c50_a_beat_that_was_not_stored_tells_its_caller(start, monkeypatch):
    """C-50: the store is read-only for a while."""
    monitor = start()
    monitor.beat()
    monitor.jobs.office.beat("parser")

    def away(*_, **__):
        raise StoreUnavailable("the database is read-only")

    with monkeypatch.context() as patched:
        patched.setattr(monitor.jobs.store.writer, "_write", away)
        with pytest.raises(StoreUnavailable):
            monitor.jobs.office.flush()
        with pytest.raises(StoreUnavailable):
            monitor.jobs.office.beat("parser")
        with pytest.raises(StoreUnavailable):
            monitor.beat()
    monitor.jobs.office.flush()
    assert monitor.jobs.office.get("parser").module.beats == 3  # the two that were collected were not lost


def test_c50_the_watcher_shows_when_it_last_looked(start, clock):
    """C-50: its death can be noticed from outside."""
    monitor = start()
    assert monitor.jobs.office.all().watched_at is None
    monitor.pass_to(20)
    assert monitor.jobs.office.all().watched_at == clock.now()
    clock.move(seconds=600)
    assert (clock.now() - monitor.jobs.office.all().watched_at).total_seconds() == 600


# -- C-51 --------------------------------------------------------------------------------------------------


def test_c51_two_hundred_that_fail_at_once_are_one_message_and_not_lost_by_a_restart(start, clock, url):
    """C-51: the alerts are stored with the changes; another process tells them, in one message."""
    monitor = start()
    for number in range(200):
        monitor.beat(f"m{number:03}")
    monitor.pass_to(60, step=10)
    monitor.jobs.close()  # before anything was told
    with closing(Monitor(url, clock).jobs) as later:
        for _ in range(4):
            later.notify.turn()
            clock.move(minutes=2)
        drain(later)
        with later.store.read() as conn:
            messages = conn.execute(select(notify_tables.inbox)).all()
    assert len(messages) == 1
    assert "200" in messages[0].title + messages[0].body
