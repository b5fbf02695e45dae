"""The store as its users hold it: the database, its writer, its clock and its wake-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from jobtrail.database.connection import Database
from jobtrail.database.wakeup import Wake
from jobtrail.database.writer import Writer

from . import submissions, successors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.model import NewJob, Submitted

T = TypeVar("T")


class Store:
    """One store for one application object; the functions of the modules beside take its connections."""

    def __init__(
        self, url: str, *, clock: Any = None, pooler: bool | None = None, notify_url: str | None = None
    ) -> None:
        self.database = Database(url, clock=clock, pooler=pooler)
        self.wake = Wake(self.database, listens_on=Database(notify_url) if notify_url else None)
        self.writer = Writer(self.database, after_commit=self.wake.after_commit)

    @property
    def dialect(self) -> Dialect:
        """What differs between the databases."""
        return self.database.dialect

    def now(self) -> datetime:
        """The database's time, UTC."""
        now: datetime = self.database.clock.now()
        return now

    def read(self) -> AbstractContextManager[Connection]:
        """A connection for reading."""
        return self.database.connect()

    def write(self, operation: Callable[[Connection], T], *, key: str = "", one_statement: bool = False) -> T:
        """Run an operation in a write transaction and wait for its commit; one statement needs no transaction around it."""
        return self.writer.call(operation, key=key, one_statement=one_statement)

    def write_beside(self, operation: Callable[[Connection], T]) -> T:
        """`write` for what may take longer: where the database allows, other writes of this process do not wait for it."""
        return self.writer.call_beside(operation)

    async def awrite(self, operation: Callable[[Connection], T], *, key: str = "", one_statement: bool = False) -> T:
        """`write` for an event loop; what is one statement needs no transaction around it."""
        return await self.writer.acall(operation, key=key, one_statement=one_statement)

    # -- the submissions, which meet in groups ---------------------------------------------------------

    def submit(self, new: NewJob, rules: submissions.Rules) -> Submitted:
        """Store one job that may meet another (unit, key, labels)."""
        return self.write(lambda conn: self.submit_on(conn, new, rules), key=new.unit or "")

    async def asubmit(self, new: NewJob, rules: submissions.Rules) -> Submitted:
        """`submit` for an event loop."""
        return await self.awrite(lambda conn: self.submit_on(conn, new, rules), key=new.unit or "")

    def submit_on(self, conn: Connection, new: NewJob, rules: submissions.Rules) -> Submitted:
        """`submit` inside a transaction that is open already."""
        self.wake.need()
        answer = submissions.submit(conn, self.dialect, new, rules, self.now())
        if rules.following and not answer.created and answer.why is None:
            successors.attach(conn, self.dialect, answer.id, rules.following, self.now())
        return answer

    def insert(self, new: NewJob) -> None:
        """Store one job that cannot meet another."""
        self.writer.call_batched(self._insert, self._shape(new), new)

    async def ainsert(self, new: NewJob) -> None:
        """`insert` for an event loop."""
        await self.writer.acall_batched(self._insert, self._shape(new), new)

    def insert_alike(self, template: NewJob, ids_and_args: Sequence[tuple[str | None, ...]]) -> None:
        """Store many jobs that differ in id, arguments and keys of limits only, in one transaction."""
        self.write(lambda conn: self._insert_alike(conn, template, ids_and_args))

    def _insert(self, conn: Connection, new: list[NewJob]) -> None:
        self.wake.need()
        submissions.insert_plain(conn, self.dialect, new, self.now())

    def _insert_alike(self, conn: Connection, template: NewJob, rows: Sequence[tuple[str | None, ...]]) -> None:
        self.wake.need()
        submissions.insert_alike(conn, self.dialect, template, rows, self.now())

    def insert_followed(self, conn: Connection, new: Sequence[NewJob]) -> None:
        """Store jobs that cannot meet another, all of one shape by one statement, in a transaction that is open already."""
        alike: dict[Any, list[NewJob]] = {}
        for one in new:
            alike.setdefault(self._shape(one), []).append(one)
        for some in alike.values():
            self._insert(conn, some)

    @staticmethod
    def _shape(new: NewJob) -> Any:
        return tuple(submissions.shape(new))

    def close(self) -> None:
        """Write what is queued, then close all connections."""
        self.writer.close()
        self.wake.close()
        self.database.close()
