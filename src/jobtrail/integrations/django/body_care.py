"""Django's connections around a task function, as around a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections, reset_queries

if TYPE_CHECKING:
    from jobtrail.job.task import Task


class ConnectionCare:
    """Close what is too old or broken before and after a task function, in the thread where it uses connections.

    Django does this at the beginning and the end of a request. A connection that is kept between jobs
    (``CONN_MAX_AGE``) is tried before the next one uses it: the server may have ended it meanwhile.

    Args:
        task: The task; the hook is the same for all.
    """

    def __init__(self, task: Task) -> None:
        del task

    def __enter__(self) -> None:
        """Begin like a request."""
        _begin()

    def __exit__(self, *_: object) -> None:
        """End like a request."""
        close_old_connections()

    async def __aenter__(self) -> None:
        """Begin in the thread that ``sync_to_async`` and the asynchronous ORM use."""
        await sync_to_async(_begin)()

    async def __aexit__(self, *_: object) -> None:
        """End there."""
        await sync_to_async(close_old_connections)()


def _begin() -> None:
    reset_queries()
    close_old_connections()
    for connection in connections.all(initialized_only=True):
        if _is_lost(connection):
            connection.close()


def _is_lost(connection: Any) -> bool:
    return connection.connection is not None and not connection.in_atomic_block and not connection.is_usable()
