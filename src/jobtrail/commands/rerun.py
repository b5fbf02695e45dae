"""Running again: the same job once more (retry), or a new job of the same unit (re-run)."""

from __future__ import annotations

from dataclasses import replace
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.errors import AlreadyActive, Conflict, DuplicateRow, IllegalMove, InvalidOption, NotFound
from jobtrail.job import transitions
from jobtrail.job.allowed_actions import (
    ActionRule,
    ActionState,
    Obstacle,
    against_cancel,
    against_rerun,
    against_retry,
    against_run_now,
)
from jobtrail.job.failure import describe
from jobtrail.job.items import failed_again
from jobtrail.job.json_value import encode_arguments
from jobtrail.job.model import Mode, NewJob, Status, StopCause, Submitted, new_id
from jobtrail.job.period import Period
from jobtrail.job.task import OWN_TASKS, TRACKED, choice_option
from jobtrail.job.transitions import Subject
from jobtrail.job.unit import Unit
from jobtrail.messages import Message
from jobtrail.store import items as item_rows
from jobtrail.store import jobs, successors
from jobtrail.store.submissions import Rules

from . import input_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.job.model import FileInput, JobRow
    from jobtrail.job.successor import Successor
    from jobtrail.job.task import Task
    from jobtrail.store import Store

MOST_ITEMS = 10_000  # that a re-run is given by name
MODES = tuple(mode.value for mode in Mode)


def retry(store: Store, job_id: str, *, actor: str, reason: str | None) -> None:
    """Give a job one more attempt.

    Args:
        store: The store.
        job_id: The job.
        actor: Who does it.
        reason: Why, for the trail.

    Raises:
        IllegalMove: If the state of the job does not allow it.
        AlreadyActive: If another job of the unit is active; ``job_id`` names it.
        Conflict: If another job of the unit is newer, or the body still runs.
    """

    def operation(conn: Connection) -> Any:
        row = _existing(conn, job_id)
        obstacle = against_retry(_state_in_unit(conn, row))
        if obstacle is not None:
            return _refused_retry(row, obstacle)
        if (by_celery := _refused_by_celery(row)) is not None:
            return by_celery
        store.wake.need()
        now = store.now()
        refused = jobs.apply(
            conn, store.dialect, [transitions.retried(Subject.of(row), now, actor=actor, reason=reason)], now
        )
        return IllegalMove(Message("commands.job-changed", job=row.id), row.id) if refused else None

    try:
        answer = store.write(operation, key=job_id)
    except DuplicateRow as error:
        raise AlreadyActive(Message("commands.unit-just-taken", job=job_id)) from error
    if answer is not None:
        raise answer


def _refused_by_celery(row: JobRow, mode: Mode | None = None) -> Conflict | None:
    """What a job that Celery executes cannot do: continue a generation, or run with arguments that were not stored."""
    if not row.queue.startswith(TRACKED):
        return None
    if mode not in {None, Mode.FULL}:
        return IllegalMove(Message("commands.celery-full-only", mode=mode), row.id)
    said = loads(row.options).get("celery", {}) if row.options else {}
    if "not_stored" in said:
        return IllegalMove(Message("commands.celery-no-arguments", job=row.id, why=said["not_stored"]), row.id)
    return None


def _refused_retry(row: JobRow, obstacle: Obstacle) -> Conflict:
    job = obstacle.job
    if obstacle.rule is ActionRule.BODY_RUNNING:
        return Conflict(Message("commands.body-still-runs", job=row.id), row.id)
    if obstacle.rule is ActionRule.UNIT_ACTIVE:
        return AlreadyActive(Message("commands.unit-active", job=row.id, active=job), job)
    if obstacle.rule is ActionRule.NOT_NEWEST:
        return Conflict(Message("commands.not-newest", job=row.id, newest=job), job)
    return IllegalMove(_cannot("commands.cannot-retry", row), row.id)


# -- what the rules for actions depend on ------------------------------------------------------------


