"""Bulk actions over the network: shown first, with the exact number, then done by a tracked job; safe to press twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.requests import AwareMoment, StartedJob, WithReason
from jobtrail.commands import bulk
from jobtrail.messages import render
from jobtrail.queries.base import ID, Model

if TYPE_CHECKING:
    from jobtrail.api.context import Desk
    from jobtrail.commands.job_handle import Job


class Wanted(Model):
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


class Start(WithReason, Wanted):
    """What was shown is to be done: the same words, and the digest and moment that were shown with them."""

    digest: str = Field(pattern="^[0-9a-f]{32}$", examples=["5d41402abc4b2a76b9719d911017c592"])
    at: AwareMoment = Field(description="When it was shown.")
    per_second: float | None = Field(None, gt=0, le=bulk.MOST_PER_SECOND, description="Jobs in a second, at most.")


class Skipped(Model):
    """Jobs with which nothing would be done."""

    reason: str = Field(examples=["its unit has a newer job"])
    jobs: int
    example: str = Field(examples=[ID])


class Preview(Model):
    """What would be done now; nothing was written."""

    action: str
    mode: str | None
    jobs: int = Field(description="How many are meant.")
    acts: int = Field(description="With how many something would be done.")
    skipped: list[Skipped]
    more: bool = Field(description=f"The filter names older jobs too; the newest {bulk.MOST_JOBS:,} are meant.")
    digest: str = Field(description="The action is started with it, and only once.")
    at: AwareMoment = Field(description="When this was so; the action is started with it, too.")


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("bulk")

    @router.post("/bulk/preview", operation_id="previewBulk", summary="What a bulk action would do; nothing is written")
    @needs("operator")
    async def preview(wanted: Wanted) -> Preview:
        return _told(await desk.search(bulk.preview, wanted.meant(), desk.store.now()))

    @router.post(
        "/bulk",
        operation_id="startBulk",
        summary="Do what was shown, by a tracked job",
        status_code=201,
        responses={200: {"model": StartedJob, "description": "It was started already."}, **also(409)},
        description="The job works on those of the jobs that were shown which have not changed since. StartedJob again with the "
        "same digest it gives the same job; one that was stopped or failed may be started again. 409 where nothing of what "
        "was shown is left to do.",
    )
    @needs("operator")
    async def start(given: Start, who: Who, response: Response) -> StartedJob:
        job = await _start(desk, given, who.actor)
        response.status_code = 201 if job.created else 200
        return StartedJob(job=job.id, created=job.created)

    return router


async def _start(desk: Desk, given: Start, actor: str) -> Job:
    service, wanted = desk.jobs.service, given.meant()
    there = await desk.call(bulk.under_way, service, given.digest)
    if there is not None:
        return there
    left = await desk.search(bulk.preview, wanted, desk.store.now(), since=given.at)
    said = {"actor": actor, "reason": given.reason, "per_second": given.per_second, "key": given.digest}
    return await desk.call(bulk.submit, service, left, **said)


def _told(shown: bulk.Preview) -> Preview:
    wanted = shown.wanted
    skipped = [Skipped(reason=render(reason), jobs=number, example=example) for reason, number, example in shown.skips]
    return Preview(
        action=wanted.action, mode=wanted.mode, jobs=len(shown.chosen), acts=shown.acts, skipped=skipped, more=shown.more,
        digest=shown.digest, at=shown.at,
    )  # fmt: skip
