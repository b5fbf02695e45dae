"""What is done with schedules at run time: each change one transaction with its line in the trail."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.commands import submit
from jobtrail.commands.handles import BoundTask, Job
from jobtrail.database.wakeup import SCHEDULES
from jobtrail.errors import AlreadyActive, Conflict, InvalidArguments, InvalidSchedule, NotFound
from jobtrail.job.masking import left_masked, restored
from jobtrail.job.period import in_our_time
from jobtrail.store import events, schedules
from jobtrail.store.schedules import SUBMITTED, Slot

from .definition import DEFAULTS, Definition, check_for, declared, json_of
from .dispatcher import for_slot, using_of
from .initial_position import moved, new_row
from .state import declared_of, definition_of, edits_of
from .sync import PERSON, shown
from .view import masked_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.commands.submit import Prepared
    from jobtrail.store.schedules import ScheduleRow

    from .declarations import Declarations

TRIES = 5
GOING = (schedules.ACTIVE, schedules.PAUSED)
_TICK = timedelta(microseconds=1)


class Steering:
    """Adds, changes, pauses, runs and removes, whoever runs the schedules; who does it and why stands in the trail."""

    def __init__(self, service: Service, declarations: Declarations) -> None:
        self._service = service
        self._declarations = declarations

    def add(
        self, name: str, task: BoundTask | str, rule: Any, *, tz: Any = None, actor: str = "program",
        reason: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """Add a schedule at run time; words as in ``@jobs.schedule``.

        Raises: InvalidSchedule, InvalidArguments, UnknownTask with what is wrong; Conflict when the name is taken.
        """
        known = task.task if isinstance(task, BoundTask) else self._service.tasks.get(task)
        one = self._declarations.checked(known, name, declared(rule, tz, **options), PERSON)
        self._service.make_ready()
        now = self._service.store.now()
        row = new_row(one.name, one.task, PERSON, one.definition, one.text, now)
        if row.next_at is None:
            message = f"the schedule '{name}' would never run: no time of it lies ahead"
            raise InvalidSchedule(message)
        if not self._service.store.write(partial(self._add, row, actor, reason)):
            message = f"there is a schedule '{name}' already"
            raise Conflict(message)

    def edit(
        self, name: str, *, rule: Any = None, tz: Any = None, actor: str = "program", reason: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Change words of a schedule; what a person changes of a declared one stays through deploys, and shows as drift.

        Raises: NotFound; InvalidSchedule, InvalidArguments when what came of it cannot be.
        """
        given = dict(options)
        if tz is not None and rule is None:
            message = "tz= is the zone of a rule: give rule= with it"
            raise InvalidSchedule(message)
        if rule is not None:
            given["rule"] = declared(rule, tz).rule
        if not given:
            message = "nothing to edit was given"
            raise InvalidSchedule(message)
        self._change(name, partial(self._edited, json_of(given), actor, reason), "schedule_edited", actor, reason)

    def take_code(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Let go of what was edited: what the program declares is in force again.

        Raises: NotFound.
        """
        self._change(name, self._as_declared, "schedule_as_declared", actor, reason)

    def pause(
        self, name: str, *, reason: str | None = None, until: datetime | None = None, actor: str = "program"
    ) -> None:
        """Run nothing until `resume`, or until a moment; its times are noted as missed and not made up for.

        Raises: NotFound; Conflict when it does not go on; InvalidSchedule for an end without zone or in the past.
        """
        now = self._service.store.now()
        if until is not None and ((moment := in_our_time(until)) is None or moment <= now):
            message = f"until= is a datetime with a zone, later than now and before the year 3000; {str(until)[:60]!r} is none"
            raise InvalidSchedule(message)
        values = {
            "state": schedules.PAUSED, "paused_by": actor, "paused_reason": reason, "paused_at": now, "paused_until": until,
        }  # fmt: skip

        def paused(row: ScheduleRow, _now: datetime) -> dict[str, Any]:
            _only(row, row.state in GOING, "be paused")
            return {**values, "paused_at": row.paused_at} if row.state == schedules.PAUSED else values

        self._change(name, paused, "schedule_paused", actor, reason)

    def resume(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Go on with the next planned time.

        Raises: NotFound; Conflict when it is not paused.
        """

        def resumed(row: ScheduleRow, now: datetime) -> dict[str, Any]:
            _only(row, row.state == schedules.PAUSED, "be resumed")
            return {
                "state": schedules.ACTIVE, "paused_by": None, "paused_reason": None, "paused_until": now,
                "failures_in_row": 0, "due_at": row.due_at or row.next_at,
            }  # fmt: skip

        self._change(name, resumed, "schedule_resumed", actor, reason)

    def remove(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Remove a schedule and its slots; its jobs and its trail stay.

        Raises: NotFound; Conflict for one that the program declares: it would come back with the next worker.
        """
        self._service.make_ready()
        self._service.store.write(partial(self._remove, name, actor, reason))

    def run_now(self, name: str, *, actor: str = "program", reason: str | None = None) -> Job:
        """Submit its job now, beside its planned times; this moment is the job's slot and decides its period.

        Raises: NotFound; AlreadyActive when the run before goes on and the schedule allows no two.
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

    def _for_now(self, row: ScheduleRow, definition: Definition, actor: str, reason: str | None) -> Prepared:
        service = self._service
        task = service.tasks.get(row.task)
        args = task.signature.bind(task.name, (), definition.args)
        using = using_of(definition, row.name, service.store.now()).with_options(
            actor=actor, reason=reason or f"schedule '{row.name}', run now", if_active="raise", if_done="run", run_at=None
        )
        return service._prepare(task, args, using)

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
        message = f"the schedule '{name}' is being changed by others; look at it again"
        raise Conflict(message)

    def _write_change(
        self, name: str, changed: Callable[[ScheduleRow, datetime], Mapping[str, Any]], event: str, actor: str,
        reason: str | None, conn: Connection,
    ) -> bool:  # fmt: skip
        row, now = self._existing(conn, name), self._service.store.now()
        values = changed(row, now)
        if not schedules.change(conn, row, now, values):
            return False
        self._tell(conn, row, event, actor, reason, **_told(values, self._marked(row)))
        return True

    def _existing(self, conn: Connection, name: str) -> ScheduleRow:
        row = schedules.named(conn, name, lock=True)
        if row is None:
            raise not_there(name, self._declarations)
        return row

    def _add(self, row: ScheduleRow, actor: str, reason: str | None, conn: Connection) -> bool:
        if not schedules.add(conn, self._service.store.dialect, [row]):
            return False
        self._tell(conn, row, "schedule_added", actor, reason, definition=shown(row.definition, self._marked(row)))
        return True

    def _edited(
        self, changes: Mapping[str, Any], actor: str, reason: str | None, row: ScheduleRow, now: datetime
    ) -> dict[str, Any]:
        """A person's own schedule is changed itself; of a declared one his changes are kept beside it."""
        declared_, edits = declared_of(row), edits_of(row)
        before = declared_.with_changes(edits)
        ours = declared_.to_json()
        wanted = {**edits, **_unmasked(changes, before)}
        kept = {key: value for key, value in wanted.items() if ours.get(key, DEFAULTS.get(key, ...)) != value}
        after = self._fits(row, declared_.with_changes(kept))
        placed = moved(row, before, after, now)
        if row.origin == PERSON:
            return {"definition": json.dumps(after.to_json(), sort_keys=True), **placed}
        told = {"changes": kept, "by": actor, "at": now.isoformat(), "reason": reason}
        return {"edits": json.dumps(told) if kept else None, **placed}

    def _fits(self, row: ScheduleRow, definition: Definition) -> Definition:
        """Where the task is not known here, its arguments are compared when it is."""
        task = self._service.tasks.find(row.task)
        return definition if task is None else check_for(definition, task, self._service.settings.argument_limit)

    def _marked(self, row: ScheduleRow) -> frozenset[str]:
        """What the task calls secret, where it is known here."""
        task = self._service.tasks.find(row.task)
        return task.secret if task is not None else frozenset()

    def _as_declared(self, row: ScheduleRow, now: datetime) -> dict[str, Any]:
        declared_ = declared_of(row)
        return {"edits": None, **moved(row, declared_.with_changes(edits_of(row)), declared_, now)}

    def _remove(self, name: str, actor: str, reason: str | None, conn: Connection) -> None:
        row = self._existing(conn, name)
        if row.origin != PERSON and row.state in GOING and row.unknown_since is None:
            message = f"the schedule '{name}' is declared by the program ({row.origin}): remove it there, or pause it"
            raise Conflict(message)
        if not schedules.remove(conn, row):
            message = f"the schedule '{name}' has changed just now; look at it again"
            raise Conflict(message)
        schedules.remove_slots(conn, row.id)
        self._tell(conn, row, "schedule_removed", actor, reason, definition=shown(row.definition, self._marked(row)))

    def _run_now(self, name: str, definition: Definition, template: Prepared, actor: str, conn: Connection) -> Any:
        row, now = self._existing(conn, name), self._service.store.now()
        states = schedules.states_of_jobs(conn, [row.last_job] if row.last_job else [])
        goes_on = states.get(row.last_job or "", "completed") not in schedules.ENDED
        if goes_on and definition.overlap != "allow":
            return AlreadyActive(f"the run before of the schedule '{name}' goes on: {row.last_job}", row.last_job)
        moment = now
        while schedules.taken_slots(conn, [(row.id, moment)]):
            moment += _TICK
        prepared = for_slot(template, moment)
        answer = self._service.store.submit_on(conn, prepared.new, prepared.rules)
        if answer.created:
            schedules.put_slot(conn, Slot(row.id, moment, SUBMITTED, f"run now by {actor}", answer.id, None, now))
            schedules.change(conn, row, now, {"last_job": answer.id, "last_outcome": None})
        return answer

    def _tell(
        self, conn: Connection, row: ScheduleRow, event: str, actor: str, reason: str | None, **detail: Any
    ) -> None:
        now = self._service.store.now()
        line = events.note(row.id, now, event, actor=actor, reason=reason, detail={"schedule": row.name, **detail})
        events.append(conn, self._service.store.dialect, [line])
        self._service.store.wake.need(SCHEDULES)


def _unmasked(changes: Mapping[str, Any], before: Definition) -> Mapping[str, Any]:
    """What is still masked stays what it was.

    Raises: InvalidArguments for a mask that hides nothing.
    """
    if "args" not in changes:
        return changes
    args = restored(dict(changes["args"]), dict(before.args))
    place = left_masked(args, dict(before.args))
    if place is not None:
        message = f"{place} is masked: say what it is"
        raise InvalidArguments(message, place)
    return {**changes, "args": args}


def _told(values: Mapping[str, Any], marked: frozenset[str]) -> dict[str, Any]:
    """What the trail tells of a change, with secrets masked."""
    told: dict[str, Any] = {}
    if values.get("edits"):
        told["edits"] = masked_words(json.loads(values["edits"])["changes"], marked)
    if "definition" in values:
        told["definition"] = shown(values["definition"], marked)
    if values.get("paused_until") is not None and values["state"] == schedules.PAUSED:
        told["until"] = values["paused_until"].isoformat()
    return told


def not_there(name: str, declarations: Declarations) -> NotFound:
    """Why there is no schedule of a name."""
    if name in declarations:
        return NotFound(f"the schedule '{name}' is declared and not stored yet: that happens when a worker starts")
    return NotFound(f"there is no schedule '{name}'")


def _only(row: ScheduleRow, able: bool, what: str) -> None:
    if not able:
        message = f"the schedule '{row.name}' is {row.state} and cannot {what}"
        raise Conflict(message)
