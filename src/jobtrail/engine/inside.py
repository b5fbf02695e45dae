"""Submission inside the caller's own transaction: `using(connection=...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from jobtrail.errors import InvalidOption
from jobtrail.job.model import Submitted
from jobtrail.store.wake import CHANNEL

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.store import Store

    from .submit import Prepared


def submit(store: Store, given: Any, prepared: Prepared) -> Submitted:
    """Store a job with the caller's Session or Connection; it is there when he commits, and never was if not.

    Raises: InvalidOption when it is none, or of another database.
    """
    conn = _connection_of(given)
    _check_database(store, conn)
    if store.database.is_sqlite:
        return _at_commit(store, conn, prepared)
    return _now(store, conn, prepared)


async def asubmit(store: Store, given: Any, prepared: Prepared) -> Submitted:
    """`submit` for an AsyncSession or AsyncConnection (or a sync one)."""
    if hasattr(given, "run_sync"):
        answer: Submitted = await given.run_sync(lambda sync: submit(store, sync, prepared))
        return answer
    return submit(store, given, prepared)


def _connection_of(given: Any) -> Connection:
    if hasattr(given, "exec_driver_sql"):
        conn: Connection = given
        return conn
    connection = getattr(given, "connection", None)
    if callable(connection) and hasattr(given, "execute"):
        found: Connection = connection()
        return found
    message = f"connection= takes a SQLAlchemy Session or Connection (sync or async), not {type(given).__name__}"
    raise InvalidOption(message)


def _check_database(store: Store, conn: Connection) -> None:
    if conn.dialect.name != store.dialect.name:
        message = f"connection= is a connection to {conn.dialect.name}, but the jobs are in {store.dialect.name}"
        raise InvalidOption(message)


def _now(store: Store, conn: Connection, prepared: Prepared) -> Submitted:
    answer = store.submit_on(conn, prepared.new, prepared.rules)
    conn.exec_driver_sql(f"NOTIFY {CHANNEL}")  # heard when he commits
    return answer


def _at_commit(store: Store, conn: Connection, prepared: Prepared) -> Submitted:
    """SQLite has one writer: writing now would hold everybody up until the caller commits.

    So the row is written in the moment of his commit, still in his transaction.
    """
    _begin(conn)

    def write(committing: Connection) -> None:
        store.submit_on(committing, prepared.new, prepared.rules)

    event.listen(conn, "commit", write, once=True)
    event.listen(conn, "rollback", lambda _conn: _forget(conn, write), once=True)
    return Submitted(prepared.new.id, created=True)


def _begin(conn: Connection) -> None:
    if not conn.in_transaction():
        conn.begin()


def _forget(conn: Connection, write: Any) -> None:
    if event.contains(conn, "commit", write):
        event.remove(conn, "commit", write)
