"""The fixtures of `trails`, for the tests of field."""

from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401
