"""The campaign's own modules, and those of the fault tests, are imported by name."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults")]

from trails import *  # noqa: E402, F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: E402, F401
