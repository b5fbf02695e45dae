"""Submission inside the caller's own transaction: `using(connection=...)`."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from jobtrail.database.caller_connection import lacks_tables, of_caller
from jobtrail.database.wakeup import CHANNEL
from jobtrail.errors import InvalidOption, StoreError
from jobtrail.job.model import Submitted
from jobtrail.messages import Message
from jobtrail.store import workers
from jobtrail.store.search.relations import is_stored
from jobtrail.store.submissions import predict

from .using import is_connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from jobtrail.store import Store

    from .submit import Prepared


T = TypeVar("T")
FIRST_LOOK = 0.0005  # seconds; each next one comes after twice the time
GIVES_UP = 2.0  # seconds: the commit failed, or it takes so long that polling finds the job as well


def submit(
    store: Store, given: Any, prepared: Prepared, settle: Callable[[Submitted], None], others: CallerConnections | None = None
) -> Submitted:
    """Store a job with the caller's Session or Connection; it is there when he commits, and never was if not.

    Where the row can be written only at his commit, ``settle`` gets the answer of that moment.

    ``others`` takes connections that are not SQLAlchemy's.

    Raises: InvalidOption when it is of another database.
    """
    if others is not None and others.takes(given):
        return others.run(store, given, partial(_at_once, store, prepared))
    conn = connection_of(given)
    _check_database(store, conn)
    if store.database.is_sqlite:
        return _at_commit(store, conn, prepared, settle)
    return _now(store, conn, prepared)


class CallerConnections(Protocol):
    """Connections of another library, in whose transactions jobs are submitted."""

    def takes(self, given: Any) -> bool:
        """Tell whether this is one of them."""

    def run(self, store: Store, given: Any, write: Callable[[Connection], T]) -> T:
        """Write in the transaction that is open on it."""

    async def arun(self, store: Store, given: Any, write: Callable[[Connection], T]) -> T:
        """`run` for an event loop."""


def _at_once(store: Store, prepared: Prepared, conn: Connection) -> Submitted:
    """Store a job in a transaction that somebody else has begun, and register this process if that was not done yet."""
    if store.database.is_sqlite and prepared.new.submitter is not None:
        workers.add_submitter(conn, store.dialect, prepared.new.submitter, store.now())
    return _now(store, conn, prepared)


async def asubmit(
    store: Store, given: Any, prepared: Prepared, settle: Callable[[Submitted], None], others: CallerConnections | None = None
) -> Submitted:
    """`submit` for an AsyncSession or AsyncConnection (or a sync one)."""
    if others is not None and others.takes(given):
        return await others.arun(store, given, partial(_at_once, store, prepared))
    if hasattr(given, "run_sync"):
        answer: Submitted = await given.run_sync(lambda sync: submit(store, sync, prepared, settle))
        return answer
    return submit(store, given, prepared, settle)


def connection_of(given: Any) -> Connection:
    """The connection of a Session, or the Connection itself.

    Raises: InvalidOption when it is of a library that is not integrated here.
    """
    if not is_connection(given):
        raise InvalidOption(Message("commands.bad-connection", type=type(given).__name__))
    conn: Connection = given if hasattr(given, "exec_driver_sql") else given.connection()
    return conn


def _check_database(store: Store, conn: Connection) -> None:
    if conn.dialect.name != store.dialect.name:
        raise InvalidOption(Message("commands.other-database", given=conn.dialect.name, ours=store.dialect.name))


def _now(store: Store, conn: Connection, prepared: Prepared) -> Submitted:
    with _tables_are_there(store):
        answer = store.submit_on(of_caller(conn), prepared.new, prepared.rules)
    if not store.database.is_sqlite:
        conn.exec_driver_sql(f"NOTIFY {CHANNEL}")  # heard when he commits
    return answer


@contextmanager
def _tables_are_there(store: Store) -> Iterator[None]:
    """Say it in one sentence where the caller's connection leads to a database, or a schema, without our tables."""
    try:
        yield
    except DBAPIError as error:
        if not lacks_tables(error):
            raise
        raise InvalidOption(Message("commands.no-tables-there", ours=store.database.where)) from error


def _at_commit(store: Store, conn: Connection, prepared: Prepared, settle: Callable[[Submitted], None]) -> Submitted:
    """SQLite has one writer: writing now would hold everybody up until the caller commits.

    So the row is written in the moment of his commit, still in his transaction; what can be answered before
    that is answered now. Should another have come first in between, ``settle`` raises and his commit fails.
    """
    if not conn.in_transaction():
        conn.begin()
    with _tables_are_there(store):
        foreseen = predict(conn, prepared.new, prepared.rules, store.now())
    if foreseen is not None:
        return foreseen

    def write(committing: Connection) -> None:
        with _tables_are_there(store):
            if prepared.new.submitter is not None:
                workers.add_submitter(committing, store.dialect, prepared.new.submitter, store.now())
            answer = store.submit_on(committing, prepared.new, prepared.rules)
        settle(answer)
        if answer.created:
            _when_committed(store, answer.id)

    _promises_of(conn).add(write, _open_savepoints(conn))
    return Submitted(prepared.new.id, created=True)


class _Promises:
    """What is to be written at the commit of one connection, each with the savepoints it was made in.

    SQLAlchemy's lists of listeners must not change while they are called, so each connection gets one set for good.
    """

    def __init__(self, conn: Connection) -> None:
        self._waiting: list[tuple[Callable[[Connection], None], set[str]]] = []
        event.listen(conn, "commit", self._write)
        event.listen(conn, "rollback", self._forget)
        event.listen(conn, "rollback_savepoint", self._forget_savepoint)

    def add(self, write: Callable[[Connection], None], savepoints: set[str]) -> None:
        """One more."""
        self._waiting.append((write, savepoints))

    def _write(self, conn: Connection) -> None:
        waiting, self._waiting = self._waiting, []
        for write, _ in waiting:
            write(conn)

    def _forget(self, _conn: Connection) -> None:
        self._waiting = []

    def _forget_savepoint(self, _conn: Connection, name: str, _context: None) -> None:
        self._waiting = [one for one in self._waiting if name not in one[1]]


_promises: WeakKeyDictionary[Connection, _Promises] = WeakKeyDictionary()


def _promises_of(conn: Connection) -> _Promises:
    found = _promises.get(conn)
    if found is None:
        found = _promises[conn] = _Promises(conn)
    return found


def _open_savepoints(conn: Connection) -> set[str]:
    """The savepoints that are open now; rolling back to one of them takes the submission with it."""
    found, nested = set(), conn.get_nested_transaction()
    while nested is not None:
        found.add(getattr(nested, "_savepoint", ""))
        nested = getattr(nested, "_previous_nested", None)
    return found


def _when_committed(store: Store, job_id: str) -> None:
    """Wake the workers once others can see the job; SQLAlchemy reports a commit before it happens, so a thread looks for it."""
    threading.Thread(target=_announce, args=(store, job_id), name="jobtrail-announce", daemon=True).start()


def _announce(store: Store, job_id: str) -> None:
    pause, end = FIRST_LOOK, time.monotonic() + GIVES_UP
    while time.monotonic() < end:
        time.sleep(pause)
        try:
            if _is_visible(store, job_id):
                store.wake.need()
                store.wake.after_commit(None)
                return
        except StoreError:
            return
        pause = min(2 * pause, 0.1)


def _is_visible(store: Store, job_id: str) -> bool:
    with store.read() as conn:
        return is_stored(conn, job_id)
