"""The movable clock walks one module through ok, warning, error and back, with each pattern of beats, against lists by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sqlalchemy import select
from watched import NOON

from jobtrail.office import aggregation
from jobtrail.office.samples import HOUR
from jobtrail.office.tables import metrics_hourly


@dataclass
class Pattern:
    """Beats at these seconds, and all that follows: changes, announcements, and the figures of the hour, which ends as the walk does."""

    beats: list[float]
    moves: list[str]
    told: list[str]
    figures: dict[str, float]
    until: float = 1300
    recovery: int = 1


PATTERNS = {
    "one beat, then silence, then one": Pattern(
        [0, 1200],
        ["0 None>new", "0 new>ok", "300 ok>warning", "900 warning>error", "1200 error>ok"],
        ["300 module.warning", "900 module.error", "1200 module.recovered"],
        {"minutes.ok": 45, "minutes.warning": 10, "minutes.error": 5, "beats": 2, "flips": 4, "longest_gap": 2400},
    ),
    "every twenty seconds": Pattern(list(range(0, 1301, 20)), ["0 None>new", "0 new>ok"], [],
        {"minutes.ok": 60, "beats": 66, "flips": 1, "longest_gap": 2300},
    ),
    "just before the limit": Pattern(
        [0, 299.999, 599.998, 899.997, 1199.996], ["0 None>new", "0 new>ok"], [],
        {"minutes.ok": 60, "beats": 5, "flips": 1, "longest_gap": 2400.004},
    ),
    "exactly at the limit the look comes first": Pattern(
        [0, 300, 600],
        ["0 None>new", "0 new>ok", "300 ok>warning", "300 warning>ok", "600 ok>warning", "600 warning>ok", "900 ok>warning"],
        ["300 module.warning", "300 module.recovered", "600 module.warning", "600 module.recovered", "900 module.warning"],
        {"minutes.ok": 15, "minutes.warning": 45, "beats": 3, "flips": 6, "longest_gap": 3000},
    ),
    "never": Pattern(
        [],
        ["0 None>new", "300 new>warning", "900 warning>error"],
        ["300 module.warning", "900 module.error"],
        {"minutes.new": 5, "minutes.warning": 10, "minutes.error": 45, "beats": 0, "flips": 2, "longest_gap": 3600},
    ),
    "late for the first time": Pattern(
        [400, 600],
        ["0 None>new", "300 new>warning", "400 warning>ok", "900 ok>warning"],
        ["300 module.warning", "400 module.recovered", "900 module.warning"],
        {"minutes.new": 5, "minutes.ok": 8.333333, "minutes.warning": 46.666667, "beats": 2, "flips": 3, "longest_gap": 3000},
    ),
    "recovered from a warning": Pattern(
        [0, 500, 700, 900, 1100],
        ["0 None>new", "0 new>ok", "300 ok>warning", "500 warning>ok"],
        ["300 module.warning", "500 module.recovered"],
        {"minutes.ok": 56.666667, "minutes.warning": 3.333333, "beats": 5, "flips": 3, "longest_gap": 2500},
    ),
    "three beats bring it back": Pattern(
        [0, 1000, 1010, 1020],
        ["0 None>new", "0 new>ok", "300 ok>warning", "900 warning>error", "1020 error>ok"],
        ["300 module.warning", "900 module.error", "1020 module.recovered"],
        {"minutes.ok": 48, "minutes.warning": 10, "minutes.error": 2, "beats": 4, "flips": 4, "longest_gap": 2580}, recovery=3,
    ),
    "two of three, then silence again": Pattern(
        [0, 1000, 1010],
        ["0 None>new", "0 new>ok", "300 ok>warning", "900 warning>error"],
        ["300 module.warning", "900 module.error"],
        {"minutes.ok": 5, "minutes.warning": 10, "minutes.error": 45, "beats": 3, "flips": 3, "longest_gap": 2590}, until=3000, recovery=3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_a_walk(name, watched, beating):
    pattern = PATTERNS[name]
    watched.limits(recovery_beats=pattern.recovery).register()
    beats = list(pattern.beats)
    for second in range(int(pattern.until) + 1):
        while beats and beats[0] < second:
            beating.beat(beats.pop(0), wait=True)
        watched.at(second)
        if second % 50 == 0 or (beats and beats[0] == second) or second in {299, 301, 899, 901}:
            watched.look()
        while beats and beats[0] == second:
            beating.beat(beats.pop(0), wait=True)
    assert watched.moves() == pattern.moves
    assert watched.told() == pattern.told
    aggregation.aggregate(watched.store, NOON + HOUR)
    with watched.store.read() as conn:
        rows = conn.execute(select(metrics_hourly).where(metrics_hourly.c.hour == NOON)).all()
    assert {row.measure: row.value for row in rows} == pattern.figures


def test_a_look_that_comes_late_goes_straight_to_error(watched):
    watched.register()
    watched.beat()
    watched.at(1000).look()
    assert watched.moves() == ["0 None>new", "0 new>ok", "1000 ok>error"]
    assert watched.told() == ["1000 module.error"]


def test_reasons_and_facts_say_what_happened(watched):
    watched.register()
    watched.beat(message="5 files")
    watched.at(300).look()
    watched.at(900).look()
    watched.at(950).beat()
    assert [code for *_, code in watched.history()] == [
        "office.registered", "office.first-report", "office.silent", "office.silent", "office.reports-again",
    ]  # fmt: skip
    warning, error, recovered = (facts for *_, facts in watched.announced)
    assert (warning["from"], warning["to"], warning["worst"], warning["silent_seconds"]) == ("ok", "warning", "warning", 300)
    assert (error["from"], error["to"], error["worst"], error["problem_seconds"]) == ("warning", "error", "error", 600)
    assert (recovered["from"], recovered["to"], recovered["worst"], recovered["problem_seconds"]) == ("error", "ok", "error", 50)
    assert error["reason"] == '@office.silent {"limit":900}'


def test_due_times_are_stored_exactly_and_the_index_is_never_late(watched):
    from jobtrail.office.tables import module_status

    watched.register()
    for second in (0, 100, 200):
        watched.at(second).beat()
    with watched.store.read() as conn:
        row = conn.execute(module_status.select()).one()
    assert [(one - watched.at(0).now).total_seconds() for one in (row.warn_at, row.error_at)] == [500, 1100]
    assert row.due_at <= row.warn_at
    assert watched.at(450).look() == []
    assert [done.module.status for done in watched.at(500).look()] == ["warning"]
