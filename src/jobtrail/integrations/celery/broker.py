"""A connection to the broker that is asked before each use, and that says when a message has arrived."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celery import Celery

# What a connection must do so that a message is either refused or known to be stored; the application's own settings win.
_OPTIONS: dict[str, dict[str, Any]] = {
    "amqp": {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10},
    "redis": {"socket_connect_timeout": 5, "socket_timeout": 10},
}
_log = logging.getLogger("jobtrail.celery")


class BrokerAway(Exception):
    """The broker cannot be reached; nothing was sent."""


class Broker:
    """The broker of one Celery application, for one thread.

    Args:
        celery_app: The Celery application.
    """

    def __init__(self, celery_app: Celery) -> None:
        self._app = celery_app
        self._connection: Any = None
        self._producer: Any = None
        self._away = False

    def producer(self) -> Any:
        """Return a producer whose connection has just answered.

        Raises:
            BrokerAway: If the broker does not answer.
        """
        try:
            if self._connection is None:
                self._connect()
            self._ask()
        except Exception as error:
            self.drop()
            if not self._away:
                _log.warning("the broker of Celery is away; jobs that are due wait for it: %s", error)
            self._away = True
            raise BrokerAway(str(error)) from error
        if self._away:
            _log.warning("the broker of Celery is back")
        self._away = False
        return self._producer

    def _connect(self) -> None:
        connection = self._app.connection_for_write()
        options = _OPTIONS.get(connection.transport.driver_type, {})
        connection.transport_options = {**options, **(connection.transport_options or {})}
        connection.ensure_connection(max_retries=1, interval_start=0)
        self._connection, self._producer = connection, self._app.amqp.Producer(connection.default_channel, auto_declare=False)

    def _ask(self) -> None:
        """Make a round trip: a connection that was lost meanwhile is noticed here, before a message is given to it."""
        channel = self._connection.default_channel
        if self._connection.transport.driver_type == "redis":
            channel.client.ping()
        else:
            self._connection.channel().close()

    def drop(self) -> None:
        """Forget the connection; the next use makes a new one."""
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            try:
                connection.release()
            except Exception as error:
                _log.debug("closing the connection to the broker failed: %s", error)
