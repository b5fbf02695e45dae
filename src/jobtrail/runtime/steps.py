"""Steps and answers in the store: a step is saved before the body goes on, and found again by the next run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from jobtrail.store import questions, runs

from .log_capture import JOB_LOGGER

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.model import Claim
    from jobtrail.store import Store


_log = logging.getLogger(JOB_LOGGER)


class StepStore(Protocol):
    """Storage of steps and answers; its methods block."""

    def find(self, claim: Claim, name: str, digest: str) -> str | None:
        """Return the kept result of a step as JSON text."""

    def save(self, claim: Claim, name: str, digest: str, result: str, seconds: float) -> bool:
        """Store the result of a step; False if a newer run owns the job."""

    def answer(self, claim: Claim, name: str, digest: str, *, remembered: bool) -> str | None:
        """Return the answer to a question as JSON text, also one that is remembered for the source."""


class StepKeeper:
    """The context's `StepStore` over the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, claim: Claim, name: str, digest: str) -> str | None:
        """Find the result of a step. A re-run of failed items finds only the steps that it has done itself."""
        own_only = claim.fresh or claim.mode == "failed_items"
        with self._store.read() as conn:
            return runs.find_step(conn, claim.ledger, name, digest, only_job=claim.id if own_only else None)

    def answer(self, claim: Claim, name: str, digest: str, *, remembered: bool) -> str | None:
        """Find the answer to a question in this generation, or the one that is remembered for its task and source."""
        with self._store.read() as conn:
            given = questions.answer_for(conn, claim.ledger, name, digest)
            if given is not None or not remembered:
                return given
            found = questions.remembered_for(conn, claim.task, claim.source, name, digest)
        if found is None:
            return None
        _log.info("the answer to '%s' is the one that is remembered for %s", name, claim.source or claim.task)
        return found[0]

    def save(self, claim: Claim, name: str, digest: str, result: str, seconds: float) -> bool:
        """Store the result of a step; False if a newer run owns the job."""

        def operation(conn: Connection) -> bool:
            records = runs.Records(claim.id, claim.run_no, claim.ledger)
            return runs.save_step(
                conn,
                self._store.dialect,
                records,
                name=name,
                digest=digest,
                result=result,
                seconds=seconds,
                now=self._store.now(),
            )

        return self._store.write(operation)
