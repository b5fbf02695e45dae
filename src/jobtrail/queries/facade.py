"""`jobs.queries`: everything that people read, as typed answers. Python, the command line and the API call the same methods."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.async_twin import async_twin
from jobtrail.schedules.backfill import backfill

from . import questions as question_queries
from . import schedules as schedule_queries
from . import tasks as task_queries
from . import tokens as token_queries
from . import units
from .context import QueryContext
from .jobs.queries import JobQueries
from .monitoring import attention as attention_queries
from .monitoring import audit as audit_queries
from .monitoring import charts, error_groups, overview
from .monitoring import limits as limit_queries
from .monitoring import queues as queue_queries
from .monitoring import task_history as task_history_queries
from .monitoring import workers as worker_queries

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jobtrail.commands.service import Service
    from jobtrail.job.task import Tasks
    from jobtrail.schedules.service import Schedules

    from .read_cache import ReadCache

WEEK = 24 * 7.0  # hours


class Queries(JobQueries):
    """Typed, masked reads of one application. Every method opens and closes its own connection.

    Example:
        >>> jobs.queries.coverage("sync_weather", zoom="month", first="2013").rows[0].missing
        2
    """

    def __init__(self, context: QueryContext) -> None:
        self.context = context

    @classmethod
    def of(cls, service: Service, find_tasks: Callable[[], Tasks], find_schedules: Callable[[], Schedules]) -> Queries:
        """Queries that read each time and have no time limit."""
        return cls(QueryContext(service, find_tasks, find_schedules))

    def shared(self, cache: ReadCache, search_seconds: Callable[[], float]) -> Queries:
        """The same queries for many clients: counts are kept for a second, searches end after ``search_seconds()``."""
        found = self.context
        return Queries(
            QueryContext(found.service, found.find_tasks, found.find_schedules, cache, search_seconds)
        )

    # -- units ---------------------------------------------------------------------------------------

    def coverage(self, task: str, **asked: Any) -> units.CoverageGrid:
        """Sources by periods of a task; keywords as in `units.read_coverage`: zoom, first, last, source, skip, limit, entire.

        Raises:
            NotFound: if no such task is known and no units of it are recorded.
            InvalidPeriod: if a period cannot be read.
            InvalidOption: if there is no such zoom, or there would be too many columns.
        """
        with self.context.search() as conn:
            return units.read_coverage(conn, self.context, task, **asked)

    def unit_tasks(self) -> units.UnitTasks:
        """The tasks that have units."""
        with self.context.read() as conn:
            return units.read_tasks(conn)

    def files(self, task: str) -> units.FileUnits:
        """The units of a task that are files, the latest changed first."""
        with self.context.search() as conn:
            return units.read_files(conn, task)

    def unit(self, key: str) -> units.UnitDetail:
        """One unit and its newest jobs.

        Raises:
            NotFound: if there is no such unit.
        """
        with self.context.read() as conn:
            return units.read_unit(conn, self.context, key)

    def backfill(self, task: str, **selection: Any) -> units.BackfillPreview:
        """What a backfill would do now; keywords as in ``jobs.backfill_plan``.

        Raises:
            UnknownTask, InvalidPeriod, InvalidOption, InvalidArguments: as ``jobs.backfill_plan``.
        """
        context = self.context
        plan = backfill.plan(context.service, context.tasks.get(task).name, **selection)
        return units.backfill_preview(plan, context.marked(plan.selection.task))

    # -- questions -----------------------------------------------------------------------------------

    def questions(self, *, limit: int = 100) -> question_queries.QuestionList:
        """The open questions, the nearest deadline first."""
        with self.context.read() as conn:
            return question_queries.read_open(conn, self.context.now(), limit=limit)

    def question(self, question: str) -> question_queries.QuestionDetail:
        """One question with its form.

        Raises:
            NotFound: if there is no such question.
        """
        with self.context.read() as conn:
            return question_queries.read_one(conn, self.context, question)

    def questions_of_job(self, job_id: str) -> question_queries.JobQuestions:
        """All questions of a job, oldest first.

        Raises:
            NotFound: if there is no such job.
        """
        with self.context.read() as conn:
            return question_queries.read_of_job(conn, self.context, job_id)

    def remembered_answers(self, *, limit: int = 200) -> question_queries.RememberedAnswers:
        """The answers that are kept for a task and source."""
        with self.context.read() as conn:
            return question_queries.read_remembered(conn, self.context, limit=limit)

    # -- schedules -----------------------------------------------------------------------------------

    def schedules(self) -> schedule_queries.ScheduleList:
        """All schedules, by name."""
        return schedule_queries.read_list(self.context)

    def schedule(self, name: str, *, times: int = schedule_queries.TIMES) -> schedule_queries.ScheduleDetail:
        """One schedule in detail, with its next planned ``times``.

        Raises:
            NotFound: if there is no such schedule.
        """
        return schedule_queries.read_one(self.context, name, times)

    def missed(
        self, name: str | None = None, *, since: datetime | None = None, limit: int = 100
    ) -> schedule_queries.MissedSlots:
        """Planned times that did not run, noted last first.

        Raises:
            NotFound: if there is no schedule of this name.
        """
        return schedule_queries.read_missed(self.context, name=name, since=since, limit=limit)

    def preview_rule(self, rule: str, tz: str | None = None) -> schedule_queries.RulePreview:
        """What a rule of time means, and its next times.

        Raises:
            InvalidSchedule: if the rule cannot be read.
        """
        return schedule_queries.preview_rule(self.context, rule, tz)

    # -- monitoring ----------------------------------------------------------------------------------

    def workers(self, *, limit: int = 100) -> worker_queries.WorkerList:
        """Workers and the jobs that they execute: the living first, then the latest."""
        context = self.context
        with context.read() as conn:
            return worker_queries.read(conn, context.now(), context.silent_after, limit=limit)

    def queues(self) -> queue_queries.QueueList:
        """All queues: what waits and runs, who serves them, and who paused one."""
        with self.context.search() as conn:
            return queue_queries.read(conn, self.context, self.context.now())

    def limits(self) -> limit_queries.LimitList:
        """All limits by key: what they allow, what runs and waits."""
        with self.context.search() as conn:
            return limit_queries.read(conn, self.context.now())

    def statistics(self) -> overview.Statistics:
        """The numbers of this moment: jobs by status, queues, workers."""
        with self.context.search() as conn:
            return overview.read(conn, self.context)

    def series(
        self, hours: float = 24, task: str | None = None, *, queue: str | None = None, source: str | None = None
    ) -> charts.ChartSeries:
        """What ended over the last ``hours``, and how long it waited and ran; of one task, queue or source where it is given."""
        with self.context.search() as conn:
            return overview.series(conn, self.context, hours, task=task, queue=queue, source=source)

    def attention(self) -> attention_queries.AttentionList:
        """What needs a person now, the nearest deadline first."""
        with self.context.read() as conn:
            return attention_queries.read(conn, self.context, self.context.now())

    def errors(self, hours: float = WEEK, *, limit: int = 50, unhandled: bool = False) -> error_groups.ErrorGroups:
        """Errors of jobs created in the last ``hours``, grouped by cause, the group of the newest job first.

        Args:
            hours: How far back.
            limit: How many groups are returned.
            unhandled: Only groups that are open or have returned.
        """
        now = self.context.now()
        with self.context.search() as conn:
            return error_groups.groups(conn, now - timedelta(hours=hours), now, limit=limit, unhandled=unhandled)

    def error(self, fingerprint: str) -> error_groups.ErrorGroup:
        """One group of errors.

        Raises:
            NotFound: if no job has an error with this fingerprint.
        """
        with self.context.search() as conn:
            return error_groups.group(conn, self.context.now(), fingerprint)

    def error_matrix(self, hours: float = 24, *, parts: int = 24) -> error_groups.ErrorMatrix:
        """Task by error by time over the last ``hours``, of the newest jobs."""
        now = self.context.now()
        with self.context.search() as conn:
            return error_groups.matrix(conn, now - timedelta(hours=hours), now, parts=parts)

    def audit(
        self,
        *,
        actor: str | None = None,
        name: str | None = None,
        since: datetime | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> audit_queries.AuditPage:
        """What people did, newest first.

        Args:
            actor: who; a ``*`` at the end matches a prefix.
            name: what, such as ``retried``.
            since: not before this moment.
            before: the ``next`` of the page before.
            limit: how many entries to return.

        Raises:
            InvalidFilter: if ``before`` is not the ``next`` of a page.
        """
        with self.context.search() as conn:
            return audit_queries.page(conn, audit_queries.AuditFilter(actor, name, since), before=before, limit=limit)

    # -- tasks and tokens ----------------------------------------------------------------------------

    def tasks(self) -> task_queries.TaskList:
        """Every task: the registered ones, and those of stored jobs and schedules."""
        with self.context.read() as conn:
            return task_queries.read_list(conn, self.context)

    def task(self, name: str) -> task_queries.TaskDetail:
        """One task with its options and the JSON schema of its arguments.

        Raises:
            NotFound: if there is no such task.
        """
        with self.context.read() as conn:
            return task_queries.read_one(conn, self.context, name)

    def task_history(self, name: str) -> task_history_queries.TaskHistory:
        """How a task has gone this week and the week before: rates, durations, last runs, errors, units.

        Args:
            name: The name of the task; of one that has no jobs everything is empty.
        """
        with self.context.search() as conn:
            return task_history_queries.read(conn, name, self.context.now())

    def tokens(self) -> token_queries.TokenList:
        """All API tokens, newest first, without their text."""
        with self.context.read() as conn:
            return token_queries.read_list(conn, self.context.now())

    # -- for an event loop ---------------------------------------------------------------------------

    acoverage = async_twin(coverage)
    aunit_tasks = async_twin(unit_tasks)
    afiles = async_twin(files)
    aunit = async_twin(unit)
    abackfill = async_twin(backfill)
    aquestions = async_twin(questions)
    aquestion = async_twin(question)
    aquestions_of_job = async_twin(questions_of_job)
    aremembered_answers = async_twin(remembered_answers)
    aschedules = async_twin(schedules)
    aschedule = async_twin(schedule)
    amissed = async_twin(missed)
    apreview_rule = async_twin(preview_rule)
    aworkers = async_twin(workers)
    aqueues = async_twin(queues)
    alimits = async_twin(limits)
    astatistics = async_twin(statistics)
    aseries = async_twin(series)
    aattention = async_twin(attention)
    aerrors = async_twin(errors)
    aerror = async_twin(error)
    aerror_matrix = async_twin(error_matrix)
    aaudit = async_twin(audit)
    atasks = async_twin(tasks)
    atask = async_twin(task)
    atask_history = async_twin(task_history)
    atokens = async_twin(tokens)