def action_state(conn: Connection, row: JobRow, *, failed: int | None = None) -> ActionState:
    """Read what decides which actions a job allows.

    Args:
        conn: An open connection.
        row: The job.
        failed: How many of its items failed, where its own columns do not say it yet.
    """
    state = _state_in_unit(conn, row)
    known = state.failed if failed is None else failed
    continued = jobs.active_of_generation(conn, row.ledger)
    return replace(state, continued=continued, failed=known, mended=_mended_by(conn, row) if known else None)


def _mended_by(conn: Connection, row: JobRow) -> str | None:
    """The completed job that has done again what failed in this one, where nothing of the generation has failed now."""
    later = item_rows.mended_by(conn, row.ledger, row.id)
    found = jobs.get(conn, later) if later is not None else None
    return found.id if found is not None and found.status is Status.COMPLETED else None


def _state_in_unit(conn: Connection, row: JobRow) -> ActionState:
    unit, state = row.unit, _own_state(row)
    if unit is None:
        return state
    return replace(state, active=jobs.active_of_unit(conn, unit), newest=jobs.newest_of_unit(conn, unit))


def _own_state(row: JobRow) -> ActionState:
    return ActionState(
        row.id, row.status, row.run_at, row.body_running, row.waits_for, failed=row.items_failed or 0,
        has_file=row.file is not None,
    )  # fmt: skip


# -- a new job of the same unit ----------------------------------------------------------------------


def rerun(
    store: Store,
    job_id: str,
    mode: str,
    *,
    items: Sequence[tuple[str | None, str]] | None = None,
    file: Any = None,
    args: str | None = None,
    limits: str | None = None,
    if_active: str = "raise",
    with_successors: bool = False,
    actor: str | None = None,
    reason: str | None = None,
    submitter: str | None = None,
    trace: Mapping[str, str] | None = None,
) -> Submitted:
    """Submit a new job of the same unit, linked to this one, which stays as it is.

    ``full`` starts the unit again; ``failed_items`` repeats the items that failed or were not reached, and the steps;
    ``resume`` continues with the items that have no outcome yet, and keeps the steps. ``file`` is a corrected input.
    ``items``, pairs of a loop (None: the only one that has the key) and a key, are given again whatever their outcome was, and no
    others. ``args`` and ``limits`` are what `changed` gives. With ``with_successors``, the jobs that were declared to follow this one follow the new one too.

    Raises:
        IllegalMove: If the job has not ended.
        AlreadyActive: If another job of the unit is active; ``job_id`` names it.
        NotFound: If one of ``items`` is not recorded.
    """
    choice_option("mode", mode, MODES)
    mode = _mode_of_items(mode, items)
    corrected = input_files.given(file) if file is not None else None

    said: dict[str, Any] = {"actor": actor, "reason": reason, "submitter": submitter}
    if args is not None:
        said |= {"args": args, "limits": limits}
    said |= {"items": items, "file": corrected, "if_active": if_active, "with_successors": with_successors, "trace": trace}

    def operation(conn: Connection) -> Any:
        return rerun_on(conn, store, job_id, Mode(mode), **said)

    answer = store.write(operation, key=job_id)
    if isinstance(answer, Exception):
        raise answer
    submitted: Submitted = answer
    if submitted.why is not None:
        raise AlreadyActive(Message("commands.unit-active", job=job_id, active=submitted.in_way), submitted.in_way)
    return submitted


def changed(
    task: Task, given: Mapping[str, Any], *, queue: str, source: str | None, limit: int
) -> dict[str, Any]:
    """Return the arguments of a re-run that has others, as `rerun` takes them, and the keys of limits that they make.

    Raises:
        InvalidArguments: If they do not fit the task.
    """
    accepted = task.signature.accept(task.name, (), given)
    return {"args": encode_arguments(accepted, limit), "limits": task.limit_keys(accepted, queue, source)}


