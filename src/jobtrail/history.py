"""What `JobTrail` offers for what is kept: deletion, import and export of ended jobs; deletion of remembered answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from .async_twin import async_iterator_twin, async_twin

if TYPE_CHECKING:
    from .commands.history.delete import Deletion
    from .commands.history.import_ended import Imported
    from .commands.history.removal import Removal
    from .commands.service import Service
    from .commands.task_handle import BoundTask
    from .queries.facade import Queries


_F = TypeVar("_F", bound=Callable[["Removal"], None])


class History:
    """The part of `JobTrail` that deals with what is kept."""

    service: Service

    @property
    def queries(self) -> Queries:
        """Everything that people read; see `JobTrail`."""
        raise NotImplementedError

    def delete(
        self,
        filter: str,  # noqa: A002 - as it is called for a person
        *,
        actor: str = "program",
        reason: str | None = None,
        dry_run: bool = False,
        digest: str | None = None,
        conceal_filter: bool = False,
    ) -> Deletion:
        """Delete the ended jobs that match a filter, with everything that tells of them, such as one person's data.

        A job that is active, or that an active job or an open group needs, stays; `Deletion.skipped` says why. Jobs go in
        chunks of 100; each chunk is deleted with its line in the audit, which tells who, why, the filter and the number.

        Args:
            filter: Filter such as ``label:customer=4711``; it must not be empty.
            actor: Who asks for it, for the audit: ``person:ann``.
            reason: Why, for the audit.
            dry_run: Delete nothing; return what would be deleted, at most the newest 10,000 jobs, with its ``digest``.
            digest: Delete only if the selection is still that of this dry run.
            conceal_filter: Keep the SHA-256 of the filter in the audit instead of its text, because the text names a person.

        Raises:
            InvalidFilter: If the filter is not valid.
            InvalidOption: If the filter is empty.
            Conflict: If ``digest`` is not that of the selection any more.

        Example:
            ```python
            shown = jobs.delete("label:customer=4711", dry_run=True)
            jobs.delete("label:customer=4711", digest=shown.digest, actor="person:ann", reason="request 17")
            ```
        """
        from .commands.history.delete import delete

        return delete(
            self.service, filter, actor=actor, reason=reason, dry_run=dry_run, digest=digest, conceal_filter=conceal_filter
        )

    def before_removal(self, function: _F) -> _F:
        """Call a function before ended jobs are removed, by retention or because somebody deletes them; use it as a decorator.

        It is called in the process that removes them (a worker, a command), outside of any transaction, with at most 100 jobs
        that are still there; it may be called again for the same jobs. Where it raises, these jobs stay: retention tries
        again after an hour and logs the error, `delete` names it in ``skipped``.

        Args:
            function: Takes a `Removal` with ``ids`` and ``cause`` ("retention" or "deleted").

        Example:
            ```python
            @jobs.before_removal
            def archive(removal: Removal) -> None:
                for job_id in removal.ids:
                    store_away(jobs.queries.job(job_id).model_dump_json())
            ```
        """
        self.service.before_removal.append(function)
        return function

    def import_ended(
        self,
        records: Iterable[Any],
        *,
        actor: str = "program",
        reason: str | None = None,
        dry_run: bool = False,
        skip_bad: bool = False,
    ) -> Imported:
        """Store ended jobs that come from elsewhere: old tables, another installation.

        A record is a mapping of the shape that `export` yields; ``task``, ``status`` and ``finished_at`` are needed. Each job
        has an id that begins with its own time, its unit, items, labels and trail, and counts in the charts. A record that
        comes again is the same job: by its ``id``, else by its ``key`` (an id of the other system), else by its whole content.

        Args:
            records: The records. An iterable that can be read only once is kept in memory.
            actor: Who imports, for the trail and the audit.
            reason: Why, for the audit.
            dry_run: Store nothing; return what would be stored.
            skip_bad: Store the records that can be read; else one that cannot be read refuses all.

        Raises:
            InvalidRecords: If a record cannot be read; ``problems`` names its number, the field and what is wrong.

        Example:
            ```python
            jobs.import_ended(
                {"key": f"loads-{row.id}", "task": "load", "status": "failed" if row.error else "completed",
                 "source": row.shop, "finished_at": row.ended, "error": row.error}
                for row in old_table
            )
            ```
        """
        from .commands.history.import_ended import import_ended

        return import_ended(self.service, records, actor=actor, reason=reason, dry_run=dry_run, skip_bad=skip_bad)

    def export(self, filter: str = "", *, secrets: bool = False) -> Iterator[dict[str, Any]]:  # noqa: A002 - as it is called for a person
        """Yield the ended jobs that match a filter, newest first, as JSON values of the shape that `import_ended` reads.

        Args:
            filter: The filter; empty for all.
            secrets: Give secrets as they are stored, so that the jobs can run again elsewhere; else they are masked.

        Raises:
            InvalidFilter: If the filter is not valid.
        """
        from .queries.history.records import records

        self.service.make_readable()
        return records(self.queries.context, filter, secrets=secrets)

    def forget_answers(self, task: BoundTask | str, source: str | None = None, question: str | None = None) -> int:
        """Delete answers that were remembered by ``ask(remember=True)``.

        Args:
            task: Task, or its name.
            source: Source; None for jobs without a source.
            question: Name of the question; default: all questions.

        Returns:
            Number of deleted answers.
        """
        from .commands.answers import forget

        self.service.make_ready()
        return forget(self.service.store, task if isinstance(task, str) else task.name, source, question)

    adelete = async_twin(delete)
    aimport_ended = async_twin(import_ended)
    aexport = async_iterator_twin(export)
    aforget_answers = async_twin(forget_answers)
