"""`ApplicationJobs`: the part of `JobTrail` that reads stored jobs and submits several at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .async_twin import async_iterator_twin, async_twin
from .commands.service import Service
from .commands.task_handle import BoundTask
from .commands.using import SuccessorRequest
from .schedules.backfill import backfill
from .schedules.backfill.backfill import BackfillPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .commands.groups import Group
    from .commands.job_handle import Job, JobList
    from .queries.base import CappedCount
    from .queries.facade import Queries
    from .store import Store


class ApplicationJobs:
    """Everything of `JobTrail` that waits for the database, with its twins for an event loop.

    Attributes:
        service: Submission and look-up.
        store: The database.
    """

    service: Service
    store: Store

    if TYPE_CHECKING:

        @property
        def queries(self) -> Queries:
            """Everything that people read; `JobTrail` has it."""

        def task_named(self, name: str) -> BoundTask:
            """Return a registered task; `JobTrail` has it."""

    def enqueue_each(self, submissions: Iterable[tuple[BoundTask, Mapping[str, Any]]]) -> list[Job]:
        """Submit different jobs in one transaction: all or none.

        Args:
            submissions: Pairs of a task (with its ``.using(…)``) and its arguments.

        Returns:
            The jobs, in the order of ``submissions``.

        Raises:
            UsageError: If one submission is not valid.
            AlreadyActive: If the unit of one submission has an active job.
        """
        return self.service.submit_each(task.submission(args) for task, args in submissions)

    def group(
        self,
        members: Iterable[tuple[BoundTask, Mapping[str, Any]]],
        *,
        then: BoundTask | None = None,
        params: Mapping[str, Any] | None = None,
        on: Any = "ended",
        name: str | None = None,
        **options: Any,
    ) -> Group:
        """Submit many jobs, all or none, and one job that follows when all of them have ended.

        A member whose unit already has an active job is represented by that job. Without members the successor is submitted at once.

        Args:
            members: Pairs of a task (with its ``.using(…)``) and its arguments.
            then: Task of the successor.
            params: Arguments of the successor.
            on: Outcome of the group that creates the successor: "success", "partial", "failure", or "ended".
            name: Name of the group, shown.
            **options: ``result_as`` (argument of the successor that receives the list of results), ``when``, ``source``,
                ``period``, ``file``, as for `BoundTask.then`.

        Returns:
            The group.
        """
        from .commands.groups import open_group

        following = None if then is None else SuccessorRequest(*then._to_follow(), params, on, **options)
        return open_group(self.service, members, following, name=name)

    # -- jobs ----------------------------------------------------------------------------------------

    def get(self, job_id: str) -> Job:
        """Return a job.

        Args:
            job_id: Id of the job, or any unique end of it.

        Raises:
            NotFound: If no job, or more than one, matches.
        """
        return self.service.get(job_id)

    def find(
        self,
        text: str = "",
        *,
        limit: int = 100,
        before: str | None = None,
        after: str | None = None,
        order: str = "newest",
    ) -> JobList:
        """Return the jobs that match a filter.

        Args:
            text: Filter such as ``status:failed source:weather/*``; empty for all jobs.
            limit: Greatest number of jobs.
            before: Id of a job; only jobs created before it.
            after: Id of a job; only jobs created after it.
            order: "newest" or "oldest" first, by the time of the submission.

        Returns:
            A list of the jobs. Its ``next`` is None if these are all; else it is the ``before`` of the following page (the
            ``after`` with ``order="oldest"``).

        Raises:
            InvalidFilter: If the text does not follow the grammar, or ``before`` or ``after`` is not an id.
            InvalidOption: If the order is not known.
        """
        return self.service.find(text, limit=limit, before=before, after=after, order=order)

    def each(
        self, text: str = "", *, before: str | None = None, after: str | None = None, order: str = "newest"
    ) -> Iterator[Job]:
        """Return all jobs that match a filter, read page by page.

        Args:
            text: The filter.
            before: Id of a job; only jobs created before it.
            after: Id of a job; only jobs created after it.
            order: "newest" or "oldest" first, by the time of the submission.

        Raises:
            InvalidFilter: If the text does not follow the grammar.
            InvalidOption: If the order is not known.

        Example:
            ```python
            for job in jobs.each("status:failed task:sync_weather"):
                job.retry()
            ```
        """
        return (job for page in self.service.pages(text, before=before, after=after, order=order) for job in page)

    def count(self, text: str = "") -> CappedCount:
        """Count the jobs that match a filter.

        Args:
            text: The filter.

        Returns:
            ``number``, exact up to 10,000, and ``more`` if there are, or may be, more.

        Raises:
            InvalidFilter: If the text does not follow the grammar.
        """
        return self.queries.job_count(text)

    # -- backfill ------------------------------------------------------------------------------------

    def backfill_plan(self, task: BoundTask | str, **selection: Any) -> BackfillPlan:
        """Work out what a backfill would run now; nothing is written.

        Args:
            task: Task, or its name.
            **selection: ``first``, ``last`` (periods), ``sources``, ``step``, ``only``, ``order``, ``args``, ``mode``.

        Returns:
            The plan, with counts and the units in the order in which they would run.

        Raises:
            UnknownTask: If the task is not registered.
            InvalidPeriod: If ``first``, ``last`` or ``step`` is not valid.
            InvalidOption: If another option is not valid.
            InvalidArguments: If ``args`` do not fit the task.
        """
        return backfill.plan(self.service, self.task_named(task) if isinstance(task, str) else task, **selection)

    def backfill(self, task: BackfillPlan | BoundTask | str, **options: Any) -> Job:
        """Submit the job that carries out a backfill.

        Args:
            task: A plan of `backfill_plan`, or a task (or its name) with the same selection.
            **options: ``parallel`` (number of jobs at a time), ``actor``, ``reason``, and the selection of `backfill_plan`.

        Raises:
            AlreadyActive: If a backfill of the same task and range is active with other options.
            UsageError: As for `backfill_plan`.
        """
        return backfill.submit(self.service, self.task_named(task) if isinstance(task, str) else task, **options)

    aenqueue_each = async_twin(enqueue_each)
    agroup = async_twin(group)
    aget = async_twin(get)
    afind = async_twin(find)
    aeach = async_iterator_twin(each)
    acount = async_twin(count)
    abackfill_plan = async_twin(backfill_plan)
    abackfill = async_twin(backfill)
