"""Jobs for the exam: made, claimed, ended, in a word each."""

from __future__ import annotations

import time
from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from jobtrail.job import transitions
from jobtrail.job.model import Claim, JobRow, NewJob, Status, Submitted, new_id
from jobtrail.job.period import Period
from jobtrail.job.transitions import Move, Subject
from jobtrail.job.unit import Unit
from jobtrail.store import jobs
from jobtrail.store.submissions import PLAIN, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Table

    from jobtrail.store import Store


def unit(period: str = "2013-02", *, task: str = "sync", source: str | None = "weather/EWR") -> Unit:
    """A unit of work."""
    return Unit(task, source, Period.parse(period))


def new_job(task: str = "sync", args: str = "{}", **rest: Any) -> NewJob:
    """A job that is not stored yet."""
    return NewJob(new_id(), task, args, **rest)


def of_unit(one: Unit, args: str = "{}", **rest: Any) -> NewJob:
    """A job of a unit that is not stored yet."""
    period = one.period.text if one.period else None
    return new_job(one.task, args, unit=one.key, source=one.source, period=period, **rest)


def wait_until(fact: Callable[[], Any], what: str, *, timeout: float = 10.0) -> Any:
    """Wait until a fact holds, and say which one did not."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        found = fact()
        if found:
            return found
        time.sleep(0.005)
    message = f"not within {timeout} s: {what}"
    raise AssertionError(message)


class Maker:
    """Makes jobs in one store and moves them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.worker = new_id()

    def submit(self, new: NewJob, rules: Rules = PLAIN) -> Submitted:
        """Store a job that may meet another."""
        return self.store.submit(new, rules)

    def pending(
        self, task: str = "sync", args: str = "{}", *, labels: Mapping[str, str] | None = None, **rest: Any
    ) -> str:
        """The id of a stored job."""
        kept = dumps(dict(labels)) if labels else None
        return self.store.submit(new_job(task, args, labels=kept, **rest), Rules(labels=labels)).id

    def unit_job(self, one: Unit | None = None, args: str = "{}", *, if_active: str = "same", **rest: Any) -> Submitted:
        """Submit a job of a unit."""
        one = one or unit()
        new = of_unit(one, args, **rest)
        return self.store.submit(new, Rules(unit=one, if_active=if_active))

    def claim(self, limit: int = 100, *, queue: str = "default", now: Any = None) -> list[Claim]:
        """Claim what is due."""
        at = now or self.store.now()
        return self.store.write(lambda conn: jobs.claim(conn, self.store.dialect, queue, limit, self.worker, at))

    def apply(self, *given: Move, ledgers: Any = None) -> list[Move]:
        """Write moves; those that moved nothing."""
        return self.store.write(
            lambda conn: jobs.apply(conn, self.store.dialect, given, self.store.now(), ledgers=ledgers)
        )

    def finish(
        self, claim: Claim, to: Status = Status.COMPLETED, *, ledgers: Any = None, now: Any = None, **rest: Any
    ) -> list[Move]:
        """End a run."""
        return self.apply(transitions.finished(subject(claim), now or self.store.now(), to, **rest), ledgers=ledgers)

    def ended(
        self,
        task: str = "sync",
        to: Status = Status.COMPLETED,
        *,
        now: Any = None,
        error: str | None = None,
        **rest: Any,
    ) -> str:
        """The id of a job that has run and ended."""
        job_id = self.pending(task, **rest)
        (claim,) = [one for one in self.claim(now=now, queue=rest.get("queue", "default")) if one.id == job_id]
        assert self.finish(claim, to, now=now, error=error) == []
        return job_id

    def row(self, job_id: str) -> JobRow:
        """A job that must be there."""
        with self.store.read() as conn:
            found = jobs.get(conn, job_id)
        assert found is not None
        return found

    def count(self, table: Table, *where: Any) -> int:
        """How many rows."""
        with self.store.read() as conn:
            return int(conn.execute(select(func.count()).select_from(table).where(*where)).scalar_one())


def subject(claim: Claim, **changes: Any) -> Subject:
    """A claimed job, as the moves see it."""
    one = Subject(
        id=claim.id,
        run_no=claim.run_no,
        attempt=claim.attempt,
        status=Status.RUNNING,
        unit=claim.unit,
        max_attempts=claim.max_attempts,
        started_at=claim.started_at,
    )
    return replace(one, **changes)