def rerun_on(
    conn: Connection,
    store: Store,
    job_id: str,
    mode: Mode,
    *,
    items: Sequence[tuple[str | None, str]] | None = None,
    file: FileInput | None = None,
    if_active: str = "raise",
    with_successors: bool = False,
    trace: Mapping[str, str] | None = None,
    **said: Any,
) -> Submitted | Conflict:
    """Re-run inside an open transaction; ``said`` are columns of the new job.

    A conflict is returned and not raised, so that other writes of the transaction stay.
    """
    row = _existing(conn, job_id)
    # Whether the unit is free is decided by the insert, which knows the unit of a corrected file.
    continued = jobs.active_of_generation(conn, row.ledger) if mode is not Mode.FULL else None
    obstacle = against_rerun(replace(_own_state(row), continued=continued), mode)
    if obstacle is not None and obstacle.rule is ActionRule.STATE:
        return IllegalMove(_cannot("commands.cannot-rerun", row), row.id)
    if (by_celery := _refused_by_celery(row, mode)) is not None:
        return by_celery
    chosen = _chosen(conn, row, items) if items is not None else None
    new, rules = _plan(row, mode, file, if_active, _options(row.options, trace, chosen))
    if obstacle is not None and obstacle.forbids and if_active != "queue":
        return AlreadyActive(Message("commands.continued-by", job=row.id, active=obstacle.job), obstacle.job)
    if with_successors and (following := _following(conn, row.id)):
        new, rules = replace(new, followed=True), replace(rules, following=following)
    return store.submit_on(conn, replace(new, **said), rules)


def _following(conn: Connection, job_id: str) -> tuple[Successor, ...]:
    """The declared successors of a job, for another job; the new body names those of the body again."""
    declared: list[Successor] = [one["successor"] for one in successors.of_job(conn, job_id)]
    return tuple(one.anew() for one in declared if one.run is None)


def _plan(
    row: JobRow, mode: Mode, corrected: FileInput | None, if_active: str, options: str | None
) -> tuple[NewJob, Rules]:
    if corrected is not None and row.file is None:
        raise InvalidOption(Message("commands.no-file-to-correct", job=row.id))
    file = corrected or (input_files.from_json(row.file) if row.file else None)
    period = Period.parse(row.period) if row.period else None
    unit = None
    if row.unit is not None:
        sha256, name = (file.sha256, file.name) if file else (None, None)
        own = loads(row.options).get("unit") if row.options else None
        unit = Unit(row.task, row.source, period, None if period else sha256, None if period else name, own)
    identity = new_id()
    new = NewJob(
        id=identity,
        task=row.task,
        args=row.args,
        kind=row.kind,
        queue=row.queue,
        priority=row.priority,
        max_attempts=row.max_attempts,
        options=options,
        unit=unit.key if unit else None,
        source=row.source,
        period=row.period,
        file=input_files.to_json(file) if file else None,
        generation=None if mode is Mode.FULL else row.ledger,
        mode=mode.value,
        continues=_continues(mode),
        rerun_of=row.id,
        context=row.context,
        labels=row.labels,
        executor=row.executor,
        limits=row.limits,
    )
    linked = row.unit if unit is not None and row.unit != unit.key else None
    labels = loads(row.labels) if row.labels else None
    return new, Rules(unit=unit, if_active=if_active, linked_unit=linked, labels=labels)


def _mode_of_items(mode: str, items: Sequence[Any] | None) -> str:
    """Chosen items continue the generation as failed ones do.

    Raises: InvalidOption.
    """
    if items is None:
        return mode
    if mode == Mode.RESUME or not 0 < len(items) <= MOST_ITEMS:
        raise InvalidOption(Message("commands.bad-items", most=MOST_ITEMS, count=len(items), mode=mode))
    return Mode.FAILED_ITEMS.value


def _chosen(conn: Connection, row: JobRow, wanted: Sequence[tuple[str | None, str]]) -> list[tuple[str, str]]:
    """Loop and key of each item.

    Raises: NotFound, InvalidOption.
    """
    loops, found = item_rows.loops_of(conn, row.ledger, [key for _, key in wanted]), set()
    for loop, key in wanted:
        there = [one for one in loops.get(key, ()) if loop in {None, one}]
        if not there:
            raise NotFound(Message("commands.no-item", job=row.id, key=repr(key)))
        if len(there) > 1:
            raise InvalidOption(Message("commands.item-of-loops", key=repr(key), loops=sorted(there)))
        found.add((there[0], key))
    return sorted(found)


