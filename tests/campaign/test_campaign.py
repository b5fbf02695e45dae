"""A seeded random campaign over a real deployment; afterwards every table must be as it should be."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from campaign import SECONDS, SHORT, WHOLE, chosen_seed, run
from services import Unavailable, skip_or_fail

if TYPE_CHECKING:
    from pathlib import Path

    from campaign import Plan


def hold(kind: str, plan: Plan, folder: Path) -> None:
    try:
        result = run(kind, plan, chosen_seed(), folder)
    except Unavailable as error:
        skip_or_fail(str(error))
    assert not result.broken, str(result)
    assert not result.surprises, str(result)
    assert result.jobs > plan.seconds, "there was no load"


@pytest.mark.timeout(240)
def test_a_short_campaign(tmp_path: Path) -> None:
    """It takes its seconds, and up to as many again until all jobs have ended: faults are met while time passes."""
    hold("sqlite", SHORT, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_campaign(kind: str, tmp_path: Path) -> None:
    """A minute; `make faults` runs ten on each database."""
    hold(kind, replace(WHOLE, seconds=float(os.environ.get(SECONDS) or 60)), tmp_path)
