"""What is counted as jobs end is what their rows say, whatever became of them, and it stays when they are removed."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from making import Maker
from sqlalchemy import delete, select, text, update

from jobtrail.database import tables
from jobtrail.database.migrations.versions import __path__ as versions
from jobtrail.job import transitions
from jobtrail.job.model import FINAL, Status, StopCause
from jobtrail.job.transitions import Subject
from jobtrail.queries.monitoring import charts
from jobtrail.store import retention
from jobtrail.store.search import search
from jobtrail.store.totals import durations, ends, folding
from jobtrail.testing import MovableClock

if TYPE_CHECKING:
    from jobtrail.store import Store

TASKS, QUEUES, SOURCES = ("load", "sync"), ("default", "slow"), (None, "weather/EWR", "weather/JFK")
HOURS = (1, 3, 24, 168, 24 * 60)
DONE = (Status.COMPLETED, Status.COMPLETED, Status.PARTIAL, Status.FAILED)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(datetime.fromisoformat("2026-03-29T00:30:17.25+00:00"))


@pytest.fixture
def make(store: Store, clock: MovableClock, monkeypatch: pytest.MonkeyPatch) -> Maker:
    monkeypatch.setattr(store.database, "clock", clock)
    return Maker(store)


def work(make: Maker, clock: MovableClock, seed: int, turns: int, longest: float = 4 * 3600) -> None:
    """Submit, run, fail, cancel, force and retry jobs for a while."""
    draw = random.Random(seed)
    for _ in range(turns):
        for _ in range(draw.randint(0, 4)):
            make.pending(draw.choice(TASKS), queue=draw.choice(QUEUES), source=draw.choice(SOURCES))
        clock.move(seconds=draw.choice((0.02, 3.0, draw.uniform(0, longest))))
        claims = make.claim(draw.randint(1, 4), queue=draw.choice(QUEUES))
        clock.move(seconds=draw.choice((0.001, 0.3, draw.uniform(0, 900))))
        for claim in claims:
            _end(make, Subject.of(make.row(claim.id)), draw, clock.now())
        _meddle(make, draw, clock.now())
        if draw.random() < 0.3:
            folding.run_once(make.store, clock.now())


def _end(make: Maker, job: Subject, draw: random.Random, now: datetime) -> None:
    if draw.random() < 0.8:
        make.apply(transitions.finished(job, now, draw.choice(DONE)))
    else:
        make.apply(transitions.stop_requested(job, now, cause=StopCause.CANCEL, actor="person:ann"))
        asked = Subject.of(make.row(job.id))
        end = transitions.stopped_by_cancel if draw.random() < 0.5 else transitions.forced
        make.apply(end(asked, now, **({"actor": "upkeep"} if end is transitions.forced else {})))


def _meddle(make: Maker, draw: random.Random, now: datetime) -> None:
    """Somebody cancels a waiting job, and somebody retries one that has ended."""
    with make.store.read() as conn:
        found = {row.id: Status(row.status) for row in conn.execute(select(tables.jobs.c.id, tables.jobs.c.status))}
    waiting = [one for one, status in found.items() if status is Status.PENDING]
    over = [one for one, status in found.items() if status in FINAL - {Status.COMPLETED}]
    if waiting and draw.random() < 0.2:
        make.apply(transitions.cancelled(Subject.of(make.row(draw.choice(waiting))), now, actor="person:ann"))
    if over and draw.random() < 0.3:
        make.apply(transitions.retried(Subject.of(make.row(draw.choice(over))), now, actor="person:ann"))


def by_rows(store: Store, since: datetime, **only: str) -> list[Any]:
    """What the rows say, without the totals."""
    jobs = tables.jobs.c
    query = select(jobs.status, jobs.created_at, jobs.run_at, jobs.started_at, jobs.finished_at).where(
        jobs.status.in_(sorted(FINAL)), jobs.finished_at >= since, *(jobs[name] == value for name, value in only.items())
    )
    with store.read() as conn:
        return list(conn.execute(query))


def filters() -> list[dict[str, str]]:
    chosen = product((None, *TASKS), (None, *QUEUES), SOURCES)
    return [
        {name: value for name, value in zip(("task", "queue", "source"), one, strict=True) if value is not None} for one in chosen
    ]


def numbers(store: Store, now: datetime) -> dict[Any, Any]:
    """All charts: by filter and hours, each point."""
    with store.read() as conn:
        return {
            (hours, *sorted(only.items())): charts.series(conn, now, hours * 3600, **only) for hours in HOURS for only in filters()
        }


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long)])
def test_every_chart_is_what_the_rows_say(store: Store, make: Maker, clock: MovableClock, seed: int) -> None:
    work(make, clock, seed, turns=25 if seed == 1 else 100)
    for (_, *only), chart in numbers(store, clock.now()).items():
        rows = by_rows(store, chart.points[0].at, **dict(only))
        for point in chart.points:
            until = point.at + timedelta(seconds=chart.step)
            here = [row for row in rows if point.at <= row.finished_at < until]
            assert point.finished == dict(sorted(Counter(row.status for row in here).items())), (only, chart.step, point.at)
            timed = [row for row in here if row.started_at is not None and row.status != "cancelled"]
            runs = sorted((row.finished_at - row.started_at).total_seconds() for row in timed)
            waits = sorted((row.started_at - max(row.created_at, row.run_at)).total_seconds() for row in timed)
            for spread, exact in ((point.run, runs), (point.wait, waits)):
                assert (spread is None) == (not exact)
                for share, value in ((0.5, spread and spread.p50), (0.95, spread and spread.p95)):
                    if exact:
                        rank = max(-(-share * len(exact) // 1), 1)
                        assert value == pytest.approx(exact[int(rank) - 1], rel=0.04, abs=2e-6)


@pytest.mark.both_databases
def test_a_bar_opens_the_jobs_that_it_counts(store: Store, make: Maker, clock: MovableClock) -> None:
    work(make, clock, 4, turns=20)
    opened = 0
    with store.read() as conn:
        for only in filters()[::3]:
            chart = charts.series(conn, clock.now(), 24 * 3600, **only)
            for point in chart.points:
                words = [f"{name}:{value}" for name, value in only.items()]
                words.append(f"ended:{point.at.isoformat()}/{(point.at + timedelta(seconds=chart.step)).isoformat()}")
                for status, number in point.finished.items():
                    found = search.find(conn, " ".join([*words, f"status:{status}"]), now=clock.now())
                    assert len(found.rows) == number
                    assert search.count(conn, " ".join([*words, f"status:{status}"]), now=clock.now()).number == number
                    opened += number
    assert opened > 5


@pytest.mark.both_databases
def test_no_chart_changes_when_counts_are_joined_or_jobs_are_removed(store: Store, make: Maker, clock: MovableClock) -> None:
    work(make, clock, 6, turns=25)
    before = numbers(store, clock.now())
    folding.run_once(store, clock.now())
    assert numbers(store, clock.now()) == before
    pruned = retention.run_once(store, retention.Retention(0, 0, 0, 0), datetime.now(clock.now().tzinfo) + timedelta(seconds=1), wait=lambda _rest: False)
    assert pruned.total > 10
    assert numbers(store, clock.now()) == before


@pytest.mark.both_databases
def test_counts_grow_old_in_longer_spans_and_lose_nothing(store: Store, make: Maker, clock: MovableClock) -> None:
    work(make, clock, 7, turns=25)
    with store.read() as conn:
        whole = sum(row.jobs for row in ends.read(conn, clock.now() - timedelta(days=60)))
    for days in (0, 1, 3, 40):
        clock.move(days=days)
        folding.run_once(store, clock.now())
    with store.read() as conn:
        spans = set(conn.execute(select(tables.end_totals.c.span)).scalars())
        assert sum(row.jobs for row in ends.read(conn, clock.now() - timedelta(days=120))) == whole > 10
    assert spans == {ends.DAY}


@pytest.mark.both_databases
def test_the_migration_counts_what_has_ended_before_it(store: Store, make: Maker, clock: MovableClock) -> None:
    now = datetime.now(clock.now().tzinfo)  # the migration asks the database
    clock.set(now - timedelta(hours=30))
    work(make, clock, 8, turns=20, longest=3600)
    by_counting = numbers(store, now)
    path = next(iter(versions))
    run = _migration(path)
    store.write(lambda conn: conn.execute(delete(tables.end_totals)))
    assert numbers(store, now) != by_counting
    store.write(lambda conn: run(conn))
    later = numbers(store, now)
    # An end at the edge of two spans may lie in the longer one: compare where steps are longer than spans.
    assert {key: one for key, one in later.items() if key[0] >= 24} == {key: one for key, one in by_counting.items() if key[0] >= 24}


def _migration(path: str) -> Any:
    import importlib.util
    from pathlib import Path
    from types import SimpleNamespace

    (file,) = Path(path).glob("*_end_totals.py")
    spec = importlib.util.spec_from_file_location("end_totals_migration", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(conn: Any) -> None:
        module.op = SimpleNamespace(
            create_table=lambda *_rest, **_more: None, create_index=lambda *_rest: None,
            get_context=lambda: SimpleNamespace(dialect=conn.dialect),
            execute=lambda sql: conn.execute(text(sql.replace(":", "\\:"))),
        )  # fmt: skip
        module.upgrade()

    return run


def test_a_class_of_durations_is_a_sixteenth_wide() -> None:
    draw = random.Random(1)
    for micros in [*range(2000), *(int(10 ** draw.uniform(0, 14)) for _ in range(2000))]:
        number = durations.class_of(micros)
        assert number >= durations.class_of(micros - 1)
        assert durations.classes([timedelta(microseconds=micros)]) == [number]
        assert durations.middle_of(number) * 1e6 == pytest.approx(micros, rel=1 / 32, abs=0.6)
    assert [durations.class_of(-50), *durations.classes([timedelta(microseconds=-50)])] == [0, 0]


def test_a_histogram_is_stored_and_read() -> None:
    histogram: dict[int, int] = {}
    durations.add_written(histogram, durations.written({3: 2, 700: 1, 5: 0}))
    durations.add_written(histogram, "3:-1")
    assert histogram == {3: 1, 700: 1}
    assert durations.percentile({}, 0.5) is None


def test_a_job_that_was_due_before_it_was_made_has_waited_since_it_was_made(store: Store, make: Maker, clock: MovableClock) -> None:
    made = make.pending()
    store.write(lambda conn: conn.execute(update(tables.jobs).values(run_at=clock.now() - timedelta(days=3))))
    clock.set(datetime.now(clock.now().tzinfo) + timedelta(minutes=2))
    (claim,) = make.claim()
    about = (claim.task, claim.queue, claim.source, claim.due_at, claim.started_at)
    job = Subject(claim.id, claim.run_no, about=about)
    assert claim.due_at is not None
    make.apply(transitions.finished(job, clock.now(), Status.COMPLETED))
    with store.read() as conn:
        (row,) = ends.read(conn, clock.now() - timedelta(hours=1))
    waits: dict[int, int] = {}
    durations.add_written(waits, row.waits)
    row_of = make.row(made)
    assert row_of.started_at is not None
    expected = (row_of.started_at - row_of.created_at).total_seconds()
    assert durations.percentile(waits, 0.5) == pytest.approx(expected, rel=0.04)
