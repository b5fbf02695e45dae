"""Bulk actions: the preview of one action on many jobs, and the tracked job that performs it.

The preview fixes the selection: the job acts on those that have not changed since, whatever matches the filter
meanwhile. The digest of the preview is the key of the action, so pressing twice starts one job.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from json import dumps
from typing import TYPE_CHECKING, Any

from jobtrail.errors import Conflict, InvalidOption
from jobtrail.job.allowed_actions import (
    ActionState,
    Obstacle,
    against_cancel,
    against_delete,
    against_rerun,
    against_retry,
    against_run_now,
)
from jobtrail.job.model import DEFAULT_QUEUE, FINAL, MOST_URGENT, Mode, Status
from jobtrail.job.task import choice_option
from jobtrail.job.unit import step_digest
from jobtrail.messages import Message
from jobtrail.store import events as trail
from jobtrail.store import queues, runs, submissions, workers
from jobtrail.store.removal import deletion
from jobtrail.store.search import search
from jobtrail.store.search.action_states import AT_ONCE, action_states, changed_since
from jobtrail.store.search.grammar import ID

from .using import Using

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.store.search.masked_view import MaskedView

    from .job_handle import Job
    from .service import Service

TASK = "jobtrail.bulk"
RETRY, RERUN, CANCEL, RUN_NOW, DELETE = ACTIONS = ("retry", "rerun", "cancel", "run_now", "delete")
MOST_JOBS = 10_000
MOST_PER_SECOND = 1_000.0
CHOSEN = "chosen"  # the step that keeps what is meant
_GIVEN_UP = (Status.CANCELLED, Status.FAILED)  # such an action may be started again


@dataclass(frozen=True, slots=True)
class Wanted:
    """The selected jobs, by a filter or by their ids, and the action; ``mode`` belongs to a re-run.

    Raises:
        InvalidOption: If the selection, the action or the mode is not valid.
    """

    action: str
    filter: str | None = None
    ids: Sequence[str] | None = None
    mode: str | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        choice_option("action", self.action, ACTIONS)
        if (self.mode is not None) != (self.action == RERUN):
            raise InvalidOption(Message("commands.bulk-mode"))
        if self.mode is not None:
            choice_option("mode", self.mode, [one.value for one in Mode])
        if (self.filter is None) == (self.ids is None):
            raise InvalidOption(Message("commands.bulk-which"))
        if self.filter is not None and not self.filter.strip():
            raise InvalidOption(Message("commands.bulk-empty-filter"))
        if self.ids is not None:
            _check_ids(self.ids)


def _check_ids(ids: Sequence[str]) -> None:
    if not 1 <= len(ids) <= MOST_JOBS:
        raise InvalidOption(Message("commands.bulk-size", most=MOST_JOBS, count=len(ids)))
    wrong = next((one for one in ids if not ID.fullmatch(one)), None)
    if wrong is not None:
        raise InvalidOption(Message("commands.not-an-id", id=wrong[:60]))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selected job as it was read; ``why_not`` is the reason if the action does not apply to it."""

    id: str
    run_no: int
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What the action would do now. ``more``: the filter matches older jobs too, which are not selected.

    The action is started with ``digest`` (of the selection) and ``at`` (the time of the preview).
    """

    wanted: Wanted
    chosen: tuple[Chosen, ...]
    more: bool
    digest: str
    at: datetime

    @property
    def acts(self) -> int:
        """How many jobs the action applies to."""
        return sum(one.why_not is None for one in self.chosen)

    @property
    def skips(self) -> list[tuple[str, int, str]]:
        """(reason, how many, one of them) of the others, the most frequent first."""
        left = [one for one in self.chosen if one.why_not is not None]
        counted = Counter(str(one.why_not) for one in left)
        return [
            (reason, number, next(one.id for one in left if one.why_not == reason))
            for reason, number in counted.most_common()
        ]


# -- what is meant -----------------------------------------------------------------------------------


def preview(
    conn: Connection, wanted: Wanted, now: datetime, *, since: datetime | None = None, view: MaskedView | None = None
) -> Preview:
    """Read every selected job, at most the newest `MOST_JOBS` of a filter.

    Args:
        conn: An open connection.
        wanted: The selection and the action.
        now: The database's time.
        since: When a preview was shown; jobs that have changed since are left out.
        view: What the filter is compared with; None for the stored values.

    Raises:
        InvalidFilter: If the filter is not valid.
    """
    if wanted.ids:
        ids, more = list(dict.fromkeys(wanted.ids)), False
    else:
        ids, more = search.newest_ids(conn, wanted.filter or "", now=now, limit=MOST_JOBS, view=view)
    chosen = tuple(_looked_at(conn, wanted, ids, now, since))
    told = [wanted.action, wanted.mode, sorted((one.id, one.run_no, one.why_not or "") for one in chosen)]
    digest = hashlib.blake2b(dumps(told).encode(), digest_size=16).hexdigest()
    return Preview(wanted, chosen, more, digest, now)


def _looked_at(
    conn: Connection, wanted: Wanted, ids: Sequence[str], now: datetime, since: datetime | None
) -> list[Chosen]:
    rows = action_states(conn, ids)
    changed = changed_since(conn, ids, since) if since is not None else set()
    found = [rows[one] for one in ids if one in rows]
    since_shown = Message("commands.skip-since-shown").stored
    against = _against_deletion(conn, found) if wanted.action == DELETE else {}
    return [
        Chosen(row.id, row.run_no, since_shown if row.id in changed else against.get(row.id) or why_not(wanted, row, now))
        for row in found
    ]


def _against_deletion(conn: Connection, rows: Sequence[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for begin in range(0, len(rows), AT_ONCE):
        some = rows[begin : begin + AT_ONCE]
        against = deletion.obstacles(conn, some)
        found |= {row.id: against[row.id].reason(Status(row.status)).stored for row in some if row.id in against}
    return found


def why_not(wanted: Wanted, row: Any, now: datetime) -> str | None:
    """Why the action does not apply to a job (a row of `action_states`); None if it does."""
    state = ActionState(
        row.id, Status(row.status), row.run_at, row.body_running, row.waits_for, row.active, row.newest, row.continued,
        row.items_failed or 0, row.has_file,
    )  # fmt: skip
    if wanted.action == RERUN and state.status in FINAL and row.reran:
        return Message("commands.skip-reran").stored
    obstacle = _against(wanted, state, now)
    return None if obstacle is None else obstacle.reason(state.status).stored


def _against(wanted: Wanted, state: ActionState, now: datetime) -> Obstacle | None:
    if wanted.action == DELETE:
        return against_delete(state.status, body_running=state.body_running)
    if wanted.action == RETRY:
        return against_retry(state)
    if wanted.action == RERUN:
        return against_rerun(state, Mode(wanted.mode or Mode.FULL))
    return against_cancel(state) if wanted.action == CANCEL else against_run_now(state, now)


# -- the job that does it ----------------------------------------------------------------------------


def under_way(service: Service, digest: str) -> Job | None:
    """The job that performs, or has performed, the preview with this digest, unless it was cancelled or failed."""
    with service.store.read() as conn:
        found = submissions.keyed_job(conn, TASK, digest, service.store.now())
    return None if found is None or found.status in _GIVEN_UP else service._job(found.job_id)


def submit(
    service: Service,
    shown: Preview,
    *,
    actor: str,
    reason: str | None = None,
    per_second: float | None = None,
    key: str | None = None,
    told: str | None = None,
) -> Job:
    """Submit the job that performs a preview, once for each ``key`` (default: its digest).

    ``per_second`` is the most jobs that it handles in a second, ``told`` is recorded instead of the filter.

    Raises:
        Conflict: If the action applies to no job (any more).
        InvalidOption: If ``per_second`` is not valid.
    """
    if not shown.acts:
        why = Message("commands.because", reason=shown.skips[0][0]) if shown.skips else ""
        raise Conflict(Message("commands.bulk-nothing", why=why))
    if per_second is not None and not 0 < per_second <= MOST_PER_SECOND:
        raise InvalidOption(Message("commands.bulk-rate", most=MOST_PER_SECOND, value=repr(per_second)))
    service.make_ready()
    store, wanted, key = service.store, shown.wanted, key or shown.digest
    told = told or wanted.filter
    args = {"action": wanted.action, "mode": wanted.mode, "filter": told, "per_second": per_second}
    with store.read() as conn:
        using = Using(queue=_queue(conn), priority=MOST_URGENT, actor=actor, reason=reason)
    prepared = service._prepare(service.tasks.get(TASK), args, using)
    expires = store.now() + timedelta(seconds=service.settings.idempotency_seconds)
    rules = replace(prepared.rules, idempotency=(TASK, key, key, expires))

    def operation(conn: Connection) -> Any:
        _free(conn, key, store.now())
        answer = store.submit_on(conn, prepared.new, rules)
        if answer.created:
            _keep(conn, service, answer.id, shown, actor, reason, told)
        return answer

    answer = service._patiently(lambda: store.write(operation))
    return service._job(answer.id, created=answer.created)


def _free(conn: Connection, key: str, now: datetime) -> None:
    """Release the key of an action that was cancelled or failed, so that it may be started again."""
    before = submissions.keyed_job(conn, TASK, key, now)
    if before is not None and before.status in _GIVEN_UP:
        submissions.release_key(conn, TASK, key, before.job_id)


def _keep(
    conn: Connection, service: Service, job_id: str, shown: Preview, actor: str, reason: str | None, told: str | None
) -> None:
    """Store the selection with the job, as the result of its first step."""
    store, now = service.store, service.store.now()
    meant = dumps([[one.id, one.run_no] for one in shown.chosen if one.why_not is None])
    runs.add_step(conn, store.dialect, job_id, CHOSEN, step_digest(CHOSEN, (), {}), meant, now)
    detail = {"action": shown.wanted.action, "mode": shown.wanted.mode, "filter": told, "jobs": shown.acts}
    trail.record_action(
        conn, store.dialect, now, actor=actor, name="bulk_started", target=job_id, reason=reason, detail=detail
    )


def _queue(conn: Connection) -> str:
    """A queue from which a living worker claims."""
    there = workers.served_queues(conn) - set(queues.paused(conn))
    return DEFAULT_QUEUE if DEFAULT_QUEUE in there or not there else min(there)
