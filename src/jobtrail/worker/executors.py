"""The executors of one worker: threads and child processes of its own, and those of the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobtrail.executors.local import LocalExecutor

from .child.child_bodies import ChildBodies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobtrail.config import Settings
    from jobtrail.executors.base import Executor
    from jobtrail.executors.registry import Executors
    from jobtrail.job.model import Claim
    from jobtrail.job.task import Task, Tasks
    from jobtrail.runtime.steps import StepStore


class WorkerExecutors:
    """What runs the bodies of one worker.

    Args:
        tasks, steps, settings: the application's.
        slots: how many jobs run at once.
        outside: the application's other executors.
        seats: by job and run, the thread that brought its ticket; read at the start of each run.
        imports: modules that a child process imports before those of its tasks.

    """

    def __init__(
        self,
        tasks: Tasks,
        steps: StepStore,
        settings: Settings,
        slots: int,
        outside: Executors | None,
        seats: Mapping[tuple[str, int], LocalExecutor] | None = None,
        imports: Sequence[str] = (),
    ) -> None:
        self.local = LocalExecutor(slots)
        self._process = ChildBodies(tasks, steps, settings, limit=slots, imports=imports)
        self._outside = outside
        self._seats = seats if seats is not None else {}

    def threads(self, claim: Claim) -> LocalExecutor:
        """What runs plain functions of a run: the thread that brought its ticket, where there is one."""
        return self._seats.get((claim.id, claim.run_no), self.local)

    def of(self, claim: Claim, task: Task) -> Executor:
        """The executor of a run. A job that a worker has claimed runs here, although its task is handed over by now."""
        seat = self._seats.get((claim.id, claim.run_no))
        if seat is not None:
            return seat
        if task.executor == "process":
            return self._process
        found = (
            None
            if task.executor in {None, "local"} or self._outside is None
            else self._outside.in_worker(task.executor)
        )
        return found or self.local

    def pids(self) -> list[int]:
        """Process ids of the children."""
        return self._process.pids()

    def release(self) -> None:
        """The worker claims nothing more."""
        self._process.release()

    def close(self) -> None:
        """End the children, which run nothing any more. Blocking."""
        self._process.close()
