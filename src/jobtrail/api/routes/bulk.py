"""Bulk actions over the network: shown first, with the exact number, then done by a tracked job; safe to press twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.bodies import takes
from jobtrail.api.requests import AwareMoment, StartedJob, WithReason
from jobtrail.commands import bulk
from jobtrail.commands.history.delete import told_filter
from jobtrail.queries.base import Model
from jobtrail.queries.jobs.bulk import BulkPreview

if TYPE_CHECKING:
    from jobtrail.api.auth.access import Person
    from jobtrail.api.context import ApiContext
    from jobtrail.commands.job_handle import Job


IDS_LIMIT = 64 * bulk.MOST_JOBS  # bytes


class BulkSelection(Model):
    """Which jobs are meant, by a filter or by their ids, and what is to be done with them."""

    action: Literal["retry", "rerun", "cancel", "run_now"] = Field(examples=["retry"])
    filter: str | None = Field(None, max_length=4000, examples=["status:failed task:sync_weather"])
    ids: list[str] | None = Field(None, max_length=bulk.MOST_JOBS, description="Instead of a filter.")
    mode: Literal["full", "failed_items", "resume"] | None = Field(None, description="Of a re-run.")

    def meant(self) -> bulk.Wanted:
        """As the engine takes it.

        Raises: InvalidOption.
        """
        return bulk.Wanted(self.action, self.filter, self.ids, self.mode)


class BulkStart(WithReason, BulkSelection):
    """What was shown is to be done: the same words, and the digest and moment that were shown with them."""

    digest: str = Field(pattern="^[0-9a-f]{32}$", examples=["5d41402abc4b2a76b9719d911017c592"])
    at: AwareMoment = Field(description="When it was shown.")
    per_second: float | None = Field(None, gt=0, le=bulk.MOST_PER_SECOND, description="Jobs in a second, at most.")


class DeletionSelection(Model):
    """Which ended jobs are to be deleted, by a filter or by their ids."""

    filter: str | None = Field(None, max_length=4000, examples=["label:customer=4711"])
    ids: list[str] | None = Field(None, max_length=bulk.MOST_JOBS, description="Instead of a filter.")

    def meant(self) -> bulk.Wanted:
        """As the engine takes it.

        Raises: InvalidOption.
        """
        return bulk.Wanted(bulk.DELETE, self.filter, self.ids)


class DeletionStart(WithReason, DeletionSelection):
    """What was shown is to be deleted: the same words, and the digest and moment that were shown with them."""

    digest: str = Field(pattern="^[0-9a-f]{32}$", examples=["5d41402abc4b2a76b9719d911017c592"])
    at: AwareMoment = Field(description="When it was shown.")
    conceal_filter: bool = Field(
        default=False, description="Keep the SHA-256 of the filter instead of its text, because the text names a person."
    )


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("bulk")

    @router.post("/bulk/preview", operation_id="previewBulk", summary="What a bulk action would do; nothing is written")
    @takes(IDS_LIMIT)
    @needs("operator")
    async def preview(wanted: BulkSelection, who: Who) -> BulkPreview:
        return await context.call(lambda: context.queries.bulk_preview(wanted.meant(), role=who.role))

    @router.post(
        "/bulk",
        operation_id="startBulk",
        summary="Do what was shown, by a tracked job",
        status_code=201,
        responses={200: {"model": StartedJob, "description": "It was started already."}, **also(409)},
        description="The job works on those of the jobs that were shown which have not changed since. Started again with the "
        "same digest it gives the same job; one that was stopped or failed may be started again. 409 where nothing of what "
        "was shown is left to do.",
    )
    @takes(IDS_LIMIT)
    @needs("operator")
    async def start(given: BulkStart, who: Who, response: Response) -> StartedJob:
        job = await _start(context, given, who, per_second=given.per_second)
        response.status_code = 201 if job.created else 200
        return StartedJob(job=job.id, created=job.created)

    _deleting(router, context)
    return router


def _deleting(router: APIRouter, context: ApiContext) -> None:
    @router.post(
        "/deletion/preview", operation_id="previewDeletion", summary="Which jobs would be deleted; nothing is written"
    )
    @takes(IDS_LIMIT)
    @needs("admin")
    async def preview(wanted: DeletionSelection, who: Who) -> BulkPreview:
        return await context.call(lambda: context.queries.bulk_preview(wanted.meant(), role=who.role))

    @router.post(
        "/deletion",
        operation_id="startDeletion",
        summary="Delete the jobs that were shown, by a tracked job",
        status_code=201,
        responses={200: {"model": StartedJob, "description": "It was started already."}, **also(409)},
        description="Deletes those of the jobs that were shown which have not changed since, with everything that tells of "
        "them. What is active, or needed by an active job, stays.",
    )
    @takes(IDS_LIMIT)
    @needs("admin")
    async def start(given: DeletionStart, who: Who, response: Response) -> StartedJob:
        told = told_filter(given.filter, conceal=given.conceal_filter)
        job = await _start(context, given, who, told=told)
        response.status_code = 201 if job.created else 200
        return StartedJob(job=job.id, created=job.created)


async def _start(context: ApiContext, given: BulkStart | DeletionStart, who: Person, **said: Any) -> Job:
    service, wanted = context.jobs.service, given.meant()
    there = await context.call(bulk.under_way, service, given.digest)
    if there is not None:
        return there
    view = context.queries.context.view(who.role)
    left = await context.search(bulk.preview, wanted, context.store.now(), since=given.at, view=view)
    said |= {"actor": who.actor, "reason": given.reason, "key": given.digest}
    return await context.call(bulk.submit, service, left, **said)
