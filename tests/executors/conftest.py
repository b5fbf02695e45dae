"""The fixtures of `trails`, for the tests of executors."""

from brokers import redis_base  # noqa: F401 - fixture
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401
