"""Jobs over the network: lists, counts, one job in detail, submitting, and actions on one job."""

from __future__ import annotations

import hashlib
from json import loads
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import ConfigDict, Field, model_validator

from jobtrail.api import ids
from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.bodies import takes_arguments
from jobtrail.api.requests import AwareMoment, WithReason
from jobtrail.commands import rerun, uploads
from jobtrail.commands.job_fields import stored_row
from jobtrail.errors import InvalidArguments, InvalidOption, UsageError
from jobtrail.job.masking import left_masked, restored
from jobtrail.messages import Message
from jobtrail.queries.base import ID, Model
from jobtrail.queries.jobs.groups import MOST_MEMBERS, GroupDetail
from jobtrail.queries.jobs.job_detail import JobDetail
from jobtrail.queries.jobs.job_list import JobCounts, JobPage, StoredJob, job_line

if TYPE_CHECKING:
    from jobtrail.api.auth.access import Person
    from jobtrail.api.context import ApiContext
    from jobtrail.job.model import FileInput, JobRow


def _only(this: str, other: str) -> dict[str, Any]:
    """A schema: this one is said and the other is not."""
    return {"properties": {this: {"type": "string"}, other: {"type": "null"}}, "required": [this]}


class FileGiven(Model):
    """The input file: an upload by its id, or a path below one of the server's ``input_roots``."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_only("upload", "path"), _only("path", "upload")]})

    upload: str | None = Field(None, examples=[ID])
    path: str | None = Field(None, max_length=4096, examples=["incoming/planes.csv"])

    @model_validator(mode="after")
    def _one(self) -> FileGiven:
        if (self.upload is None) == (self.path is None):
            raise UsageError(Message("api.upload-or-path"))
        return self


class Submission(WithReason):
    """A job to be stored; what is null is as the task says."""

    task: str = Field(examples=["sync_weather"])
    args: dict[str, Any] = Field(default_factory=dict, examples=[{"airport": "EWR"}])
    source: str | None = Field(None, examples=["weather/EWR"])
    period: str | None = Field(None, examples=["2013-02"])
    file: FileGiven | None = None
    unit: str | None = Field(None, description="Key of one's own that identifies the unit.", examples=["tenant-7"])
    priority: int | None = Field(None, description="0 (most urgent) to 9")
    queue: str | None = None
    run_at: AwareMoment | None = Field(None, description="Not before.")
    labels: dict[str, str] | None = Field(None, examples=[{"tenant": "acme"}])
    context: dict[str, Any] | None = None
    if_active: Literal["same", "raise", "queue"] = "same"
    if_done: Literal["run", "skip", "raise"] = "run"


class ChosenItem(Model):
    """An item of a job."""

    key: str = Field(max_length=512)
    loop: str | None = Field(None, max_length=512, description="null: the only loop that has the key.")


class Rerun(WithReason):
    """How the work is done again, as a new job."""

    mode: Literal["full", "failed_items", "resume"] = "full"
    items: list[ChosenItem] | None = Field(
        None, min_length=1, max_length=rerun.MOST_ITEMS,
        description="Only these items, whatever their outcome was; it continues the generation as failed_items does.",
    )
    args: dict[str, Any] | None = Field(
        None, description="Other arguments, all of them; one that is still masked stays what it was."
    )
    file: FileGiven | None = Field(None, description="A corrected file.")
    if_active: Literal["raise", "queue"] = "raise"
    with_successors: bool = False


class Cancel(WithReason):
    """An end before its end."""

    force: bool = Field(False, description="Of a job that was asked to stop and has not: write its end.")


# Where a request has no body.
NOTHING, JUST_CANCEL, ALL_AGAIN = WithReason.model_validate({}), Cancel.model_validate({}), Rerun.model_validate({})


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("jobs")
    _looking(router, context)
    _groups(router, context)
    _submitting(router, context)
    _steering(router, context)
    return router


# -- looking -------------------------------------------------------------------------------------------


def _looking(router: APIRouter, context: ApiContext) -> None:
    @router.get("/jobs", operation_id="listJobs", summary="Jobs that a filter names")
    @needs("viewer")
    async def list_jobs(
        who: Who,
        q: Annotated[str, Query(description="The filter grammar.", examples=["status:failed source:weather/*"])] = "",
        before: Annotated[str | None, Query(description="The id of a job: only those made before it.")] = None,
        after: Annotated[str | None, Query(description="The id of a job: only those made after it.")] = None,
        order: Annotated[Literal["newest", "oldest"], Query(description="Which come first.")] = "newest",
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        count: Annotated[bool, Query(description="Count all that fit, too, exact up to 10,000.")] = False,
    ) -> JobPage:
        place = {"before": before, "after": after, "order": order}
        return await context.call(context.queries.jobs, q, limit=limit, count=count, role=who.role, **place)

    @router.get(
        "/jobs/counts",
        operation_id="countJobs",
        summary="How many of the jobs that a filter names stand in each status",
        description="What the filter says of the status is left out. Exact up to 10,000; read at most once a second, and what is more than that some times a minute.",
    )
    @needs("viewer")
    async def count_jobs(
        who: Who,
        q: Annotated[str, Query(description="The filter grammar.", examples=["source:weather/*"])] = "",
    ) -> JobCounts:
        return await context.call(context.queries.job_counts, q, role=who.role)

    @router.get(
        "/jobs/{job_id}",
        operation_id="getJob",
        summary="One job in detail",
        responses={304: {"description": "Nothing has changed."}, **also(404)},
        response_model=JobDetail,
        description="By its id or any unique ending of it. Has an ETag: with `If-None-Match` "
        "the answer is 304 as long as nothing has changed.",
    )
    @needs("viewer")
    async def get_job(
        job_id: str, who: Who, if_none_match: Annotated[str, Header(description="The ETag of what is known.")] = ""
    ) -> Response:
        role = None if who.may("operator") else who.role
        found = await context.call(context.queries.job, job_id, role=role)
        return _tagged(if_none_match, found.model_dump_json().encode())


def _groups(router: APIRouter, context: ApiContext) -> None:
    @router.get(
        "/groups/{group_id}",
        operation_id="getGroup",
        summary="A group of jobs: how its members stand, and what follows",
        responses=also(404),
    )
    @needs("viewer")
    async def get_group(
        group_id: Annotated[str, Path(examples=[ID])],
        after: Annotated[int, Query(ge=0, description="The ``next`` of the page before.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_MEMBERS, description="Of members.")] = MOST_MEMBERS,
    ) -> GroupDetail:
        return await context.call(context.queries.group, ids.group_id(group_id), after=after, limit=limit)


def _tagged(asked: str, body: bytes) -> Response:
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie, Accept-Language"}
    known = {one.strip().removeprefix("W/") for one in asked.split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


# -- submitting ----------------------------------------------------------------------------------------


def _submitting(router: APIRouter, context: ApiContext) -> None:
    @router.post(
        "/jobs",
        operation_id="submitJob",
        summary="Store a job",
        status_code=201,
        responses={200: {"model": StoredJob, "description": "It was there already."}, **also(404, 409, 410, 413)},
    )
    @takes_arguments
    @needs("operator")
    async def submit(
        response: Response,
        submission: Submission,
        who: Who,
        idempotency_key: Annotated[
            str | None, Header(description="Makes this repeatable: the same key and the same job give the same answer.")
        ] = None,
    ) -> StoredJob:
        stored = await context.call(_submit, context, submission, idempotency_key, who)
        response.headers["Location"] = f"jobs/{stored.job.id}"
        response.status_code = 201 if stored.created else 200
        return stored


def _submit(context: ApiContext, given: Submission, key: str | None, who: Person) -> StoredJob:
    bound = context.jobs.task_named(given.task)
    _refuse_masks(given.args, None)
    said = {
        "source": given.source, "period": given.period, "unit": given.unit, "priority": given.priority, "queue": given.queue,
        "run_at": given.run_at, "labels": given.labels or None, "context": given.context or None, "idempotency_key": key,
        "file": file_of(context, given.file), "reason": given.reason,
    }  # fmt: skip
    using: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    using |= {"actor": who.actor, "if_active": given.if_active, "if_done": given.if_done}
    job = bound.using(**using).enqueue(**given.args)
    return StoredJob(job=job_line(stored_row(job)), created=job.created)


def file_of(context: ApiContext, given: FileGiven | None) -> FileInput | str | None:
    """The input file that a request names: an upload, or the path of a file that may be named.

    Raises: InvalidFile, NotFound, UsageError.
    """
    if given is None:
        return None
    settings = context.jobs.settings
    if given.path is not None:
        return uploads.below(settings.input_roots, given.path)
    return uploads.find(uploads.folder_of(settings, context.store), given.upload or "")


def _refuse_masks(value: dict[str, Any], kept: Any) -> None:
    path = left_masked(value, kept)
    if path is not None:
        raise InvalidArguments(Message("api.mask-unknown", path=path), path)


# -- steering ------------------------------------------------------------------------------------------


def _steering(router: APIRouter, context: ApiContext) -> None:
    @router.post(
        "/jobs/{job_id}/retry", operation_id="retryJob", summary="One more attempt", responses=also(404, 409)
    )
    @needs("operator")
    async def retry(job_id: str, who: Who, said: WithReason = NOTHING) -> StoredJob:
        return await context.call(_steer, context, job_id, rerun.retry, actor=who.actor, reason=said.reason)

    @router.post(
        "/jobs/{job_id}/cancel",
        operation_id="cancelJob",
        summary="End it before its end",
        responses=also(404, 409),
        description="At once where nothing runs; a running body is asked to stop, and a second time `force` is needed.",
    )
    @needs("operator")
    async def cancel(job_id: str, who: Who, said: Cancel = JUST_CANCEL) -> StoredJob:
        how = {"actor": who.actor, "reason": said.reason, "force": said.force}
        return await context.call(_steer, context, job_id, rerun.cancel, **how)

    @router.post(
        "/jobs/{job_id}/run-now", operation_id="runJobNow", summary="Do not wait for its time", responses=also(404, 409)
    )
    @needs("operator")
    async def run_now(job_id: str, who: Who, said: WithReason = NOTHING) -> StoredJob:
        return await context.call(_steer, context, job_id, rerun.run_now, actor=who.actor, reason=said.reason)

    @router.post(
        "/jobs/{job_id}/rerun",
        operation_id="rerunJob",
        summary="Do the work again, as a new job",
        status_code=201,
        responses={200: {"model": StoredJob, "description": "It was there already."}, **also(404, 409, 413)},
    )
    @takes_arguments
    @needs("operator")
    async def again(response: Response, job_id: str, who: Who, said: Rerun = ALL_AGAIN) -> StoredJob:
        stored = await context.call(_rerun, context, job_id, said, who)
        response.status_code = 201 if stored.created else 200
        return stored


def _steer(context: ApiContext, job_id: str, move: Any, **how: Any) -> StoredJob:
    found = context.queries.job_id(job_id)
    move(context.store, found, **how)
    return _stored(context, found, created=False)


def _rerun(context: ApiContext, job_id: str, said: Rerun, who: Person) -> StoredJob:
    row = stored_row(context.jobs.get(job_id))
    service = context.jobs.service
    service.make_ready()
    items = None if said.items is None else [(one.loop, one.key) for one in said.items]
    answer = rerun.rerun(
        context.store, row.id, said.mode, items=items, file=file_of(context, said.file),
        if_active=said.if_active, with_successors=said.with_successors, actor=who.actor, reason=said.reason,
        submitter=service.submitter, **_changed(context, row, said.args),
    )  # fmt: skip
    return _stored(context, answer.id, created=answer.created)


def _changed(context: ApiContext, row: JobRow, args: dict[str, Any] | None) -> dict[str, Any]:
    """Other arguments as they are stored; those that are still masked stay what they were."""
    if args is None:
        return {}
    task = context.jobs.tasks.get(row.task)
    kept = loads(row.args)
    given = restored(args, kept)
    if not isinstance(given, dict):
        raise InvalidOption(Message("api.arguments-not-object"))
    _refuse_masks(given, kept)
    limit = context.jobs.settings.argument_limit
    return rerun.changed(task, given, queue=row.queue, source=row.source, limit=limit)


def _stored(context: ApiContext, job_id: str, *, created: bool) -> StoredJob:
    return StoredJob(job=job_line(stored_row(context.jobs.get(job_id))), created=created)
