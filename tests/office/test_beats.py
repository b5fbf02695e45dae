"""Beats are collected, written at once where that matters, and never lost without a word."""

from __future__ import annotations

import os
import threading
from contextlib import closing

import pytest
from sqlalchemy import event, select
from watched import NOON, Beating, Watched

from jobtrail.errors import StoreUnavailable
from jobtrail.messages import Message
from jobtrail.office import rules
from jobtrail.office.beats import ModuleBeats
from jobtrail.office.rules import ModuleBeat, ModuleLimits, UnknownModule
from jobtrail.office.store import Registration
from jobtrail.office.tables import module_status


def test_the_first_beat_registers_and_is_written_at_once_the_next_are_collected(beating):
    assert beating.beat(0).stored
    assert not beating.beat(1).stored
    assert beating.row().beats == 1
    assert not beating.beat(2, message="5 files", rows=120).stored
    assert beating.beats.flush() == 1
    row = beating.row()
    assert (row.beats, row.message, row.metrics) == (3, "5 files", '{"rows":120}')
    assert row.last_activity == beating.watched.now
    assert [(one - NOON).total_seconds() for one in (row.warn_at, row.error_at)] == [302, 902]
    assert beating.beats.flush() == 0


@pytest.mark.both_databases
def test_a_turn_of_five_hundred_modules_is_two_statements(beating):
    for number in range(500):
        beating.beat(0, f"m{number}")
    for number in range(500):
        beating.beat(1, f"m{number}")
    seen = []
    listen = lambda conn, cursor, statement, *_: seen.append(statement.split()[0])
    event.listen(beating.watched.store.database.engine, "before_cursor_execute", listen)
    assert beating.beats.flush() == 500
    assert [word for word in seen if word in {"UPDATE", "INSERT"}] == ["UPDATE", "INSERT"]
    with beating.watched.store.read() as conn:
        assert {row.beats for row in conn.execute(module_status.select())} == {2}


def test_a_beat_of_a_module_in_trouble_is_written_at_once(beating):
    beating.beat(0)
    beating.beats.forget([done.module.name for done in beating.watched.at(900).look()])
    answer = beating.beat(901)
    assert (answer.stored, answer.status) == (True, "ok")
    assert beating.watched.told() == ["900 module.error", "901 module.recovered"]


def test_trouble_that_another_process_found_is_seen_at_the_next_turn(beating, other):
    beating.beat(0)
    Watched(other).at(900).look()
    assert not beating.beat(901).stored
    beating.beats.flush()
    assert beating.watched.moves()[2:] == ["900 ok>error", "901 error>ok"]
    assert beating.row().beats == 2


def test_collected_beats_count_for_a_recovery_that_needs_several(beating, other):
    beating.watched.limits(recovery_beats=3)
    beating.beat(0)
    Watched(other).at(900).look()
    for second in (900.2, 900.4, 900.6):
        beating.beat(second)
    beating.beats.flush()
    assert beating.watched.status() == "ok"
    assert beating.row().beats == 4


def test_a_report_about_itself_is_written_at_once_and_holds(beating):
    beating.beat(0)
    beating.beat(1)
    assert beating.beat(2, status="warning", message="disk nearly full").stored
    assert beating.beat(3).status == "warning"
    assert beating.beat(4, status="ok").status == "ok"
    beating.beats.flush()
    assert beating.watched.moves() == ["0 None>new", "0 new>ok", "2 ok>warning", "4 warning>ok"]
    assert beating.row().message is None
    assert beating.row().beats == 5


def test_a_pause_holds_against_collected_beats(beating):
    beating.beat(0)
    beating.beat(1)
    beating.watched.pause()
    beating.beats.flush()
    assert beating.beat(2).status == "paused"
    row = beating.row()
    assert (row.status, row.beats, row.last_activity) == ("paused", 3, beating.watched.now)


