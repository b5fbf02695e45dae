"""Commands: add, edit, pause, resume, run and remove schedules, each in one transaction with its event."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.commands import submit
from jobtrail.commands.job_handle import Job
from jobtrail.commands.task_handle import BoundTask
from jobtrail.database.wakeup import SCHEDULES
from jobtrail.errors import AlreadyActive, Conflict, InvalidArguments, InvalidSchedule, NotFound
from jobtrail.job.masking import left_masked, restored
from jobtrail.job.period import in_our_time
from jobtrail.messages import Message
from jobtrail.store import events, schedules
from jobtrail.store.schedules import SUBMITTED, Slot

from .celery_task import for_celery, known_task
from .definition import DEFAULTS, ScheduleDefinition, check_for, declared, json_of
from .dispatcher import for_slot, using_of
from .initial_position import new_row, position_after_change
from .state import declared_of, definition_of, edits_of
from .sync import PERSON, shown
from .view import masked_options

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.commands.submit import Prepared
    from jobtrail.store.schedules import ScheduleRow

    from .declarations import Declarations

TRIES = 5
CHANGEABLE = (schedules.ACTIVE, schedules.PAUSED)
_TICK = timedelta(microseconds=1)


class ScheduleCommands:
    """Changes stored schedules, whichever process runs them. Events record the actor and the reason."""

    def __init__(self, service: Service, declarations: Declarations) -> None:
        self._service = service
        self._declarations = declarations

    def add(
        self, name: str, task: BoundTask | str, rule: Any, *, tz: Any = None, actor: str = "program",
        reason: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """Add a schedule at run time.

        Args:
            name: Name of the schedule.
            task: The task, or its name.
            rule: Time rule, as for ``@jobs.schedule``.
            tz: Time zone of the rule; default: UTC.
            actor: Who adds it, for the trail.
            reason: Reason for the trail.
            options: As for ``@jobs.schedule``.

        Raises:
            InvalidSchedule: If an option is not valid, or the schedule would never run.
            InvalidArguments: If the task does not take the arguments.
            UnknownTask: If there is no such task.
            Conflict: If the name is taken.

        """
        known = task.task if isinstance(task, BoundTask) else self._service.tasks.get(task)
        one = self._declarations.checked(known, name, declared(rule, tz, **options), PERSON)
        self._service.make_ready()
        now = self._service.store.now()
        row = new_row(one.name, one.task, PERSON, one.definition, one.text, now)
        if row.next_at is None:
            raise InvalidSchedule(Message("schedules.never-runs", name=name))
        if not self._service.store.write(partial(self._add, row, actor, reason)):
            raise Conflict(Message("schedules.name-taken", name=name))

    def edit(
        self, name: str, *, rule: Any = None, tz: Any = None, actor: str = "program", reason: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Change options of a schedule. Edits of a declared schedule are kept through deploys and shown as drift.

        Raises:
            NotFound: If there is no such schedule.
            InvalidSchedule, InvalidArguments: If the changed schedule is not valid.
        """
        given = dict(options)
        if tz is not None and rule is None:
            raise InvalidSchedule(Message("schedules.tz-without-rule"))
        if rule is not None:
            given["rule"] = declared(rule, tz).rule
        if not given:
            raise InvalidSchedule(Message("schedules.nothing-to-edit"))
        self._change(name, partial(self._edited, json_of(given), actor, reason), "schedule_edited", actor, reason)

    def take_code(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Drop all edits, so that the schedule is as declared again.

        Raises:
            NotFound: If there is no such schedule.
        """
        self._change(name, self._as_declared, "schedule_as_declared", actor, reason)

    def pause(
        self, name: str, *, reason: str | None = None, until: datetime | None = None, actor: str = "program"
    ) -> None:
        """Pause a schedule until `resume`, or until a moment. Planned times in the pause are missed and not caught up.

        Raises:
            NotFound: If there is no such schedule.
            Conflict: If the schedule is retired or finished.
            InvalidSchedule: If ``until`` has no time zone or is in the past.
        """
        now = self._service.store.now()
        if until is not None and ((moment := in_our_time(until)) is None or moment <= now):
            raise InvalidSchedule(Message("schedules.bad-until", value=repr(str(until)[:60])))
        values = {
            "state": schedules.PAUSED, "paused_by": actor, "paused_reason": reason, "paused_at": now, "paused_until": until,
        }  # fmt: skip

        def paused(row: ScheduleRow, _now: datetime) -> dict[str, Any]:
            if row.state not in CHANGEABLE:
                raise Conflict(Message("schedules.cannot-pause", name=row.name, state=row.state))
            return {**values, "paused_at": row.paused_at} if row.state == schedules.PAUSED else values

        self._change(name, paused, "schedule_paused", actor, reason)

    def resume(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Resume a paused schedule at its next planned time.

        Raises:
            NotFound: If there is no such schedule.
            Conflict: If it is not paused.
        """

        def resumed(row: ScheduleRow, now: datetime) -> dict[str, Any]:
            if row.state != schedules.PAUSED:
                raise Conflict(Message("schedules.cannot-resume", name=row.name, state=row.state))
            return {
                "state": schedules.ACTIVE, "paused_by": None, "paused_reason": None, "paused_until": now,
                "failures_in_row": 0, "due_at": row.due_at or row.next_at,
            }  # fmt: skip

        self._change(name, resumed, "schedule_resumed", actor, reason)

    def remove(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Remove a schedule and its slots; its jobs and events stay.

        Raises:
            NotFound: If there is no such schedule.
            Conflict: If the program declares it: the next worker would store it again.
        """
        self._service.make_ready()
        self._service.store.write(partial(self._remove, name, actor, reason))

    def run_now(self, name: str, *, actor: str = "program", reason: str | None = None) -> Job:
        """Submit a job now, in addition to the planned times. This moment is the job's slot and decides its period.

        Raises:
            NotFound: If there is no such schedule.
            AlreadyActive: If the last job is active and ``overlap`` is not "allow".
        """
        self._service.make_ready()
        with self._service.store.read() as conn:
            row = self._existing(conn, name)
        definition = definition_of(row)
        template = self._for_now(row, definition, actor, reason)
        answer = self._service.store.write(partial(self._run_now, name, definition, template, actor))
        if isinstance(answer, Exception):
            raise answer
        submit.check_answer(answer, template)
        return Job(self._service.store, answer.id, created=True)

    def _for_now(self, row: ScheduleRow, definition: ScheduleDefinition, actor: str, reason: str | None) -> Prepared:
        service = self._service
        task = known_task(service.tasks, row.task)
        args = task.signature.accept(task.name, (), definition.args)
        using = using_of(definition, row.name, service.store.now()).with_options(
            actor=actor,
            reason=reason or Message("schedules.run-now", name=row.name).stored,
            if_active="raise",
            if_done="run",
            run_at=None,
        )
        return for_celery(service._prepare(task, args, using), definition)

    # -- the writes ----------------------------------------------------------------------------------

    def _change(
        self, name: str, changed: Callable[[ScheduleRow, datetime], Mapping[str, Any]], event: str, actor: str,
        reason: str | None,
    ) -> None:  # fmt: skip
        self._service.make_ready()
        operation = partial(self._write_change, name, changed, event, actor, reason)
        for _ in range(TRIES):
            if self._service.store.write(operation):
                return
        raise Conflict(Message("schedules.just-changed", name=name))

    def _write_change(
        self, name: str, changed: Callable[[ScheduleRow, datetime], Mapping[str, Any]], event: str, actor: str,
        reason: str | None, conn: Connection,
    ) -> bool:  # fmt: skip
        row, now = self._existing(conn, name), self._service.store.now()
        values = changed(row, now)
        if not schedules.change(conn, row, now, values):
            return False
        self._append_event(conn, row, event, actor, reason, **_event_detail(values, self._marked(row)))
        return True

    def _existing(self, conn: Connection, name: str) -> ScheduleRow:
        row = schedules.named(conn, name, lock=True)
        if row is None:
            raise not_there(name, self._declarations)
        return row

    def _add(self, row: ScheduleRow, actor: str, reason: str | None, conn: Connection) -> bool:
        if not schedules.add(conn, self._service.store.dialect, [row]):
            return False
        self._append_event(
            conn, row, "schedule_added", actor, reason, definition=shown(row.definition, self._marked(row))
        )
        return True

    def _edited(
        self, changes: Mapping[str, Any], actor: str, reason: str | None, row: ScheduleRow, now: datetime
    ) -> dict[str, Any]:
        """Return the columns of an edit: a person's own schedule is changed itself, edits of a declared one are kept apart."""
        declared_, edits = declared_of(row), edits_of(row)
        before = declared_.with_changes(edits)
        unedited = declared_.to_json()
        wanted = {**edits, **_unmasked(changes, before)}
        kept = {key: value for key, value in wanted.items() if unedited.get(key, DEFAULTS.get(key, ...)) != value}
        after = self._fits(row, declared_.with_changes(kept))
        position = position_after_change(row, before, after, now)
        if row.origin == PERSON:
            return {"definition": json.dumps(after.to_json(), sort_keys=True), **position}
        stored = {"changes": kept, "by": actor, "at": now.isoformat(), "reason": reason}
        return {"edits": json.dumps(stored) if kept else None, **position}

    def _fits(self, row: ScheduleRow, definition: ScheduleDefinition) -> ScheduleDefinition:
        """Check the arguments where the task is known here; otherwise a process that knows it checks them."""
        task = self._service.tasks.find(row.task)
        return definition if task is None else check_for(definition, task, self._service.settings.argument_limit)

    def _marked(self, row: ScheduleRow) -> frozenset[str]:
        """Return the secret arguments of the task, where it is known here."""
        task = self._service.tasks.find(row.task)
        named = frozenset(self._service.settings.secret_names)
        return named | task.secret if task is not None else named

    def _as_declared(self, row: ScheduleRow, now: datetime) -> dict[str, Any]:
        declared_ = declared_of(row)
        return {"edits": None, **position_after_change(row, declared_.with_changes(edits_of(row)), declared_, now)}

    def _remove(self, name: str, actor: str, reason: str | None, conn: Connection) -> None:
        row = self._existing(conn, name)
        if row.origin != PERSON and row.state in CHANGEABLE and row.unknown_since is None:
            raise Conflict(Message("schedules.declared-by-program", name=name, origin=row.origin))
        if not schedules.remove(conn, row):
            raise Conflict(Message("schedules.just-changed", name=name))
        schedules.remove_slots(conn, row.id)
        self._append_event(
            conn, row, "schedule_removed", actor, reason, definition=shown(row.definition, self._marked(row))
        )

    def _run_now(
        self, name: str, definition: ScheduleDefinition, template: Prepared, actor: str, conn: Connection
    ) -> Any:
        row, now = self._existing(conn, name), self._service.store.now()
        states = schedules.states_of_jobs(conn, [row.last_job] if row.last_job else [])
        goes_on = states.get(row.last_job or "", "completed") not in schedules.ENDED
        if goes_on and definition.overlap != "allow":
            return AlreadyActive(Message("schedules.previous-active", name=name, job=row.last_job), row.last_job)
        moment = now
        while schedules.taken_slots(conn, [(row.id, moment)]):
            moment += _TICK
        prepared = for_slot(template, moment)
        answer = self._service.store.submit_on(conn, prepared.new, prepared.rules)
        if answer.created:
            reason = Message("schedules.slot-run-now", actor=actor).stored
            schedules.put_slot(conn, Slot(row.id, moment, SUBMITTED, reason, answer.id, None, now))
            schedules.change(conn, row, now, {"last_job": answer.id, "last_outcome": None})
        return answer

    def _append_event(
        self, conn: Connection, row: ScheduleRow, event: str, actor: str, reason: str | None, **detail: Any
    ) -> None:
        now = self._service.store.now()
        line = events.note(row.id, now, event, actor=actor, reason=reason, detail={"schedule": row.name, **detail})
        events.append(conn, self._service.store.dialect, [line])
        self._service.store.wake.need(SCHEDULES)


def _unmasked(changes: Mapping[str, Any], before: ScheduleDefinition) -> Mapping[str, Any]:
    """Replace masked arguments by the values they had.

    Raises:
        InvalidArguments: If a mask replaces nothing.
    """
    if "args" not in changes:
        return changes
    args = restored(dict(changes["args"]), dict(before.args))
    place = left_masked(args, dict(before.args))
    if place is not None:
        raise InvalidArguments(Message("schedules.masked", place=place), place)
    return {**changes, "args": args}


def _event_detail(values: Mapping[str, Any], marked: frozenset[str]) -> dict[str, Any]:
    """Return the detail of the event for a change, with secrets masked."""
    detail: dict[str, Any] = {}
    if values.get("edits"):
        detail["edits"] = masked_options(json.loads(values["edits"])["changes"], marked)
    if "definition" in values:
        detail["definition"] = shown(values["definition"], marked)
    if values.get("paused_until") is not None and values["state"] == schedules.PAUSED:
        detail["until"] = values["paused_until"].isoformat()
    return detail


def not_there(name: str, declarations: Declarations) -> NotFound:
    """Return the error for a name that no stored schedule has."""
    if name in declarations:
        return NotFound(Message("schedules.not-stored-yet", name=name))
    return NotFound(Message("schedules.no-schedule", name=name))
