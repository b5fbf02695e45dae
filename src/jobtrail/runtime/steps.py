"""Steps and answers kept in the store: found again for the next run, saved before the body goes on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jobtrail.store import questions, runs

from .log_capture import JOB_LOGGER

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.model import Claim
    from jobtrail.store import Store


_log = logging.getLogger(JOB_LOGGER)


class StepKeeper:
    """The context's `StepStore` over the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, claim: Claim, name: str, digest: str) -> str | None:
        """The kept result of a step. A re-run of failed items repeats steps, its own excepted."""
        own_only = claim.fresh or claim.mode == "failed_items"
        with self._store.read() as conn:
            return runs.find_step(conn, claim.ledger, name, digest, only_job=claim.id if own_only else None)

    def answer(self, claim: Claim, name: str, digest: str, *, remembered: bool) -> str | None:
        """The answer that a question has in this telling, or the one that is remembered for its task and source."""
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
        """Keep a step's result; False when a newer run owns the job."""

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
