"""The fixtures of `trails`."""

from __future__ import annotations

from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401