def _options(
    kept: str | None, trace: Mapping[str, str] | None, chosen: Sequence[tuple[str, str]] | None
) -> str | None:
    """The options of the first job; its trace is linked, the new job has its own, and its own choice of items."""
    options = loads(kept) if kept else {}
    options.pop("items", None)
    options |= {"items": chosen} if chosen else {}
    first = options.pop("trace", None)
    options |= {"linked": first} if first else {}
    options |= {"trace": trace} if trace else {}
    return dumps(options) if options else None


def _continues(mode: Mode) -> str | None:
    if mode is Mode.FULL:
        return None
    return failed_again(0) if mode is Mode.FAILED_ITEMS else None


def _existing(conn: Connection, job_id: str) -> JobRow:
    row = jobs.get(conn, job_id, lock=True)
    if row is None:
        raise NotFound(Message("commands.no-job", job=job_id))
    return row


def _cannot(code: str, row: JobRow) -> Message:
    return Message(code, job=row.id, status=row.status)


def cancel(
    store: Store, job_id: str, *, actor: str, reason: str | None, now: datetime | None = None, force: bool = True
) -> str:
    """Cancel a job that does not run, or ask its body to stop; returns the new state.

    The waiting jobs that one of jobtrail's own jobs has submitted are cancelled with it. Without ``force``, a second
    request does not force the end, so that asking twice is safe.

    Raises:
        IllegalMove: If the job has ended, or was asked to stop already and ``force`` is False.
    """

    def operation(conn: Connection) -> Any:
        row = _existing(conn, job_id)
        at = now or store.now()
        job = Subject.of(row)
        obstacle = against_cancel(_own_state(row))
        if row.status is Status.RUNNING:
            move = transitions.stop_requested(job, at, cause=StopCause.CANCEL, actor=actor, reason=reason)
        elif obstacle is not None and obstacle.rule is ActionRule.ENDED:
            return IllegalMove(_cannot("commands.cannot-cancel", row), row.id)
        elif obstacle is not None and not force:
            return IllegalMove(Message("commands.stop-asked-already", job=row.id), row.id)
        elif obstacle is not None:
            text = Message("commands.forced", cause=row.stop_cause)
            error = None if row.stop_cause == StopCause.CANCEL else describe(TimeoutError(text)).to_json()
            move = transitions.forced(
                job, at, actor=actor, error=error, reason=reason or Message("commands.second-cancel").stored
            )
        else:
            move = transitions.cancelled(job, at, actor=actor, reason=reason)
        store.wake.need()
        children = _waiting_children(conn, row)
        also = [
            transitions.cancelled(Subject.of(one), at, actor=actor, reason=Message("commands.with-job", job=row.id).stored)
            for one in children
        ]
        if move in jobs.apply(conn, store.dialect, [move, *also], at, wake=store.wake.need):
            return IllegalMove(Message("commands.job-changed", job=row.id), row.id)
        return move.to.value

    answer = store.write(operation, key=job_id)
    if isinstance(answer, Exception):
        raise answer
    state: str = answer
    return state


def _waiting_children(conn: Connection, row: JobRow) -> list[JobRow]:
    """The waiting children of a job of jobtrail's own; those of an application's job are not cancelled with it."""
    return jobs.waiting_children(conn, row.id) if row.task.startswith(OWN_TASKS) else []


def run_now(store: Store, job_id: str, *, actor: str, reason: str | None = None) -> None:
    """Make a pending job due at once.

    Raises:
        IllegalMove: If it is not pending or waits for another job.
    """

    def operation(conn: Connection) -> Any:
        row = _existing(conn, job_id)
        now = store.now()
        obstacle = against_run_now(_own_state(row), now)
        if obstacle is not None and obstacle.forbids:
            return IllegalMove(_cannot("commands.cannot-start", row), row.id)
        store.wake.need()
        refused = jobs.apply(
            conn, store.dialect, [transitions.run_now(Subject.of(row), now, actor=actor, reason=reason)], now
        )
        return IllegalMove(Message("commands.job-changed", job=row.id), row.id) if refused else None

    answer = store.write(operation, key=job_id)
    if answer is not None:
        raise answer