def test_changed_limits_hold_for_the_next_turn(beating):
    beating.beat(0)
    beating.beat(1)
    beating.watched.change(lambda module, now: rules.with_settings(module, ModuleLimits(10, 20), "", now))
    beating.beats.flush()
    assert (beating.row().warn_at - NOON).total_seconds() == 11
    beating.beat(2)
    beating.beats.flush()
    assert (beating.row().warn_at - NOON).total_seconds() == 12


def test_two_processes_add_up(beating, other):
    second = Beating(Watched(other))
    for second_of_test in range(5):
        beating.beat(second_of_test, rows=1)
        second.beat(second_of_test + 0.5, rows=3)
    beating.beats.flush()
    second.beats.flush()
    row, samples = beating.row(), beating.samples()
    assert (row.beats, (row.last_activity - NOON).total_seconds()) == (10, 4.5)
    assert (samples[""].weight, samples[""].gap) == (10, 1.0)
    rows = samples["rows"]
    assert (rows.weight, rows.total, rows.least, rows.most) == (10, 20, 1, 3)


def test_the_longest_gap_and_the_numbers_of_an_hour(beating):
    for second, count in ((0, 5), (10, 7), (70, 1), (80, 2)):
        beating.beat(second, rows=count)
        if second in {10, 80}:
            beating.beats.flush()
    samples = beating.samples()
    assert (samples[""].gap, samples[""].weight) == (60, 4)
    assert (samples["rows"].total, samples["rows"].least, samples["rows"].most) == (15, 1, 7)


def test_what_cannot_be_written_is_kept_and_who_beats_is_told(beating, monkeypatch):
    beating.beat(0)
    beating.beat(1)

    def away(*_, **__):
        raise StoreUnavailable(Message("office.no-module", name="x"))

    with monkeypatch.context() as patched:
        patched.setattr(beating.watched.store.writer, "_write", away)
        with pytest.raises(StoreUnavailable):
            beating.beats.flush()
        with pytest.raises(StoreUnavailable):
            beating.beat(2)
        with pytest.raises(StoreUnavailable):
            beating.beats.flush()
        with pytest.raises(StoreUnavailable):
            beating.beat(3, "other")  # never known here: written at once, and not kept
    beating.beats.flush()
    assert beating.row().beats == 3
    assert not beating.beat(4).stored


def test_a_removed_module_comes_back_only_if_it_may(beating):
    for name in ("parser", "sync"):
        beating.beat(0, name)
        beating.beat(1, name)
        beating.watched.store.write(
            lambda conn, name=name: beating.watched.modules.remove(conn, name, Message("office.paused"), None, beating.watched.now)
        )
    beating.refused.add("sync")
    beating.beats.flush()
    assert beating.watched.moves()[-2:] == ["1 None>new", "1 new>ok"]
    assert beating.watched.moves("sync")[-1] == "1 ok>removed"
    with pytest.raises(UnknownModule):
        beating.beat(2, "sync")


def test_a_text_that_no_database_takes_is_spelled_out(beating):
    beating.beat(0, message="a\x00b")
    beating.beat(1, message="c\ud800")
    beating.beats.flush()
    assert beating.row().message == "c\\ud800"


def test_the_thread_writes_by_itself_and_a_child_does_not_write_what_its_parent_collected(watched):
    with closing(ModuleBeats(watched.store, watched.modules, lambda _: Registration())) as beats:
        beats.beat("parser", ModuleBeat(watched.store.now()))
        beats.beat("parser", ModuleBeat(watched.store.now()))
        done = threading.Event()
        for _ in range(500):
            with watched.store.read() as conn:
                if conn.execute(select(module_status.c.beats)).scalar() == 2:
                    break
            done.wait(0.02)
        else:
            pytest.fail("the thread has not written")
        beats.beat("parser", ModuleBeat(watched.store.now()))
        beats._pid = os.getpid() + 1  # as a child finds it
        beats.beat("parser", ModuleBeat(watched.store.now()))
        assert beats._pending == {}
