"""The chaos list in its short form: two workers, a few seconds for each case. The whole: `make faults`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import chaos
import pytest
from fleet import fleet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fleet import Fleet
    from services import Cluster

pytestmark = pytest.mark.timeout(240)


def short(one: Fleet, cases: dict[str, Callable[..., None]], server: Cluster | None) -> None:
    """One kill alone is left to the long form: here several follow one another."""
    cases = {name: fault for name, fault in cases.items() if fault is not chaos.worker_killed}
    for row in chaos.run(one, chaos.SHORT, cases, server):
        print(row)
        assert row.balance.lost == 0, row
        assert row.balance.overstarted == 0, row


@pytest.mark.long
def test_on_postgresql(own_url: str, own_server: Cluster, tmp_path: Path) -> None:
    with fleet(own_url, tmp_path) as one:
        short(one, chaos.ON_POSTGRES, own_server)


@pytest.mark.long
def test_on_sqlite(sqlite_url: str, tmp_path: Path) -> None:
    with fleet(sqlite_url, tmp_path) as one:
        short(one, chaos.ON_SQLITE, None)
