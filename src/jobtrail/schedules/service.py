"""What stands behind `jobs.schedules`: declared schedules, a look at the stored ones, and the ways to steer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobtrail.database import leases
from jobtrail.job.ids import new_id
from jobtrail.store import events, schedules

from .commands import Steering, not_there
from .declarations import Declarations, PluginSchedules
from .leader import PREFIX
from .scheduler import Beside, Scheduler
from .sync import Differences, sync
from .view import Schedule, view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from jobtrail.commands.handles import BoundTask, Job
    from jobtrail.commands.service import Service
    from jobtrail.store.schedules import Slot
    from jobtrail.worker.worker import Worker


class Schedules:
    """The schedules of one application.

    What the program declares is checked at once and stored when a worker starts (or by `sync`). Everything else is
    done in the store, whichever process runs the schedules.
    """

    def __init__(self, service: Service, of_plugins: PluginSchedules) -> None:
        self._service = service
        self._declarations = Declarations(service, of_plugins)
        self._steering = Steering(service, self._declarations)

    # -- declaring -----------------------------------------------------------------------------------

    def declare(self, task: BoundTask, rule: Any, *, name: str | None = None, tz: Any = None, **options: Any) -> None:
        """A schedule in code; see ``@jobs.schedule``.

        Raises: InvalidSchedule, InvalidOption, InvalidArguments with what is wrong.
        """
        self._declarations.declare(task, rule, name=name, tz=tz, **options)

    def from_table(self, table: Iterable[Mapping[str, Any]]) -> None:
        """Schedules from settings: each a mapping of ``task``, ``rule`` and the words of ``@jobs.schedule``.

        Raises: InvalidSchedule, naming the entry; then none is taken.
        """
        self._declarations.from_table(table)

    def from_celery(self, beat_schedule: Mapping[str, Any], tz: Any = None, **options: Any) -> None:
        """A Celery beat schedule as it is: ``CELERY_BEAT_SCHEDULE``; ``tz`` is its ``CELERY_TIMEZONE``.

        ``tasks={"celery's name": "ours"}`` where a task is found neither by its whole name nor by the last part of it;
        ``most_urgent=0`` where the broker was Redis.

        Raises: InvalidSchedule, naming the entry; then none is taken.
        """
        self._declarations.from_celery(beat_schedule, tz, **options)

    def sync(self) -> Differences:
        """Store what is declared now, as a starting worker does; only differences are written.

        Raises: StoreUnavailable.
        """
        self._service.make_ready()
        store, declared = self._service.store, self._declarations.all()
        return sync(store, declared, lambda task: self._service.tasks.find(task) is not None, store.now())

    # -- looking -------------------------------------------------------------------------------------

    def list(self) -> Sequence[Schedule]:
        """All stored schedules, by name."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            rows = schedules.everyone(conn)
            states = schedules.states_of_jobs(conn, [row.last_job for row in rows if row.last_job])
        return [view(row, states.get(row.last_job or "") or row.last_outcome) for row in rows]

    def declared_only(self) -> Sequence[str]:
        """Names that the program declares and that are not stored yet."""
        stored = {one.name for one in self.list()}
        return sorted(one.name for one in self._declarations.all() if one.name not in stored)

    def get(self, name: str) -> Schedule:
        """One schedule by its name.

        Raises: NotFound.
        """
        self._service.make_readable()
        with self._service.store.read() as conn:
            row = schedules.named(conn, name)
            if row is None:
                raise not_there(name, self._declarations)
            states = schedules.states_of_jobs(conn, [row.last_job] if row.last_job else [])
        return view(row, states.get(row.last_job or "") or row.last_outcome)

    def next(self, name: str, count: int = 20) -> Sequence[datetime]:
        """The next planned times, in UTC.

        Raises: NotFound.
        """
        return self.get(name).next(count, self._service.store.now())

    def slots(self, name: str, *, limit: int = 100, before: datetime | None = None) -> Sequence[Slot]:
        """What became of a schedule's planned times, latest first.

        Raises: NotFound.
        """
        found = self.get(name)
        with self._service.store.read() as conn:
            return schedules.slots_of(conn, found.id, limit=limit, before=before)

    def missed(self, *, since: datetime | None = None, limit: int = 100) -> Sequence[tuple[str, Slot]]:
        """Planned times that did not run, of all schedules, with the schedule's name; noted last first."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            return schedules.missed_slots(conn, since=since, limit=limit)

    def events(self, name: str) -> Sequence[events.Event]:
        """The trail of a schedule: who added, edited, paused it; what a deploy changed. Oldest first.

        Raises: NotFound.
        """
        found = self.get(name)
        with self._service.store.read() as conn:
            return events.of_job(conn, found.id)

    def leaders(self) -> dict[str, str]:
        """Which worker decides now about the schedules of which task: task to the worker's id."""
        self._service.make_readable()
        with self._service.store.read() as conn:
            held = leases.everyone(conn, self._service.store.now())
        return {name.removeprefix(PREFIX): holder for name, holder, _ in held if name.startswith(PREFIX)}

    # -- steering ------------------------------------------------------------------------------------

    def add(self, name: str, task: BoundTask | str, rule: Any, **options: Any) -> Schedule:
        """Add a schedule at run time; words as in ``@jobs.schedule``, and ``actor=``, ``reason=``.

        Raises: InvalidSchedule, InvalidArguments, UnknownTask with what is wrong; Conflict when the name is taken.
        """
        self._steering.add(name, task, rule, **options)
        return self.get(name)

    def edit(self, name: str, **changes: Any) -> Schedule:
        """Change words of a schedule (``rule=`` with ``tz=``, ``args=``, ``overlap=``, …); and ``actor=``, ``reason=``.

        What is changed of a declared schedule stays through deploys, and shows as its drift.

        Raises: NotFound; InvalidSchedule, InvalidArguments when what came of it cannot be.
        """
        self._steering.edit(name, **changes)
        return self.get(name)

    def take_code(self, name: str, *, actor: str = "program", reason: str | None = None) -> Schedule:
        """Let go of what was edited: what the program declares is in force again.

        Raises: NotFound.
        """
        self._steering.take_code(name, actor=actor, reason=reason)
        return self.get(name)

    def pause(
        self, name: str, *, reason: str | None = None, until: datetime | None = None, actor: str = "program"
    ) -> Schedule:
        """Run nothing until `resume`, or until a moment; its times are noted as missed and not made up for.

        Raises: NotFound; Conflict when it does not go on; InvalidSchedule for an end without zone or in the past.
        """
        self._steering.pause(name, reason=reason, until=until, actor=actor)
        return self.get(name)

    def resume(self, name: str, *, actor: str = "program", reason: str | None = None) -> Schedule:
        """Go on with the next planned time.

        Raises: NotFound; Conflict when it is not paused.
        """
        self._steering.resume(name, actor=actor, reason=reason)
        return self.get(name)

    def run_now(self, name: str, *, actor: str = "program", reason: str | None = None) -> Job:
        """Submit its job now, beside its planned times; this moment is the job's slot and decides its period.

        Raises: NotFound; AlreadyActive when the run before goes on and the schedule allows no two, or the period has
        an active job.
        """
        return self._steering.run_now(name, actor=actor, reason=reason)

    def remove(self, name: str, *, actor: str = "program", reason: str | None = None) -> None:
        """Remove a schedule and its slots; its jobs and its trail stay.

        Raises: NotFound; Conflict for one that the program declares: it would come back with the next worker.
        """
        self._steering.remove(name, actor=actor, reason=reason)

    # -- running them --------------------------------------------------------------------------------

    def scheduler(self, own: Callable[[], str] | None = None) -> Scheduler:
        """A scheduler whose turns are called by hand: ``jobs.schedules.scheduler().run_once(now)``."""
        identity = new_id()
        return Scheduler(self._service, own or (lambda: identity))

    def accompany(self, worker: Worker) -> Worker:
        """Let a scheduler live beside this worker, as long as it lives.

        Raises: InvalidOption for settings that cannot work together.
        """
        life = worker.life
        if life is not None:
            scheduler = self.scheduler(lambda: life.id)
            life.accompany(Beside(scheduler, self.sync))
        return worker
