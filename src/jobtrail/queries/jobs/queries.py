"""The queries of `jobs.queries` that read jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobtrail.async_twin import async_iterator_twin, async_twin
from jobtrail.queries.base import CappedCount
from jobtrail.store.jobs import resolve

from . import actions, bulk, groups, items, job_detail, job_list, lineage, logs, trail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.commands.bulk import Wanted
    from jobtrail.queries.context import QueryContext


class JobQueries:
    """Typed, masked reads of jobs. A job is named by its id or by a unique ending of it."""

    context: QueryContext

    def jobs(
        self,
        text: str = "",
        *,
        before: str | None = None,
        after: str | None = None,
        order: str = "newest",
        limit: int = 50,
        count: bool = False,
        role: str | None = None,
    ) -> job_list.JobPage:
        """A page of the jobs that a filter names.

        Args:
            text: The filter.
            before: The id of a job; only jobs created before it.
            after: The id of a job; only jobs created after it.
            order: ``newest`` or ``oldest`` first.
            limit: The size of the page.
            count: Whether to count all that the filter names, exactly up to 10,000.
            role: The role of the reader; below admin, secrets cannot be searched. None: all can.

        Raises:
            InvalidFilter: if the filter, ``before`` or ``after`` is not valid.
            InvalidOption: if there is no such order.

        Example:
            >>> jobs.queries.jobs("status:failed", limit=1).jobs[0].error
            'ValueError: no price'
        """
        with self.context.search() as conn:
            return job_list.read_page(
                conn, self.context, text, before=before, after=after, order=order, limit=limit, count=count, role=role
            )

    def job_count(self, text: str = "", *, role: str | None = None) -> CappedCount:
        """How many jobs a filter names, exactly up to 10,000.

        Args:
            text: The filter.
            role: The role of the reader; below admin, secrets cannot be searched. None: all can.

        Raises:
            InvalidFilter: if the filter is not valid.
        """
        with self.context.search() as conn:
            return job_list.read_count(conn, self.context, text, role=role)

    def job_counts(self, text: str = "", *, role: str | None = None) -> job_list.JobCounts:
        """How many jobs a filter names in each status, exactly up to 10,000. What it says of the status is left out.

        Args:
            text: The filter.
            role: The role of the reader; below admin, secrets cannot be searched. None: all can.

        Raises:
            InvalidFilter: if the filter is not valid.
        """
        with self.context.search() as conn:
            return job_list.read_counts(conn, self.context, text, role=role)

    def job(self, job_id: str, *, role: str | None = None) -> job_detail.JobDetail:
        """One job with everything that its page shows.

        Args:
            job_id: The job's id, or a unique ending of it.
            role: The role of a person who may not act; None for one who may.

        Raises:
            NotFound: if there is no such job, or if several ids end so.
        """
        with self.context.search() as conn:
            return job_detail.read_detail(conn, self.context, job_id, role=role)

    def job_id(self, ending: str) -> str:
        """The id that ends with these characters, or this id where it exists.

        Raises:
            NotFound: if there is no such job, or if several ids end so.
        """
        with self.context.search() as conn:
            return resolve(conn, ending).id

    def item_history(self, job_id: str, key: str, *, loop: str = items.LOOP) -> items.ItemHistory:
        """Every outcome that an item of a job's generation has had, oldest first.

        Args:
            job_id: The job's id, or a unique ending of it.
            key: The item's key.
            loop: The name of its loop.

        Raises:
            NotFound: if there is no such job, or no such item in its generation.
        """
        with self.context.search() as conn:
            return items.read_history(conn, job_id, key, loop)

    def items(
        self,
        job_id: str,
        *,
        outcome: str | None = None,
        after: str | None = None,
        limit: int = 100,
        generation: bool = False,
    ) -> items.ItemPage:
        """A page of the items of a job, as the job left them, in the order of the input.

        Args:
            job_id: The job's id, or a unique ending of it.
            outcome: Only items of this outcome: ok, failed or skipped.
            after: The ``next`` of the page before.
            limit: The size of the page.
            generation: All items of the job's generation as they stand now, whichever job recorded them.

        Raises:
            NotFound: if there is no such job.
            UsageError: if ``after`` is not the ``next`` of a page.
        """
        with self.context.search() as conn:
            return items.read_page(conn, job_id, outcome=outcome, after=after, limit=limit, generation=generation)

    def items_csv(
        self, job_id: str, outcome: str | None = None, *, limit: int | None = None, generation: bool = False
    ) -> Iterator[str]:
        """The items that `items` reads as CSV, piece by piece, so that no number of items fills the memory.

        Args:
            job_id: The job's id, or a unique ending of it.
            outcome: Only items of this outcome: ok, failed or skipped.
            limit: Greatest number of items; None for all.
            generation: All items of the job's generation as they stand now, whichever job recorded them.

        Raises:
            NotFound: if there is no such job.
        """
        yield items.csv_head()
        after: str | None = None
        left = limit
        while left is None or left > 0:
            size = items.CSV_PAGE if left is None else min(left, items.CSV_PAGE)
            page = self.items(job_id, outcome=outcome, after=after, limit=size, generation=generation)
            yield items.csv_lines(page)
            after, left = page.next, None if left is None else left - size
            if after is None:
                return

    def log(
        self,
        job_id: str,
        *,
        after: int | None = None,
        before: int | None = None,
        limit: int = 2000,
        level: str | None = None,
        search: str | None = None,
    ) -> logs.Log:
        """A part of a job's log.

        Args:
            job_id: The job's id, or a unique ending of it.
            after: The number of a piece; only later ones are read, from the oldest on.
            before: The number of a piece; only earlier ones are read.
            limit: About how many records to return; the last ones unless ``after`` is given.
            level: The least severe level that is wanted.
            search: A text in the record, in any case.

        Raises:
            NotFound: if there is no such job.
        """
        with self.context.search() as conn:
            return logs.read_log(conn, job_id, after=after, before=before, limit=limit, level=level, search=search)

    def log_text(self, job_id: str) -> str:
        """All of a job's log as text.

        Raises:
            NotFound: if there is no such job.
        """
        with self.context.search() as conn:
            return logs.read_text(conn, job_id)

    def events(self, job_id: str, *, after: int = 0, limit: int = 200) -> trail.EventPage:
        """A page of a job's trail, oldest first.

        Args:
            job_id: The job's id, or a unique ending of it.
            after: The id of an event; only later ones are returned.
            limit: The size of the page.

        Raises:
            NotFound: if there is no such job.
        """
        with self.context.search() as conn:
            return trail.read_events(conn, job_id, after=after, limit=limit)

    def lineage(self, job_id: str) -> lineage.Lineage:
        """What a job re-ran and what re-ran it, what it came from, what follows it, and its groups.

        Raises:
            NotFound: if there is no such job.
        """
        with self.context.search() as conn:
            return lineage.read_lineage(conn, job_id)

    def group(self, group: str, *, after: int = 0, limit: int = groups.MOST_MEMBERS) -> groups.GroupDetail:
        """A group: how its members stand, in the order of their submission, and what follows.

        Args:
            group: The id of the group, or a unique ending of it.
            after: The ``next`` of the page before.
            limit: The size of the page of members, at most 500.

        Raises:
            NotFound: if there is no such group.
        """
        with self.context.search() as conn:
            return groups.read_group(conn, group, self.context.now(), after=after, limit=limit)

    def actions(self, job_id: str, *, role: str | None = None) -> actions.JobActions:
        """Which actions a job allows now, what each will do, and why another is not allowed.

        Args:
            job_id: The job's id, or a unique ending of it.
            role: The role of a person who may not act; None for one who may.

        Raises:
            NotFound: if there is no such job.
        """
        with self.context.search() as conn:
            return actions.read_actions(conn, self.context, job_id, role=role)

    def bulk_preview(self, selection: Wanted, *, role: str | None = None) -> bulk.BulkPreview:
        """What a bulk action would do now; nothing is written.

        Args:
            selection: Which jobs are meant, and the action.
            role: The role of the reader; below admin, secrets cannot be searched. None: all can.

        Raises:
            InvalidFilter: if the filter of the selection is not valid.
        """
        with self.context.search() as conn:
            return bulk.read_preview(conn, self.context, selection, role=role)

    # -- for an event loop ---------------------------------------------------------------------------

    ajobs = async_twin(jobs)
    ajob_count = async_twin(job_count)
    ajob_counts = async_twin(job_counts)
    ajob = async_twin(job)
    ajob_id = async_twin(job_id)
    aitem_history = async_twin(item_history)
    aitems = async_twin(items)
    aitems_csv = async_iterator_twin(items_csv)
    alog = async_twin(log)
    agroup = async_twin(group)
    alog_text = async_twin(log_text)
    aevents = async_twin(events)
    alineage = async_twin(lineage)
    aactions = async_twin(actions)
    abulk_preview = async_twin(bulk_preview)
