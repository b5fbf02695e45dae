"""The one writer of a process: requests that have queued up are written in one transaction.

Whoever finds the writer idle writes in his own thread; whoever finds it busy is taken along by the next
group, which the same thread goes on to write (so a lone caller pays for no thread, and fifty callers pay
for one commit). Callers on an event loop hand their request to a thread of the writer instead.

If a group fails it is rolled back and written again one by one, so that only the guilty request gets the
error. On PostgreSQL a request that meets somebody's open transaction gives up after 100 ms and goes on in
a side connection, and so do later requests for the same unit.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.exc import OperationalError

from jobtrail.errors import StoreUnavailable, UsageError
from jobtrail.messages import Message

from . import connection
from .failures import BUSY, Meaning, failure_of
from .sqlite import own_lock

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .connection import Database

T = TypeVar("T")

GROUP = 200
LOCK_TIMEOUT = "100ms"
ABANDONED = "10s"
SIDE_LOCK_TIMEOUT = "60s"
FORK_WAIT = 5.0  # seconds that a fork waits for a write to end
TOO_SLOW = "57014"  # PostgreSQL: query_canceled, by statement_timeout
SIDE_CONNECTIONS = 4
STILL_INTACT = 0.0001  # seconds after a commit, whose file was found intact, in which the next write does not look again
STILL_OPEN = 0.001  # the same for a session of a server; a word to other processes comes between
ALL_DESCRIPTORS = 0.002  # seconds between two looks at all descriptors after a commit; at that of the -wal file after each
FIRST_LOOK = 0.25  # seconds that a write waits for SQLite's lock before it asks who holds it
_FIRST_LOOK = f"PRAGMA busy_timeout = {FIRST_LOOK * 1000:.0f}"

_log = logging.getLogger("jobtrail.store")
_writers: weakref.WeakSet[Writer] = weakref.WeakSet()


class Request:
    """One operation and the future that is answered after its commit.

    ``key`` orders a group (units and ids sorted, or two processes deadlock) and names what it may block on.
    Requests with an equal ``shape`` are one statement when they meet in a group: their ``operation`` is
    then called once, with all payloads; a lone one needs no transaction of its own, and so does an
    operation that says of itself that it is ``one_statement``.
    """

    __slots__ = ("future", "key", "one_statement", "operation", "payload", "shape", "thread")

    def __init__(
        self,
        operation: Callable[..., Any],
        key: str,
        shape: Any = None,
        payload: Any = None,
        *,
        one_statement: bool = False,
    ) -> None:
        self.one_statement = one_statement
        self.operation = operation
        self.key = key
        self.shape = shape
        self.payload = payload
        self.thread: int | None = None  # of the caller, where it waits for the answer
        self.future: Future[Any] = Future()


class Writer:
    """Serialises the writes of this process; see the module's text."""

    def __init__(self, database: Database, *, after_commit: Callable[[Any], None] | None = None) -> None:
        self.database = database
        self.after_commit = after_commit
        self._reset()
        _writers.add(self)

    def _reset(self) -> None:
        self._queue: deque[Request] = deque()
        self._turn = threading.Lock()
        self._conn: Connection | None = None
        self._intact_until = self._all_looked_at = 0.0
        self._committing = False
        self._blocked: dict[str, int] = {}
        self._blocked_lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._side: ThreadPoolExecutor | None = None
        self._pools_lock = threading.Lock()
        self._pid = os.getpid()
        self._held_for_fork = False

    # -- for callers ---------------------------------------------------------------------------------

    def call(self, operation: Callable[[Connection], T], *, key: str = "", one_statement: bool = False) -> T:
        """Write and wait for the commit."""
        result: T = self._write(Request(operation, key, one_statement=one_statement))
        return result

    def call_beside(self, operation: Callable[[Connection], T]) -> T:
        """Write in a connection of its own, where there may be two writers at once."""
        if self.database.is_sqlite:
            return self.call(operation)
        try:
            result: T = self._on_side_connection(Request(operation, ""))
        except Exception as error:
            translated = self.database.translate(error)
            if translated is error:
                raise
            raise translated from error
        return result

    def call_batched(self, operation: Callable[[Connection, list[Any]], None], shape: Any, payload: Any) -> None:
        """Write one payload and wait; payloads of one shape that meet here are written by one statement."""
        self._write(Request(operation, "", shape, payload))

    def _write(self, request: Request) -> Any:
        request.thread = threading.get_ident()
        self._queue.append(request)
        if self._turn.acquire(blocking=False):
            try:
                while not request.future.done() and self._queue:
                    self._write_group()
            finally:
                self._turn.release()
            if self._queue:
                # His own request is written; the rest is not his to do.
                self._pool().submit(self._write_if_idle)
        return request.future.result()

    def start(self, operation: Callable[[Connection], T], *, key: str = "", one_statement: bool = False) -> Future[T]:
        """Write in a thread of the writer; the future is answered after the commit."""
        return self._start(Request(operation, key, one_statement=one_statement))

    def _start(self, request: Request) -> Future[Any]:
        self._queue.append(request)
        self._pool().submit(self._write_if_idle)
        return request.future

    async def acall_batched(self, operation: Callable[[Connection, list[Any]], None], shape: Any, payload: Any) -> None:
        """`call_batched` for an event loop."""
        await asyncio.wrap_future(self._start(Request(operation, "", shape, payload)))

    async def acall(self, operation: Callable[[Connection], T], *, key: str = "", one_statement: bool = False) -> T:
        """`call` for an event loop."""
        return await asyncio.wrap_future(self.start(operation, key=key, one_statement=one_statement))

    def close(self) -> None:
        """Write what is queued and close the connection."""
        with self._pools_lock:
            pools = [pool for pool in (self._threads, self._side) if pool is not None]
            self._threads = self._side = None
        for pool in pools:
            pool.shutdown(wait=True)
        self._write_if_idle()
        with self._turn:
            self._drop_connection()

    # -- the turn ------------------------------------------------------------------------------------

    def _write_if_idle(self) -> None:
        # The queue is looked at after the turn is free again: a request that was appended while the last
        # group was being answered is seen either by its own thread or here.
        while self._queue and self._turn.acquire(blocking=False):
            try:
                self._write_group()
            finally:
                self._turn.release()

    def _write_group(self) -> None:
        group = self._take()
        if not group:
            return
        try:
            results = self._in_transaction(group)
        except BaseException as error:
            if not self._may_try_again(group, error):
                self._after_failure(group, error)
                return
            try:
                results = self._in_transaction(group)
            except BaseException as second:
                self._after_failure(group, second)
                return
        self._answer(group, results)

    def _may_try_again(self, group: list[Request], error: BaseException) -> bool:
        """The kept connection had died while nobody used it, and nothing was committed: a new one may do."""
        if not _connection_is_gone(error) or self._committing or self._is_alone(group):
            return False
        self._drop_connection()
        return True

    def _take(self) -> list[Request]:
        group: list[Request] = []
        while self._queue and len(group) < GROUP:
            request = self._queue.popleft()
            if not request.future.set_running_or_notify_cancel():
                continue  # whoever asked has gone, and nothing is written yet
            if request.key and request.key in self._blocked:
                self._move_aside(request)
            else:
                group.append(request)
        if len(group) > 1:
            group.sort(key=_key)
        return group

    def _answer(self, group: list[Request], results: list[Any]) -> None:
        self._tell(self._conn)
        for request, result in zip(group, results, strict=True):
            request.future.set_result(result)

    def _tell(self, conn: Connection | None) -> None:
        if self.after_commit is None:
            return
        try:
            self.after_commit(conn)
        except Exception:
            # It is committed: a listener in trouble must not leave the callers without their answer.
            _log.exception("after a commit")

    def _in_transaction(self, group: list[Request]) -> list[Any]:
        self._committing = False
        conn = self._connection()
        if self._is_alone(group):
            answers = self._patiently(conn, group, partial(_run, conn, group))
            self._check_commit(conn)
            return answers
        self._patiently(conn, group, partial(conn.exec_driver_sql, self._begin()))
        try:
            results = _run(conn, group)
        except BaseException:
            self._rollback(conn)
            raise
        self._committing = True
        conn.exec_driver_sql("COMMIT")
        self._check_commit(conn)
        return results

    def _patiently(self, conn: Connection, group: list[Request], work: Callable[[], T]) -> T:
        """Wait for the write lock of SQLite, but not where the caller itself holds it: that would never end.

        Raises:
            UsageError: if the calling thread has a transaction of its own in the file.

        """
        try:
            return work()
        except OperationalError as error:
            failure = failure_of(error)
            path = self.database.path
            if path is None or failure is None or failure.code != BUSY:
                raise
            here = threading.get_ident()
            if any(request.thread == here for request in group) and own_lock.held_by_caller(path):
                raise UsageError(Message("database.locked-by-caller", where=self.database.where)) from error
        conn.exec_driver_sql(f"PRAGMA busy_timeout = {max(connection.SQLITE_BUSY_SECONDS - FIRST_LOOK, 0) * 1000:.0f}")
        try:
            return work()
        finally:
            conn.exec_driver_sql(_FIRST_LOOK)

    def _check_file(self) -> None:
        """Before a write, and after its commit: it must stand in the file that others read."""
        try:
            self.database.check_file()
        except StoreUnavailable:
            self._drop_connection()
            raise

    def _check_commit(self, conn: Connection) -> None:
        """After a commit and before anybody is answered."""
        if not self.database.is_sqlite:
            self._intact_until = time.monotonic() + STILL_OPEN
            return
        self._check_file()
        now = time.monotonic()
        all_of_them = now >= self._all_looked_at + ALL_DESCRIPTORS
        if self.database.has_lost_file(conn, all_of_them=all_of_them):
            self._drop_connection()
            raise StoreUnavailable(Message("database.descriptor-lost", where=self.database.where))
        if all_of_them:
            self._all_looked_at = now
        self._intact_until = now + STILL_INTACT

    def _begin(self) -> str:
        """The beginning of a transaction; behind a pooler the limits of a session are set for each of them."""
        begin = self.database.dialect.begin
        return f"{begin}; {_limits('SET LOCAL')}" if self.database.pooled else begin

    def _is_alone(self, group: list[Request]) -> bool:
        """Tell whether a group is one statement, which needs no transaction around it."""
        one = len(group) == 1 and (group[0].shape is not None or group[0].one_statement)
        return one and not self.database.pooled

    def _rollback(self, conn: Connection) -> None:
        try:
            conn.exec_driver_sql("ROLLBACK")
        except Exception:
            self._drop_connection()

    def _after_failure(self, group: list[Request], error: BaseException) -> None:
        if _connection_is_gone(error):
            self._drop_connection()
        if len(group) == 1:
            self._settle_failure(group[0], error)
            return
        if _is_outage(error):
            for request in group:
                request.future.set_exception(self.database.translate(error))
            return
        for request in group:
            self._write_alone(request)

    def _write_alone(self, request: Request) -> None:
        if request.key and request.key in self._blocked:
            self._move_aside(request)
            return
        try:
            results = self._in_transaction([request])
        except BaseException as error:
            if _connection_is_gone(error):
                self._drop_connection()
            self._settle_failure(request, error)
        else:
            self._answer([request], results)

    def _settle_failure(self, request: Request, error: BaseException) -> None:
        if _lock_not_available(error):
            self._move_aside(request)
        else:
            request.future.set_exception(self.database.translate(error))

    # -- beside the turn -----------------------------------------------------------------------------

    def _move_aside(self, request: Request) -> None:
        with self._blocked_lock:
            self._blocked[request.key] = self._blocked.get(request.key, 0) + 1
        with self._pools_lock:
            if self._side is None:
                self._side = ThreadPoolExecutor(SIDE_CONNECTIONS, thread_name_prefix="jobtrail-side")
            self._side.submit(self._write_aside, request)

    def _write_aside(self, request: Request) -> None:
        try:
            result = self._on_side_connection(request)
        except BaseException as error:
            request.future.set_exception(self.database.translate(error))
        else:
            request.future.set_result(result)
        finally:
            with self._blocked_lock:
                left = self._blocked.pop(request.key) - 1
                if left:
                    self._blocked[request.key] = left

    def _on_side_connection(self, request: Request) -> Any:
        with self.database.engine.connect() as conn:
            begin = self.database.dialect.begin
            if not self.database.is_sqlite:
                begin = f"{begin}; SET LOCAL lock_timeout = '{SIDE_LOCK_TIMEOUT}'"
            conn.exec_driver_sql(begin)
            try:
                (result,) = _run(conn, [request])
            except BaseException:
                with contextlib.suppress(Exception):
                    conn.exec_driver_sql("ROLLBACK")
                raise
            conn.exec_driver_sql("COMMIT")
            self._tell(conn)
            return result

    def _pool(self) -> ThreadPoolExecutor:
        with self._pools_lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(1, thread_name_prefix="jobtrail-writer")
            return self._threads

    # -- the connection ------------------------------------------------------------------------------

    def _connection(self) -> Connection:
        if self._conn is not None and not self._conn.invalidated and time.monotonic() < self._intact_until:
            return self._conn
        self._check_file()
        if self._conn is not None and (self._conn.invalidated or self.database.has_ended(self._conn)):
            self._drop_connection()  # in a word after a commit, whose errors are of no consequence, or while it was idle
        if self._conn is None:
            conn = self.database.own_connection()
            if not self.database.is_sqlite and not self.database.pooled:
                conn.exec_driver_sql(_limits("SET"))
            if self.database.is_sqlite:
                conn.exec_driver_sql(_FIRST_LOOK)
            self._conn = conn
        self.database.sync_clock(self._conn)
        return self._conn

    def _drop_connection(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            with contextlib.suppress(Exception):
                conn.close()

    def before_fork(self) -> None:
        """SQLite keeps the locks of its files in the process's memory, which a child inherits: let go of all of them."""
        if self.database.is_sqlite:
            self._held_for_fork = self._turn.acquire(timeout=FORK_WAIT)
            if self._held_for_fork:
                self._drop_connection()

    def after_fork_in_parent(self) -> None:
        """The parent goes on."""
        if self._held_for_fork:
            self._held_for_fork = False
            self._turn.release()
            if self._queue:
                self._pool().submit(self._write_if_idle)

    def after_fork(self) -> None:
        """In a forked child: the parent's lock, queue and connection are not ours."""
        if self._conn is not None:
            # Kept alive and untouched: closing it would speak on the parent's connection.
            _inherited.append(self._conn)
        self._reset()


_inherited: list[Any] = []


def _run(conn: Connection, group: list[Request]) -> list[Any]:
    alike: dict[Any, list[Request]] = {}
    for request in group:
        if request.shape is not None:
            alike.setdefault(request.shape, []).append(request)
    for requests in alike.values():
        requests[0].operation(conn, [request.payload for request in requests])
    return [None if request.shape is not None else request.operation(conn) for request in group]


def _limits(set_: str) -> str:
    """A process that is stopped in the middle of a write must not hold others up for ever."""
    return f"{set_} lock_timeout = '{LOCK_TIMEOUT}'; {set_} idle_in_transaction_session_timeout = '{ABANDONED}'"


def _key(request: Request) -> str:
    return request.key


def _lock_not_available(error: BaseException) -> bool:
    failure = failure_of(error)
    return failure is not None and failure.meaning is Meaning.LOCKED


def _is_outage(error: BaseException) -> bool:
    """The database is away for all of a group; a statement that was too slow may be fast enough alone."""
    failure = failure_of(error)
    away = failure is not None and failure.meaning is Meaning.AWAY and failure.code != TOO_SLOW
    return away or isinstance(error, StoreUnavailable)


def _connection_is_gone(error: BaseException) -> bool:
    failure = failure_of(error)
    return failure is not None and failure.loses_connection


def _before_fork() -> None:
    for writer in list(_writers):
        writer.before_fork()


def _after_fork_in_parent() -> None:
    for writer in list(_writers):
        writer.after_fork_in_parent()


def _after_fork_in_child() -> None:
    for writer in list(_writers):
        writer.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
