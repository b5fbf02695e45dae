"""Executors that jobs are handed over to: what was not sent, what has not begun, and who hands over."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy import text as sql

from jobtrail.database.tables import TO_HAND_OVER, jobs, leases
from jobtrail.store import queues
from jobtrail.store.tracked.hand_over import RELAY, QueueHandedOver, handed_over

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

CAP = 10_000


@dataclass(frozen=True, slots=True)
class HandedJobs:
    """The waiting jobs of an executor.

    Attributes:
        executor: Its name.
        unsent: How many are due and were not sent, at most `CAP`; those of paused queues are left out.
        unsent_since: Since when the first of them is due; None if there are none.
        queues: By queue, what was sent and has not begun.
        relayed_until: Until when some process holds the lease to send them; None if none ever did.
    """

    executor: str
    unsent: int
    unsent_since: datetime | None
    queues: list[QueueHandedOver]
    relayed_until: datetime | None

    @property
    def handed(self) -> int:
        """How many were sent and have not begun."""
        return sum(one.number for one in self.queues)


def read(conn: Connection, due_by: datetime, known: Iterable[str]) -> list[HandedJobs]:
    """Read the waiting jobs of these executors, and of others that any job waits for, by name.

    Args:
        conn: A connection for reading.
        due_by: Jobs that are due since then should have been sent.
        known: Names of executors.
    """
    waiting = {name for queue in queues.waiting_queues(conn) for name in queues.executors(conn, queue)}
    return [_read(conn, due_by, name) for name in sorted({*known, *waiting})]


def _read(conn: Connection, due_by: datetime, executor: str) -> HandedJobs:
    late = select(jobs.c.run_at).where(
        sql(TO_HAND_OVER), jobs.c.executor == executor, jobs.c.run_at <= due_by, jobs.c.queue.not_in(queues.paused(conn))
    )
    first = late.order_by(jobs.c.run_at).limit(CAP).subquery()
    number, since = conn.execute(select(func.count(), func.min(first.c.run_at)).select_from(first)).one()
    until = conn.execute(select(leases.c.expires_at).where(leases.c.name == f"{RELAY}{executor}")).scalar()
    return HandedJobs(executor, number, since, handed_over(conn, executor), until)
