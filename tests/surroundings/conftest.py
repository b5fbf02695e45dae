"""The fixtures of `trails`, and a pgbouncer in transaction mode in front of the server of the tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pgbouncer import start_pgbouncer
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

sys.path.insert(0, str(Path(__file__).parent))  # its helpers are imported by name


@pytest.fixture(scope="session")
def pgbouncer(postgres_server: str) -> Iterator[Callable[[str], str]]:
    """Gives the address of a database through pgbouncer."""
    with start_pgbouncer(postgres_server) as address:
        base = address.rsplit("/", 1)[0]
        yield lambda url: f"{base}/{url.rsplit('/', 1)[1]}"
