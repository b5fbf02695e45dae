"""What `JobTrail` offers for what is kept: deletion of jobs and of remembered answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from .commands.history.delete import Deletion
    from .commands.history.removal import Removal
    from .commands.service import Service
    from .commands.task_handle import BoundTask


_F = TypeVar("_F", bound=Callable[["Removal"], None])


class History:
    """The part of `JobTrail` that deals with what is kept."""

    service: Service

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
