"""The schedules of an application, `jobs.schedules`: declare, read and change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobtrail.async_twin import async_twin
from jobtrail.database import leases
from jobtrail.job.model import new_id
from jobtrail.store import events, schedules

from .commands import ScheduleCommands, not_there
from .declarations import Declarations, PluginSchedules
from .leader import PREFIX
from .scheduler import Scheduler, SchedulerLoop
from .sync import ScheduleDifferences, sync
from .view import Schedule, view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from jobtrail.commands.job_handle import Job
    from jobtrail.commands.service import Service
    from jobtrail.commands.task_handle import BoundTask
    from jobtrail.store.schedules import Slot
    from jobtrail.worker.worker import Worker


class Schedules:
    """The schedules of one application (``jobs.schedules``).

    Declarations in the program are checked at once and stored when a worker starts, or by `sync`. All other methods
    read and change the stored schedules, whichever process runs them.
    """

    def __init__(self, service: Service, of_plugins: PluginSchedules) -> None:
        self._service = service
        self._declarations = Declarations(service, of_plugins)
        self._commands = ScheduleCommands(service, self._declarations)

    # -- declaring -----------------------------------------------------------------------------------

    def declare(self, task: BoundTask, rule: Any, *, name: str | None = None, tz: Any = None, **options: Any) -> None:
        """Declare a schedule in code, as ``@jobs.schedule`` does.

        Args:
            task: Task whose jobs the schedule creates.
            rule: Time rule, as for `JobTrail.schedule`.
            name: Name of the schedule; default: the name of the task.
            tz: Time zone of the rule; default: UTC.
            **options: Options of the schedule: ``args``, ``source``, ``period``, ``catch_up``, ``overlap``, ….

        Raises:
            InvalidSchedule: If the rule or an option is not valid.
            InvalidOption: If an option of the job is not valid.
            InvalidArguments: If ``args`` do not fit the task.
        """
        self._declarations.declare(task, rule, name=name, tz=tz, **options)

    def from_table(self, table: Iterable[Mapping[str, Any]]) -> None:
        """Declare schedules from settings: all of the table, or none.

        Args:
            table: Mappings with ``task``, ``rule`` and the options of `declare`.

        Raises:
            InvalidSchedule: If an entry is not valid; the message names it.
        """
        self._declarations.from_table(table)

    def from_celery(self, beat_schedule: Mapping[str, Any], tz: Any = None, **options: Any) -> None:
        """Declare the schedules of a Celery beat configuration: all, or none.

        Args:
            beat_schedule: Value of ``CELERY_BEAT_SCHEDULE``.
            tz: Value of ``CELERY_TIMEZONE``; default: UTC.
            **options: ``tasks``: Celery's task names to names of this application, where neither the full name nor its last
                part is a task. ``most_urgent``: 0 if the broker was Redis.

        Raises:
            InvalidSchedule: If an entry is not valid; the message names it.
        """
        self._declarations.from_celery(beat_schedule, tz, **options)

    def sync(self) -> ScheduleDifferences:
        """Store the declared schedules, as a starting worker does; only differences are written.

        Returns:
            What was added, changed and retired.

        Raises:
            StoreUnavailable: If the database is not reachable.
        """
        self._service.make_ready()
        store, declared = self._service.store, self._declarations.all()
        return sync(store, declared, lambda task: self._service.tasks.find(task) is not None, store.now())

    # -- reading -------------------------------------------------------------------------------------

    def list(self) -> Sequence[Schedule]:
        """Return all stored schedules, by name."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            rows = schedules.everyone(conn)
            states = schedules.states_of_jobs(conn, [row.last_job for row in rows if row.last_job])
        return [view(row, states.get(row.last_job or "") or row.last_outcome) for row in rows]

    def declared_only(self) -> Sequence[str]:
        """Return the names of declared schedules that are not stored yet."""
        stored = {one.name for one in self.list()}
        return sorted(one.name for one in self._declarations.all() if one.name not in stored)

    def get(self, name: str) -> Schedule:
        """Return a stored schedule.

        Args:
            name: Name of the schedule.

        Raises:
            NotFound: If no schedule has this name.
        """
        self._service.make_readable()
        with self._service.store.read() as conn:
            row = schedules.named(conn, name)
            if row is None:
                raise not_there(name, self._declarations)
            states = schedules.states_of_jobs(conn, [row.last_job] if row.last_job else [])
        return view(row, states.get(row.last_job or "") or row.last_outcome)

    def next(self, name: str, count: int = 20) -> Sequence[datetime]:
        """Return the next planned times, in UTC.

        Args:
            name: Name of the schedule.
            count: Number of times.

        Raises:
            NotFound: If no schedule has this name.
        """
        return self.get(name).next(count, self._service.store.now())

    def slots(self, name: str, *, limit: int = 100, before: datetime | None = None) -> Sequence[Slot]:
        """Return the planned times of a schedule and what happened to them, latest first.

        Args:
            name: Name of the schedule.
            limit: Greatest number of slots.
            before: Only slots before this time (UTC).

        Raises:
            NotFound: If no schedule has this name.
        """
        found = self.get(name)
        with self._service.store.read() as conn:
            return schedules.slots_of(conn, found.id, limit=limit, before=before)

    def missed(
        self, *, since: datetime | None = None, limit: int = 100, name: str | None = None
    ) -> Sequence[tuple[str, Slot]]:
        """Return planned times that did not run, with the name of the schedule; latest first.

        Args:
            since: Only slots recorded after this time (UTC).
            limit: Greatest number of slots.
            name: Of this schedule only.
        """
        self._service.make_readable()
        with self._service.store.read() as conn:
            return schedules.missed_slots(conn, since=since, limit=limit, name=name)

    def events(self, name: str) -> Sequence[events.Event]:
        """Return the trail of a schedule, oldest event first: who added, edited or paused it, what a deployment changed.

        Args:
            name: Name of the schedule.

        Raises:
            NotFound: If no schedule has this name.
        """
        found = self.get(name)
        with self._service.store.read() as conn:
            return events.of_job(conn, found.id)

    def leaders(self) -> dict[str, str]:
        """Return the id of the worker that currently runs the schedules of each task, by task name."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            held = leases.everyone(conn, self._service.store.now())
        return {name.removeprefix(PREFIX): holder for name, holder, _ in held if name.startswith(PREFIX)}

    # -- changing ------------------------------------------------------------------------------------

    def add(self, name: str, task: BoundTask | str, rule: Any, **options: Any) -> Schedule:
        """Add a schedule at run time.

        Args:
            name: Name of the schedule.
            task: Task, or its name.
            rule: Time rule, as for `JobTrail.schedule`.
            **options: Options as for `declare`, and ``actor`` and ``reason`` for the trail.

        Raises:
            InvalidSchedule: If the rule or an option is not valid.
            InvalidArguments: If ``args`` do not fit the task.
            UnknownTask: If the task is not registered.
            Conflict: If the name is taken.
        """
        self._commands.add(name, task, rule, **options)
        return self.get(name)

    def edit(self, name: str, **changes: Any) -> Schedule:
        """Change a schedule. Changes of a declared schedule survive deployments and are shown as drift.

        Args:
            name: Name of the schedule.
            **changes: ``rule`` (with ``tz``) and options as for `declare`; ``actor`` and ``reason`` for the trail.

        Raises:
            NotFound: If no schedule has this name.
            InvalidSchedule: If the result is not valid.
            InvalidArguments: If ``args`` do not fit the task.
        """
        self._commands.edit(name, **changes)
        return self.get(name)

    def take_code(self, name: str, *, actor: str = "program", reason: str | None = None) -> Schedule:
        """Discard the changes of `edit`: the declaration of the program applies again.

        Args:
            name: Name of the schedule.
            actor: Who does it, for the trail.
            reason: Reason for the trail.

        Raises:
            NotFound: If no schedule has this name.
        """
        self._commands.take_code(name, actor=actor, reason=reason)
        return self.get(name)

    def pause(
        self, name: str, *, reason: str | None = None, until: datetime | None = None, actor: str = "program"
    ) -> Schedule:
        """Stop a schedule until `resume` or until a time. Its planned times are recorded as missed and not caught up.

        Args:
            name: Name of the schedule.
            reason: Reason for the trail.
            until: End of the pause, an aware datetime; None until `resume`.
            actor: Who pauses, for the trail.

        Raises:
            NotFound: If no schedule has this name.
            Conflict: If the schedule is not active.
            InvalidSchedule: If ``until`` has no time zone or is in the past.
        """
        self._commands.pause(name, reason=reason, until=until, actor=actor)
        return self.get(name)

    def resume(self, name: str, *, actor: str = "program", reason: str | None = None) -> Schedule:
        """Continue with the next planned time.

        Args:
            name: Name of the schedule.
            actor: Who resumes, for the trail.
            reason: Reason for the trail.

        Raises:
            NotFound: If no schedule has this name.
            Conflict: If the schedule is not paused.
        """
        self._commands.resume(name, actor=actor, reason=reason)
        return self.get(name)

    def run_now(self, name: str, *, actor: str = "program", reason: str | None = None) -> Job:
        """Submit the job of a schedule now, in addition to its planned times; the current time is the slot and selects the period.

        Args:
            name: Name of the schedule.
            actor: Who does it, for the trail.
            reason: Reason for the trail.

        Returns:
            The job.

        Raises:
            NotFound: If no schedule has this name.
            AlreadyActive: If the previous run is active and the schedule does not allow two, or the period has an active job.
        """
        return self._commands.run_now(name, actor=actor, reason=reason)

    def remove(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Remove a schedule and its slots; its jobs and its trail stay.

        Args:
            name: Name of the schedule.
            actor: Who removes it, for the trail.
            reason: Reason for the trail.

        Raises:
            NotFound: If no schedule has this name.
            Conflict: If the program declares it: the next worker would store it again.
        """
        self._commands.remove(name, actor=actor, reason=reason)

    # -- for an event loop ---------------------------------------------------------------------------

    async_ = async_twin(sync)
    alist = async_twin(list)  # noqa: A003 - the method above is meant
    adeclared_only = async_twin(declared_only)
    aget = async_twin(get)
    anext = async_twin(next)  # noqa: A003 - the method above is meant
    aslots = async_twin(slots)
    amissed = async_twin(missed)
    aevents = async_twin(events)
    aleaders = async_twin(leaders)
    aadd = async_twin(add)
    aedit = async_twin(edit)
    atake_code = async_twin(take_code)
    apause = async_twin(pause)
    aresume = async_twin(resume)
    arun_now = async_twin(run_now)
    aremove = async_twin(remove)

    # -- running them --------------------------------------------------------------------------------

    def scheduler(self, own: Callable[[], str] | None = None) -> Scheduler:
        """Return a scheduler whose turns are called by hand: ``jobs.schedules.scheduler().run_once(now)``.

        Args:
            own: Function that returns the id of the worker that holds the leases; default: a new id.
        """
        identity = new_id()
        return Scheduler(self._service, own or (lambda: identity))

    def accompany(self, worker: Worker) -> Worker:
        """Run a scheduler beside a worker, as long as the worker runs.

        Args:
            worker: The worker.

        Raises:
            InvalidOption: If settings contradict each other.
        """
        session = worker.session
        if session is not None:
            scheduler = self.scheduler(lambda: session.id)
            session.accompany(SchedulerLoop(scheduler, self.sync))
        return worker
