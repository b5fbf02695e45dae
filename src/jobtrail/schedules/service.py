"""The schedules of an application, `jobs.schedules`: declare, read and change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobtrail.database import leases
from jobtrail.job.ids import new_id
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
    """The schedules of one application.

    A declared schedule is checked at once and stored when a worker starts (or by `sync`). All other changes are made
    in the store, whichever process runs the schedules.
    """

    def __init__(self, service: Service, of_plugins: PluginSchedules) -> None:
        self._service = service
        self._declarations = Declarations(service, of_plugins)
        self._commands = ScheduleCommands(service, self._declarations)

    # -- declaring -----------------------------------------------------------------------------------

    def declare(self, task: BoundTask, rule: Any, *, name: str | None = None, tz: Any = None, **options: Any) -> None:
        """Declare a schedule, as ``@jobs.schedule`` does.

        Raises:
            InvalidSchedule, InvalidOption, InvalidArguments: if rule, options or arguments are not valid.
        """
        self._declarations.declare(task, rule, name=name, tz=tz, **options)

    def from_table(self, table: Iterable[Mapping[str, Any]]) -> None:
        """Declare schedules from settings. Each entry maps ``task``, ``rule`` and options of ``@jobs.schedule``.

        Raises:
            InvalidSchedule: if an entry is not valid, naming it; then none is declared.

        Example:
            ``jobs.schedules.from_table([{"task": "report", "rule": "every 30 minutes"}])``
        """
        self._declarations.from_table(table)

    def from_celery(self, beat_schedule: Mapping[str, Any], tz: Any = None, **options: Any) -> None:
        """Declare the entries of a Celery beat schedule.

        Args:
            beat_schedule: ``CELERY_BEAT_SCHEDULE`` as it is.
            tz: its ``CELERY_TIMEZONE``.
            options: ``tasks={"celery's name": "jobtrail's name"}`` for tasks that are found neither by their full name
                nor by its last part; ``most_urgent=0`` if the broker was Redis.

        Raises:
            InvalidSchedule: if an entry cannot be converted, naming it; then none is declared.
        """
        self._declarations.from_celery(beat_schedule, tz, **options)

    def sync(self) -> ScheduleDifferences:
        """Store the declared schedules, as a starting worker does. Only differences are written.

        Raises:
            StoreUnavailable: if the database is away.
        """
        self._service.make_ready()
        store, declared = self._service.store, self._declarations.all()
        return sync(store, declared, lambda task: self._service.tasks.find(task) is not None, store.now())

    # -- reading -------------------------------------------------------------------------------------

    def list(self) -> Sequence[Schedule]:
        """Return all stored schedules, ordered by name."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            rows = schedules.everyone(conn)
            states = schedules.states_of_jobs(conn, [row.last_job for row in rows if row.last_job])
        return [view(row, states.get(row.last_job or "") or row.last_outcome) for row in rows]

    def declared_only(self) -> Sequence[str]:
        """Return the names that the program declares and that are not stored yet."""
        stored = {one.name for one in self.list()}
        return sorted(one.name for one in self._declarations.all() if one.name not in stored)

    def get(self, name: str) -> Schedule:
        """Return one schedule.

        Raises:
            NotFound: if there is no such schedule.
        """
        self._service.make_readable()
        with self._service.store.read() as conn:
            row = schedules.named(conn, name)
            if row is None:
                raise not_there(name, self._declarations)
            states = schedules.states_of_jobs(conn, [row.last_job] if row.last_job else [])
        return view(row, states.get(row.last_job or "") or row.last_outcome)

    def next(self, name: str, count: int = 20) -> Sequence[datetime]:
        """Return the next ``count`` planned times, UTC.

        Raises:
            NotFound: if there is no such schedule.
        """
        return self.get(name).next(count, self._service.store.now())

    def slots(self, name: str, *, limit: int = 100, before: datetime | None = None) -> Sequence[Slot]:
        """Return the slots of a schedule, latest planned time first; with ``before``, those planned earlier.

        Raises:
            NotFound: if there is no such schedule.
        """
        found = self.get(name)
        with self._service.store.read() as conn:
            return schedules.slots_of(conn, found.id, limit=limit, before=before)

    def missed(self, *, since: datetime | None = None, limit: int = 100) -> Sequence[tuple[str, Slot]]:
        """Return missed slots of all schedules, each with its schedule's name, latest recorded first."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            return schedules.missed_slots(conn, since=since, limit=limit)

    def events(self, name: str) -> Sequence[events.Event]:
        """Return the events of a schedule, oldest first.

        Raises:
            NotFound: if there is no such schedule.
        """
        found = self.get(name)
        with self._service.store.read() as conn:
            return events.of_job(conn, found.id)

    def leaders(self) -> dict[str, str]:
        """Return which worker leads now: task name to worker id."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            held = leases.everyone(conn, self._service.store.now())
        return {name.removeprefix(PREFIX): holder for name, holder, _ in held if name.startswith(PREFIX)}

    # -- changing ------------------------------------------------------------------------------------

    def add(self, name: str, task: BoundTask | str, rule: Any, **options: Any) -> Schedule:
        """Add a schedule at run time and return it.

        Args:
            name: of the schedule.
            task: the task, or its name.
            rule: as for ``@jobs.schedule``.
            options: as for ``@jobs.schedule``; and ``tz=``, ``actor=``, ``reason=``.

        Raises:
            InvalidSchedule: if an option is not valid, or the schedule would never run.
            InvalidArguments: if the task does not take the arguments.
            UnknownTask: if there is no such task.
            Conflict: if the name is taken.
        """
        self._commands.add(name, task, rule, **options)
        return self.get(name)

    def edit(self, name: str, **changes: Any) -> Schedule:
        """Change options of a schedule and return it.

        Edits of a declared schedule are kept through deploys and shown as ``drift``.

        Args:
            name: of the schedule.
            changes: ``rule=`` (with ``tz=``), ``args=``, ``overlap=`` and so on; and ``actor=``, ``reason=``.

        Raises:
            NotFound: if there is no such schedule.
            InvalidSchedule, InvalidArguments: if the changed schedule is not valid.
        """
        self._commands.edit(name, **changes)
        return self.get(name)

    def take_code(self, name: str, *, actor: str = "program", reason: str | None = None) -> Schedule:
        """Drop all edits, so that the schedule is as declared again.

        Raises:
            NotFound: if there is no such schedule.
        """
        self._commands.take_code(name, actor=actor, reason=reason)
        return self.get(name)

    def pause(
        self, name: str, *, reason: str | None = None, until: datetime | None = None, actor: str = "program"
    ) -> Schedule:
        """Pause a schedule until `resume`, or until a moment. Planned times in the pause are missed and not caught up.

        Raises:
            NotFound: if there is no such schedule.
            Conflict: if the schedule is retired or finished.
            InvalidSchedule: if ``until`` has no zone or is in the past.
        """
        self._commands.pause(name, reason=reason, until=until, actor=actor)
        return self.get(name)

    def resume(self, name: str, *, actor: str = "program", reason: str | None = None) -> Schedule:
        """Resume a paused schedule at its next planned time.

        Raises:
            NotFound: if there is no such schedule.
            Conflict: if it is not paused.
        """
        self._commands.resume(name, actor=actor, reason=reason)
        return self.get(name)

    def run_now(self, name: str, *, actor: str = "program", reason: str | None = None) -> Job:
        """Submit a job now, in addition to the planned times. This moment is the job's slot and decides its period.

        Raises:
            NotFound: if there is no such schedule.
            AlreadyActive: if the last job is active and ``overlap`` is not "allow", or the period has an active job.
        """
        return self._commands.run_now(name, actor=actor, reason=reason)

    def remove(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Remove a schedule and its slots; its jobs and events stay.

        Raises:
            NotFound: if there is no such schedule.
            Conflict: if the program declares it: the next worker would store it again.
        """
        self._commands.remove(name, actor=actor, reason=reason)

    # -- running them --------------------------------------------------------------------------------

    def scheduler(self, own: Callable[[], str] | None = None) -> Scheduler:
        """Return a scheduler whose turns the caller runs: ``jobs.schedules.scheduler().run_once(now)``."""
        identity = new_id()
        return Scheduler(self._service, own or (lambda: identity))

    def accompany(self, worker: Worker) -> Worker:
        """Run a scheduler beside this worker, as long as the worker runs. Return the worker.

        Raises:
            InvalidOption: if ``scheduler_lease`` is too short.
        """
        life = worker.life
        if life is not None:
            scheduler = self.scheduler(lambda: life.id)
            life.accompany(SchedulerLoop(scheduler, self.sync))
        return worker
