"""The tables of notifications on each database: `notified` is an empty store that has them, without an application."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401

from jobtrail.notify import tables
from jobtrail.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def notified(url: str) -> Iterator[Store]:
    """An empty store with the tables of notifications, once on each database."""
    with closing(Store(url)) as store:
        store.write(tables.metadata.create_all)
        yield store
        store.write(tables.metadata.drop_all)
