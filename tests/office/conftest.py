"""Databases with the tables of the core and of Office, once of each kind, and modules on a movable clock."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401
from watched import NOON, Beating, Watched

from jobtrail import JobTrail
from jobtrail.office import Office
from jobtrail.store import Store
from jobtrail.testing import MovableClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def office_url(url: str) -> str:
    """A database with the tables of Office and no rows."""
    with closing(JobTrail(url, plugins=[Office()])) as jobs:
        jobs.migrate()
    return url


@pytest.fixture
def make_office(office_url: str) -> Iterator[Callable[..., JobTrail]]:
    """Makes applications with Office over the same database; options as for `Office`, or ``clock``."""
    made: list[JobTrail] = []

    def make(*, clock: Any = None, **options: Any) -> JobTrail:
        made.append(JobTrail(office_url, plugins=[Office(**options)], clock=clock, poll_interval=0.1))
        made[-1].office.beats._background = False
        return made[-1]

    yield make
    for one in made:
        one.office.close()
        one.close()


@pytest.fixture
def clock() -> MovableClock:
    """A clock that is moved by hand, at noon."""
    return MovableClock(NOON)


@pytest.fixture
def jobs(make_office: Callable[..., JobTrail], clock: MovableClock) -> JobTrail:
    """An application with Office on the movable clock."""
    return make_office(clock=clock)


@pytest.fixture
def store(office_url: str) -> Iterator[Store]:
    """An empty store, once on each database."""
    with closing(Store(office_url)) as one:
        yield one


@pytest.fixture
def other(office_url: str) -> Iterator[Store]:
    """Another process's view of the same store."""
    with closing(Store(office_url)) as one:
        yield one


@pytest.fixture
def watched(store: Store) -> Watched:
    """Modules in the store, judged and reporting on a clock that is moved by hand."""
    return Watched(store)


@pytest.fixture
def beating(watched: Watched) -> Beating:
    """The beats of one process, on the clock of `watched`."""
    return Beating(watched)
