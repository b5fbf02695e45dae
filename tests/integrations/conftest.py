"""The fixtures of `trails` and `brokers`."""

from __future__ import annotations

from brokers import amqp_base, amqp_url, broker, redis_base, redis_url  # noqa: F401 - fixtures
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401
