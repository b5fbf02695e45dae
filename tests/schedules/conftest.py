"""The fixtures of `trails`, for the tests of schedules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401
