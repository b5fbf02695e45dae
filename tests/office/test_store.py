"""What is written of modules: once, guarded, with its history, on both databases."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import update
from watched import NOON, Watched

from jobtrail.errors import NotFound
from jobtrail.messages import Message
from jobtrail.office import rules
from jobtrail.office.rules import ModuleLimits, ModuleStatus
from jobtrail.office.store import ModuleStore, Registration
from jobtrail.office.tables import module_status

pytestmark = pytest.mark.both_databases


def test_two_checkers_at_once_write_one_line(watched, other):
    for number in range(20):
        watched.register(f"m{number}")
    second = Watched(other)
    watched.at(300)
    second.at(300)
    together = threading.Barrier(2)

    def check(one):
        together.wait(10)
        for _ in range(3):
            one.look()

    threads = [threading.Thread(target=check, args=(one,)) for one in (watched, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [watched.moves(f"m{number}") for number in range(20)] == [["0 None>new", "300 new>warning"]] * 20
    told = sorted(subject for *_, subject, _ in watched.announced + second.announced)
    assert told == sorted(f"m{number}" for number in range(20))


def test_who_comes_second_with_what_he_read_before_writes_nothing(watched, other):
    watched.register()
    watched.beat()
    second = Watched(other).at(300)
    module = second.get()
    done = rules.by_clock(module, second.now)
    watched.at(299).beat()  # it reported in between
    assert second.store.write(lambda conn: second.modules.apply(conn, module, done, second.now)) is False
    assert watched.moves() == ["0 None>new", "0 new>ok"]
    assert second.announced == []
    assert watched.at(300).look() == []


def test_a_name_is_registered_once(watched):
    assert watched.register() is True
    assert watched.register() is False
    assert watched.moves() == ["0 None>new"]


def test_a_pause_is_written_with_who_and_why_and_announced_to_nobody(watched):
    watched.register()
    watched.beat()
    watched.at(10)
    watched.change(lambda module, now: rules.pause(module, NOON + timedelta(hours=1), now), actor="ann", reason="new disk")
    watched.at(2000).look()
    watched.beat()
    watched.at(3600).look()
    watched.at(3899).look()
    watched.at(3900).look()
    assert watched.moves() == ["0 None>new", "0 new>ok", "10 ok>paused", "3600 paused>ok", "3900 ok>warning"]
    assert watched.told() == ["3900 module.warning"]
    assert watched.history()[2][3] == "new disk"


def test_a_problem_that_was_announced_is_not_announced_again_after_a_pause_but_its_end_is(watched):
    watched.register()
    watched.at(900).look()
    watched.pause(NOON + timedelta(seconds=2000))
    watched.at(2000).look()
    watched.at(2100).beat()
    assert watched.moves()[1:] == ["900 new>error", "900 error>paused", "2000 paused>error", "2100 error>ok"]
    assert watched.told() == ["900 module.error", "2100 module.recovered"]


def test_a_recovery_during_a_pause_is_announced_at_its_end(watched):
    watched.register()
    watched.at(900).look()
    watched.pause(NOON + timedelta(seconds=2000))
    watched.at(1500).beat()
    watched.at(2000).look()
    assert watched.told() == ["900 module.error", "2000 module.recovered"]


def test_a_removed_module_alarms_no_more_and_its_problem_is_over(watched):
    watched.register()
    watched.at(900).look()
    gone = Message("office.limits-changed")
    watched.store.write(lambda conn: watched.modules.remove(conn, "parser", gone, "ann", watched.now))
    watched.at(5000).look()
    assert watched.moves() == ["0 None>new", "900 new>error", "900 error>removed"]
    assert watched.told() == ["900 module.error", "900 module.recovered"]
    with pytest.raises(NotFound):
        watched.store.write(lambda conn: watched.modules.remove(conn, "parser", gone, "ann", watched.now))


def test_changed_limits_are_announced_as_any_change(watched):
    watched.register()
    watched.beat()
    watched.at(900).look()
    watched.change(lambda module, now: rules.with_settings(module, ModuleLimits(2000, 3000), "", now))
    watched.at(2000).look()
    assert watched.moves()[2:] == ["900 ok>error", "900 error>ok", "2000 ok>warning"]
    assert watched.told() == ["900 module.error", "900 module.recovered", "2000 module.warning"]


# -- the watcher -------------------------------------------------------------------------------------------


def test_after_an_outage_nobody_is_declared_before_one_full_limit_and_the_history_says_so(watched):
    for name in ("parser", "sync"):
        watched.register(name)
        watched.beat(name)
    watched.look(watch=True)
    watched.at(5000).look(watch=True)  # suspended meanwhile
    watched.at(5010).beat("sync")
    for second in range(5020, 6100, 20):
        watched.at(second).look(watch=True)
    assert watched.moves() == ["0 None>new", "0 new>ok", "5300 ok>warning", "5900 warning>error"]
    assert watched.history()[2] == (5000, "ok", "ok", "office.not-observed")
    assert watched.moves("sync") == ["0 None>new", "0 new>ok", "5320 ok>warning", "5920 warning>error"]


def test_a_short_gap_between_looks_changes_nothing(watched):
    watched.register()
    for second in range(0, 301, 25):
        watched.at(second).look(watch=True)
    assert watched.moves() == ["0 None>new", "300 new>warning"]


def test_a_check_with_long_steps_is_no_outage(watched):
    watched.register()
    for second in range(0, 1000, 300):
        watched.at(second)
        assert watched.store.write(lambda conn: watched.modules.watch(conn, watched.now, 300, 30)) is False
        watched.look()
    assert watched.moves() == ["0 None>new", "300 new>warning", "900 warning>error"]


def test_the_safety_net_does_not_hide_that_the_close_watch_is_away(watched):
    def watch(second, cadence):
        return watched.store.write(lambda conn: watched.modules.watch(conn, watched.at(second).now, cadence, 30))

    assert [watch(0, 1), watch(10, 300), watch(35, 1)] == [False, False, True]  # 35 s without a close look
    assert [watch(36, 1), watch(100, 300), watch(101, 1)] == [False, True, False]


def test_an_activity_of_the_future_in_the_database_counts_as_now(watched):
    watched.register()
    watched.beat()
    ahead = update(module_status).values(last_activity=NOON + timedelta(hours=1))  # the clock was put back
    watched.store.write(lambda conn: conn.execute(ahead))
    watched.at(10)
    watched.store.write(lambda conn: watched.modules.correct_clock(conn, watched.now))
    watched.at(309).look()
    watched.at(310).look()
    assert watched.history()[2:] == [(10, "ok", "ok", "office.clock-ahead"), (310, "ok", "warning", "office.silent")]


def test_five_hundred_that_fail_at_once_are_all_found(watched):
    def register(conn):
        for number in range(501):
            ModuleStore().register(conn, f"m{number:03}", Registration(), NOON)

    watched.store.write(register)
    looks = [watched.at(300).store.write(lambda conn: watched.modules.look(conn, watched.now)) for _ in range(6)]
    assert [(len(one.transitions), one.more) for one in looks] == [(100, True)] * 5 + [(1, False)]
    with watched.store.read() as conn:
        assert {row.status for row in conn.execute(module_status.select())} == {ModuleStatus.WARNING}
