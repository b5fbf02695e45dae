"""Databases with the tables of the core and of Office, once of each kind, and modules on a movable clock."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401
from watched import Beating, Watched

from jobtrail.office.tables import office_metadata
from jobtrail.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def office_url(url: str) -> Iterator[str]:
    """A database with the tables of Office and no rows; they are dropped after the test."""
    with closing(Store(url)) as store:
        store.write(office_metadata.create_all)
        yield url
        store.write(office_metadata.drop_all)


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
