"""Applications with notifications on each database, moved by hand; `notified` is a store with the tables alone."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401

from jobtrail import JobTrail
from jobtrail.notify import Notify, tables
from jobtrail.store import Store
from jobtrail.testing import MovableClock, drain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def notified(url: str) -> Iterator[Store]:
    """An empty store with the tables of notifications, once on each database."""
    with closing(Store(url)) as store:
        store.write(tables.metadata.create_all)
        yield store
        store.write(tables.metadata.drop_all)


class Telling:
    """An application with notifications whose time is moved by hand; turns and jobs run when they are asked for."""

    def __init__(self, jobs: JobTrail, clock: MovableClock) -> None:
        self.jobs = jobs
        self.clock = clock
        jobs.migrate()
        jobs.notify.turn()  # what was before is not told

    def announce(self, kind: str = "module.error", subject: str = "parser", **facts: Any) -> None:
        """Announce an event now."""
        from jobtrail.notify import announce

        resolved = facts.pop("resolved", False)
        now = self.clock.now()
        self.jobs.store.write(lambda conn: announce(conn, kind, subject, facts, now, resolved=resolved))

    def turn(self, seconds: float = 0.0) -> None:
        """Move the clock, then do one turn and run the jobs that are due."""
        self.clock.move(seconds=seconds)
        self.jobs.notify.turn()
        drain(self.jobs, queues=["default"])

    def rows(self, table: Any) -> list[Any]:
        """All rows of a table, in the order of their making."""
        order = getattr(table.c, "created_at", None)
        query = select(table).order_by(*([order] if order is not None else []), *table.primary_key)
        with self.jobs.store.read() as conn:
            return list(conn.execute(query))

    @property
    def inbox(self) -> list[str]:
        """The titles in the inbox."""
        return [row.title for row in self.rows(tables.inbox)]

    @property
    def deliveries(self) -> list[tuple[str, str]]:
        """Channel and state of each delivery."""
        return [(row.channel, row.state) for row in self.rows(tables.deliveries)]


@pytest.fixture
def no_notify_tables(url: str) -> Iterator[None]:
    """Remove the tables of notifications after the test, because a database of PostgreSQL is used by many."""
    yield
    if not url.startswith("sqlite"):
        with closing(Store(url)) as store:
            store.write(lambda conn: conn.exec_driver_sql("DROP TABLE IF EXISTS notify_schema") and None)
            store.write(tables.metadata.drop_all)


@pytest.fixture
def telling(no_notify_tables: None, make_jobs: Callable[..., JobTrail]) -> Callable[..., Telling]:
    """Makes applications with notifications; arguments as for `Notify`."""
    made: list[JobTrail] = []

    def make(*, clock: MovableClock | None = None, plugins: Any = (), config: Any = None, **options: Any) -> Telling:
        clock = clock or MovableClock()
        made.append(make_jobs(clock=clock, plugins=[Notify(**options), *plugins], config=config))
        return Telling(made[-1], clock)

    return make
