"""Real processes, real SIGKILL, real servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from brokers import amqp_base, amqp_url, broker, redis_base, redis_url  # noqa: F401 - fixtures
from services import Unavailable, fresh_database, start_postgres
from trails import *  # noqa: F403
from trails import _migrated_file, _shared_database  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Iterator

    from services import Cluster


@pytest.fixture(scope="session")
def own_server() -> Iterator[Cluster]:
    """A PostgreSQL that a test may restart, fill and torment."""
    pytest.importorskip("psycopg")
    try:
        with start_postgres(max_connections="400") as one:
            yield one
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def own_url(own_server: Cluster) -> Iterator[str]:
    """An empty database on it."""
    with fresh_database(own_server.address) as address:
        yield address
