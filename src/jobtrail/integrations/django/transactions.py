"""Submission inside a transaction of Django: our statements on its own driver connection.

The row is written at once, also on SQLite: Django's transaction has or takes the write lock at its own first write, and its
`commit` has no hook before it. Savepoints and rollbacks need no care, because the row is part of the transaction.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections, transaction
from sqlalchemy import Connection, Engine, make_url
from sqlalchemy.pool import StaticPool

from jobtrail.commands.using import is_of_django
from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

from .address import url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobtrail.store import Store

T = TypeVar("T")
_PLACE = ("database", "host", "port")


class DjangoConnections:
    """What `using(connection=)` takes beside SQLAlchemy's: ``"default"``, ``django.db.connection``, ``connections["x"]``."""

    def takes(self, given: Any) -> bool:
        """Tell whether this is an alias or a connection of Django."""
        return is_of_django(given)

    def run(self, store: Store, given: Any, write: Callable[[Connection], T]) -> T:
        """Write in the transaction that is open on a connection of Django; without one, in a transaction of its own.

        Raises:
            InvalidOption: If there is no such connection, or it leads to another database.
            StoreError: If the database refuses a statement.
        """
        alias = given if isinstance(given, str) else given.alias
        if alias not in connections:
            raise InvalidOption(Message("integrations.django-no-alias", alias=alias))
        django = connections[alias]
        _check_same(store, django)
        with transaction.atomic(using=alias, savepoint=False):
            django.ensure_connection()
            with _noted(django), store.database.translated(), borrowed(store, django.connection) as conn:
                answer = write(conn)
            if store.database.is_sqlite:
                transaction.on_commit(partial(_wake, store), using=alias, robust=True)
        return answer

    async def arun(self, store: Store, given: Any, write: Callable[[Connection], T]) -> T:
        """`run` for an event loop, in the thread that Django keeps for its connections."""
        answer: T = await sync_to_async(self.run, thread_sensitive=True)(store, given, write)
        return answer


def _check_same(store: Store, django: Any) -> None:
    theirs, ours = make_url(url_of(django)), store.database.url
    if any(getattr(theirs, name) != getattr(ours, name) for name in _PLACE if name != "database" or ours.database):
        raise InvalidOption(Message("integrations.django-other-database", alias=django.alias, ours=store.database.where))


def _wake(store: Store) -> None:
    store.wake.need()
    store.wake.after_commit(None)


@contextlib.contextmanager
def _noted(django: Any) -> Iterator[None]:
    """Have Django look at its connection after an error, as after one of its own statements."""
    try:
        yield
    except BaseException:
        django.errors_occurred = True
        raise


@contextlib.contextmanager
def borrowed(store: Store, driver: Any) -> Iterator[Connection]:
    """Speak through a driver's connection that somebody else opened, in his transaction; nothing is begun, ended or closed.

    Raises:
        InvalidOption: If the driver is not ours.
    """
    ours = store.database.engine.dialect
    if ours.name == "postgresql" and not hasattr(driver, "adapters"):
        raise InvalidOption(Message("integrations.django-psycopg2"))
    pool = StaticPool(lambda: _Borrowed(driver, ours.name), reset_on_return=None, dialect=ours)
    conn = Connection(Engine(pool, ours, store.database.engine.url))
    try:
        yield conn
    finally:
        conn.close()


class _Borrowed:
    """A driver's connection whose transaction is not ours to end."""

    def __init__(self, driver: Any, kind: str) -> None:
        self._driver = driver
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def cursor(self, *given: Any, **named: Any) -> Any:
        """Return a plain cursor: Django's own adapts what it reads."""
        if self._kind == "sqlite":
            return self._driver.cursor(*given, **named)
        from psycopg import Cursor
        from psycopg.types.datetime import TimestamptzLoader

        cursor: Any = Cursor(self._driver)
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
        return cursor

    def commit(self) -> None:
        """Leave it open."""

    rollback = close = commit
