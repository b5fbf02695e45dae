"""The check and the clean-up as SQL do what the loop and the task do, on both databases."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select
from watched import NOON, Watched

from jobtrail.office import rules, sql
from jobtrail.office.rules import ModuleLimits
from jobtrail.office.tables import module_status, office_watch, status_history

pytestmark = pytest.mark.both_databases
LEFT_OUT = {"version"}


class BySql:
    """Looks by the SQL text, at the time of `watched`."""

    def __init__(self, watched: Watched) -> None:
        self.watched, self.dialect = watched, watched.store.dialect

    def run(self, text: str) -> None:
        if self.dialect.name == "sqlite":
            conn = sqlite3.connect(self.watched.store.database.url.database, isolation_level=None)
            conn.executescript(text)
            conn.close()
            return
        with self.watched.store.database.own_connection() as conn:
            conn.exec_driver_sql(text.replace("%", "%%"))

    @property
    def now(self) -> str:
        if self.dialect.name == "sqlite":
            return str(self.dialect.moment(self.watched.now))
        return f"'{self.watched.now.isoformat()}'::timestamptz"

    def look(self, every: float = 5.0) -> None:
        self.run(sql.check(self.dialect.name, every=every, tolerance=30, now=self.now, notifies=False))

    def clean(self) -> None:
        self.run(sql.clean(self.dialect.name, hours=24, now=self.now))


def rows(store, table, *order):
    with store.read() as conn:
        found = conn.execute(select(table).order_by(*order)).mappings().all()
    return [{name: value for name, value in row.items() if name not in LEFT_OUT} for row in found]


def state(watched):
    history = [{name: value for name, value in row.items() if name != "id"} for row in rows(watched.store, status_history, status_history.c.module, status_history.c.id)]
    return rows(watched.store, module_status, module_status.c.module), history, rows(watched.store, office_watch, office_watch.c.name)


def script(watched, look, at):
    """What happens at some second, in the order of the time: beats, pauses, limits; looks in between."""
    def pause(name, seconds):
        return lambda: watched.pause(NOON + timedelta(seconds=seconds), name)

    watched.limits(warn_after=30, error_after=90.5)
    happens = {
        0: [*(lambda name=name: watched.register(name) for name in ("never", "once", "often", "late", "rests", "sick", "ill", "quiet"))],
        1: [*(lambda name=name: watched.beat(name) for name in ("once", "often", "late", "rests", "quiet"))],
        5: [pause("rests", 200), lambda: watched.beat("sick", "warning"), lambda: watched.beat("ill", "error")],
        6: [lambda: watched.change(lambda one, now: rules.with_settings(one, ModuleLimits(30, 90.5), "12:00-13:00", now), "quiet")],
        25: [lambda: watched.beat("often")], 50: [lambda: watched.beat("often")], 60: [lambda: watched.beat("late")],
        100: [lambda: watched.beat("rests")], 140: [pause("once", 160)], 170: [lambda: watched.beat("never")],
    }  # fmt: skip
    for second in [*range(0, 301, 5), *range(1000, 1201, 5)]:  # between them nobody looks
        watched.at(second)
        look()
        for one in happens.get(second, ()):
            one()
        for early, what in happens.items():
            if second < early < second + 5:
                watched.at(early)
                for one in what:
                    one()


def test_the_sql_makes_the_same_transitions_as_the_loop(watched, store, office_url):
    by_sql = BySql(watched)
    script(watched, by_sql.look, 5)
    found = state(watched)
    assert {line["module"] for line in found[1] if line["to"] == "error"} >= {"never", "once", "late", "ill"}
    assert any(line["reason"].startswith("@office.not-observed") for line in found[1])
    for table in (module_status, status_history, office_watch):
        store.write(lambda conn, table=table: conn.execute(table.delete()))

    def look():
        def turn(conn):
            watched.modules.watch(conn, watched.now, 5.0, 30.0)
            watched.modules.look(conn, watched.now)

        store.write(turn)

    watched.at(0)
    script(watched, look, 5)
    expected = state(watched)
    for mine, other in zip(found, expected, strict=True):
        for one in [*mine, *other]:
            one.pop("due_at", None)  # either may look too early
        assert mine == other


def test_two_that_check_at_once_write_one_line(watched):
    import threading

    for number in range(5):
        watched.register(f"m{number}")
    watched.at(300)
    by_sql = BySql(watched)
    threads = [threading.Thread(target=by_sql.look) for _ in range(4)] + [threading.Thread(target=watched.look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for number in range(5):
        assert watched.moves(f"m{number}") == ["0 None>new", "300 new>warning"]


def test_the_sql_removes_what_the_task_removes(watched):
    lines = [
        {"recorded_at": NOON - timedelta(hours=hours, seconds=place), "module": "m", "from": "ok", "to": "ok"}
        for hours in (1, 24, 30)
        for place in range(1, 6)
    ]
    watched.store.write(lambda conn: conn.execute(insert(status_history), lines))
    BySql(watched).clean()
    with watched.store.read() as conn:
        assert conn.execute(select(func.count()).select_from(status_history)).scalar() == 5


def test_the_sql_spares_what_has_no_figures_yet(watched):
    line = {"recorded_at": NOON - timedelta(hours=30), "module": "m", "from": "ok", "to": "ok"}
    late = {"name": "hours", "looked_at": NOON, "look_by": NOON, "cadence": 0, "aggregated_until": NOON - timedelta(hours=40)}
    watched.store.write(lambda conn: conn.execute(insert(status_history).values(line)))
    watched.store.write(lambda conn: conn.execute(insert(office_watch).values(late)))
    BySql(watched).clean()
    assert len(rows(watched.store, status_history)) == 1
