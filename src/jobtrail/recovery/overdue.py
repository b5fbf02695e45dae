"""Overdue jobs: running past their deadline, and their worker does not act, because its loop is blocked, say."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from jobtrail.job import transitions
from jobtrail.job.model import Status, StopCause
from jobtrail.job.transitions import Subject
from jobtrail.messages import Message
from jobtrail.store import events, jobs, runs

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow
    from jobtrail.store import Store

MARGIN = 2.0  # seconds past a deadline; its own worker would have acted by then
WATCHED = 2.0  # seconds for which a deadline must not have moved, by the observer's own clock


class Overdue:
    """Remembers which deadlines have passed, and since when by its own monotonic clock.

    Who could not write for a while (an outage, a machine that slept) gets the time to move its deadline first.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: dict[tuple[str, int, datetime | None], float] = {}

    def run_once(self, monotonic: float) -> int:
        """One turn; returns how many jobs were asked to stop."""
        with self._store.read() as conn:
            rows = runs.past_deadline(conn, self._store.now() - timedelta(seconds=MARGIN))
        keys = {(row.id, row.run_no, row.deadline_at): row for row in rows}
        self._seen = {key: self._seen.get(key, monotonic) for key in keys}
        due = [row for key, row in keys.items() if monotonic - self._seen[key] >= WATCHED]
        return sum(self._store.write(partial(self._stop, row), key=row.id) for row in due)

    def _stop(self, seen: JobRow, conn: Connection) -> bool:
        row = jobs.get(conn, seen.id, lock=True)
        if row is None or row.status is not Status.RUNNING or row.run_no != seen.run_no:
            return False
        if row.deadline_at != seen.deadline_at or row.deadline_at is None:
            return False
        now, cause = self._store.now(), StopCause(row.deadline_cause or "timeout")
        over = (now - row.deadline_at).total_seconds()
        reason = Message("recovery.over-limit", cause=cause, seconds=f"{over:.0f}").stored
        dialect = self._store.dialect
        line = events.note(row.id, now, "stuck", run_no=row.run_no, actor=transitions.UPKEEP, reason=reason)
        events.append(conn, dialect, [line])
        move = transitions.stop_requested(
            Subject.of(row), now, cause=cause, actor=transitions.UPKEEP, reason=Message("job.limit", cause=cause).stored
        )
        return not jobs.apply(conn, dialect, [move], now)
