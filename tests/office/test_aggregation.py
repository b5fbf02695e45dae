"""The figures of each hour, once and again, and what is removed after them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, func, insert, select
from watched import NOON

from jobtrail.office import aggregation
from jobtrail.office.aggregation import Change, Figure, HourSample, figures, hours_of_day, spans
from jobtrail.office.tables import metrics_hourly, module_samples, status_history

pytestmark = pytest.mark.both_databases
HOUR = timedelta(hours=1)


def after(seconds):
    return NOON + timedelta(seconds=seconds)


def by_name(found):
    return {one.measure: one.value for one in found}


# -- pure --------------------------------------------------------------------------------------------------


def test_the_day_of_the_clock_change_has_25_hours_and_another_one_23():
    autumn = hours_of_day(datetime(2026, 10, 25, 10, tzinfo=UTC), "Europe/Berlin")
    assert (len(autumn), autumn[0], autumn[-1]) == (25, datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 22, tzinfo=UTC))
    assert len(hours_of_day(datetime(2026, 3, 29, 10, tzinfo=UTC), "Europe/Berlin")) == 23
    assert len(hours_of_day(datetime(2026, 7, 1, 22, 30, tzinfo=UTC), "Europe/Berlin")) == 24
    assert hours_of_day(NOON, "UTC")[0] == NOON.replace(hour=0)


def test_times_of_each_status():
    changes = [Change(after(300), "ok", "warning"), Change(after(900), "warning", "error"), Change(after(1000), "error", "ok")]
    assert spans(NOON, after(3600), "ok", changes) == [
        (NOON, after(300), "ok"), (after(300), after(900), "warning"), (after(900), after(1000), "error"), (after(1000), after(3600), "ok"),
    ]  # fmt: skip
    assert spans(NOON, after(3600), None, []) == []
    gone = [Change(after(60), None, "new"), Change(after(120), "new", "removed"), Change(after(180), None, "new")]
    assert spans(NOON, after(240), None, gone) == [(after(60), after(120), "new"), (after(180), after(240), "new")]


def test_figures_of_an_hour():
    changes = [Change(after(300), "ok", "warning"), Change(after(900), "warning", "error"), Change(after(1000), "error", "ok"),
               Change(after(1200), "ok", "ok")]  # fmt: skip
    sample = HourSample(20, after(10), after(3000), 990, {"rows": (4, 20, 1, 9)})
    assert figures(NOON, after(3600), "ok", changes, sample) == [
        Figure("minutes.ok", round((300 + 2600) / 60, 6)),
        Figure("minutes.warning", 10),
        Figure("minutes.error", round(100 / 60, 6)),
        Figure("beats", 20),
        Figure("flips", 3),
        Figure("longest_gap", 990),
        Figure("number.rows", 5, 1, 9, 4),
    ]


def test_the_longest_gap_is_also_before_the_first_and_after_the_last_beat_and_no_longer_than_the_hour():
    assert by_name(figures(NOON, after(3600), "ok", [], None))["longest_gap"] == 3600
    assert by_name(figures(NOON, after(3600), "ok", [], HourSample(1, after(5), after(5), 0)))["longest_gap"] == 3595
    born = [Change(after(3000), None, "new")]
    assert by_name(figures(NOON, after(3600), None, born, None))["longest_gap"] == 600


# -- stored ------------------------------------------------------------------------------------------------


def stored(store, hour):
    with store.read() as conn:
        rows = conn.execute(select(metrics_hourly).where(metrics_hourly.c.hour == hour)).all()
    return {(row.module, row.measure): (row.value, row.least, row.most, row.weight) for row in rows}


def again(store, hour):
    with store.read() as conn:
        rows = aggregation.rows_of_hour(conn, hour)
    store.write(lambda conn: aggregation.write_hour(conn, store.dialect, hour, rows))


def walk(beating):
    """ok from 12:00 to 12:20, then silent until 14:10."""
    for second in range(0, 1201, 60):
        beating.beat(second, rows=second / 60)
    beating.beats.flush()
    for second in (1500, 2100, 7800):
        beating.watched.at(second).look()
    beating.beat(7800)
    beating.beats.flush()


def test_a_walk_over_three_hours(beating):
    walk(beating)
    store = beating.watched.store
    assert aggregation.aggregate(store, after(7900)) == [NOON, NOON + HOUR]
    first = stored(store, NOON)
    assert {measure: value[0] for (_, measure), value in first.items()} == {
        "minutes.ok": 25, "minutes.warning": 10, "minutes.error": 25, "beats": 21, "flips": 3, "longest_gap": 2400,
        "number.rows": 10,
    }  # fmt: skip
    assert first["parser", "number.rows"] == (10, 0, 20, 21)
    second = stored(store, NOON + HOUR)
    assert {measure: value[0] for (_, measure), value in second.items()} == {
        "minutes.error": 60, "beats": 0, "flips": 0, "longest_gap": 3600,
    }  # fmt: skip
    assert stored(store, NOON + 2 * HOUR) == {}


def test_the_same_again_has_the_same_result_and_late_beats_are_taken_along(beating):
    walk(beating)
    store = beating.watched.store
    aggregation.aggregate(store, after(7900))
    before = stored(store, NOON), stored(store, NOON + HOUR)
    assert aggregation.aggregate(store, after(7900)) == [NOON + HOUR]
    for hour in (NOON, NOON + HOUR):
        again(store, hour)
    assert (stored(store, NOON), stored(store, NOON + HOUR)) == before
    late = {"module": "parser", "hour": NOON + HOUR, "measure": "", "weight": 1, "total": 0, "first_at": after(7199), "last_at": after(7199), "gap": 0}
    store.write(lambda conn: conn.execute(insert(module_samples).values(late)))
    assert aggregation.aggregate(store, after(3 * 3600)) == [NOON + HOUR, NOON + 2 * HOUR]
    assert stored(store, NOON + HOUR)["parser", "beats"][0] == 1


def test_hours_that_were_missed_are_caught_up_also_without_history(beating):
    walk(beating)
    store = beating.watched.store
    done = aggregation.aggregate(store, NOON + timedelta(hours=30))
    assert done == [NOON + number * HOUR for number in range(30)]
    assert stored(store, NOON + 29 * HOUR)["parser", "minutes.ok"][0] == 60
    store.write(lambda conn: conn.execute(delete(status_history).where(status_history.c.recorded_at < after(7000))))
    again(store, NOON + HOUR)
    assert stored(store, NOON + HOUR)["parser", "minutes.error"][0] == 60


def test_a_removed_module_keeps_its_figures(beating):
    from jobtrail.messages import Message

    beating.beat(0)
    store = beating.watched.store
    store.write(lambda conn: beating.watched.modules.remove(conn, "parser", Message("office.paused"), None, after(600)))
    aggregation.aggregate(store, after(3600))
    found = {measure: value[0] for (_, measure), value in stored(store, NOON).items()}
    assert found == {"minutes.ok": 10, "beats": 1, "flips": 2, "longest_gap": 600}


# -- the clean-up ------------------------------------------------------------------------------------------


def history(store, number, until):
    """So many lines, a second apart, the last one before a moment."""
    rows = [
        {"recorded_at": until - timedelta(seconds=place + 1), "module": "parser", "from": "ok", "to": "ok", "reason": "x"}
        for place in range(number)
    ]
    store.write(lambda conn: conn.execute(insert(status_history), rows))


def count(store, table=status_history):
    with store.read() as conn:
        return conn.execute(select(func.count()).select_from(table)).scalar()


def clean(store, now, **options):
    rests = []

    def wait(seconds):
        rests.append(seconds)
        return False

    kept = {"history": timedelta(hours=24), "figures_kept": timedelta(days=90), "wait": wait}
    return aggregation.clean(store, now, **{**kept, **options}), rests


def test_what_is_older_goes_in_chunks_after_its_figures_were_written(beating):
    store = beating.watched.store
    history(store, 250, NOON)
    history(store, 30, NOON + timedelta(hours=20))
    removed, rests = clean(store, NOON + timedelta(hours=24), chunk=100)
    assert removed == 250
    assert len([one for one in rests if one > 0]) == 2
    assert count(store) == 30
    assert stored(store, NOON - HOUR)["parser", "flips"][0] == 0
    assert clean(store, NOON + timedelta(hours=24))[0] == 0


def test_exactly_at_the_edge_it_stays(beating):
    store = beating.watched.store
    history(store, 2, NOON + timedelta(seconds=1))
    assert clean(store, NOON + timedelta(hours=24))[0] == 1


def test_many_at_the_same_moment_are_no_bigger_chunk(beating):
    store = beating.watched.store
    rows = [{"recorded_at": NOON, "module": f"m{place}", "from": "ok", "to": "ok"} for place in range(250)]
    store.write(lambda conn: conn.execute(insert(status_history), rows))
    removed, rests = clean(store, NOON + timedelta(hours=25), chunk=100)
    assert (removed, len([one for one in rests if one > 0])) == (250, 2)


def test_sums_and_figures_go_when_they_are_old(beating):
    beating.beat(0, rows=1)
    store = beating.watched.store
    now = NOON + timedelta(days=3)
    removed, _ = clean(store, now)
    assert removed == 2 + 2  # history, sums
    assert count(store, module_samples) == 0
    before = count(store, metrics_hourly)
    assert before > 0
    removed, _ = clean(store, now, figures_kept=timedelta(days=1))
    assert 0 < removed < before


def test_a_pass_ends_when_it_is_asked_to(beating):
    store = beating.watched.store
    history(store, 250, NOON)
    kept = {"history": timedelta(hours=24), "figures_kept": timedelta(days=90)}
    removed = aggregation.clean(store, NOON + timedelta(hours=24), chunk=100, wait=lambda _: True, **kept)
    assert (removed, count(store)) == (100, 150)
