"""Jobs over the network: the list, one job whole, submitting, and what can be done with one."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import ConfigDict, Field, model_validator

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.models import job_detail
from jobtrail.api.requests import AwareMoment, WithReason
from jobtrail.commands import rerun, uploads
from jobtrail.commands.job_fields import stored_row
from jobtrail.errors import InvalidArguments, InvalidOption, NotFound
from jobtrail.job.json_value import encode_arguments
from jobtrail.job.masking import left_masked, restored
from jobtrail.messages import Message
from jobtrail.queries.base import ID, CappedCount, Model
from jobtrail.queries.jobs.job_list import JobCounts, JobLine, JobPage, job_line
from jobtrail.store import jobs, runs
from jobtrail.store.search import search

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.api.auth.access import Person
    from jobtrail.api.context import Desk
    from jobtrail.job.model import FileInput, JobRow

COUNT_CAP = search.COUNT_CAP
SHORTEST = 6  # characters of the ending of an id
_ID = re.compile(r"[0-9a-fA-F-]{6,36}")
_REPORTING = {"running", "cancelling", "pending"}


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
            message = "say either upload or path"
            raise ValueError(message)
        return self


class Submission(WithReason):
    """A job to be stored; what is null is as the task says."""

    task: str = Field(examples=["sync_weather"])
    args: dict[str, Any] = Field(default_factory=dict, examples=[{"airport": "EWR"}])
    source: str | None = Field(None, examples=["weather/EWR"])
    period: str | None = Field(None, examples=["2013-02"])
    file: FileGiven | None = None
    priority: int | None = Field(None, description="0 (most urgent) to 9")
    queue: str | None = None
    run_at: AwareMoment | None = Field(None, description="Not before.")
    labels: dict[str, str] | None = Field(None, examples=[{"tenant": "acme"}])
    context: dict[str, Any] | None = None
    if_active: Literal["same", "raise", "queue"] = "same"
    if_done: Literal["run", "skip", "raise"] = "run"


class Rerun(WithReason):
    """How the work is done again, as a new job."""

    mode: Literal["full", "failed_items", "resume"] = "full"
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


class Stored(Model):
    """The job that stands for what was asked; ``created`` is false where it was there already."""

    job: JobLine
    created: bool


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("jobs")
    _looking(router, desk)
    _submitting(router, desk)
    _steering(router, desk)
    return router


# -- looking -------------------------------------------------------------------------------------------


def _looking(router: APIRouter, desk: Desk) -> None:
    @router.get("/jobs", operation_id="listJobs", summary="Jobs that a filter names, newest first")
    @needs("viewer")
    async def list_jobs(
        q: Annotated[str, Query(description="The filter grammar.", examples=["status:failed source:weather/*"])] = "",
        before: Annotated[str | None, Query(description="The id of a job: only those made before it.")] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        count: Annotated[bool, Query(description="Count all that fit, too, exact up to 10,000.")] = False,
    ) -> JobPage:
        return await desk.search(_page, desk.store.now(), q, before, limit, count)

    @router.get(
        "/jobs/counts",
        operation_id="countJobs",
        summary="How many of the jobs that a filter names stand in each status",
        description="What the filter says of the status is left out. Exact up to 10,000; read at most once a second, and what is more than that some times a minute.",
    )
    @needs("viewer")
    async def count_jobs(
        q: Annotated[str, Query(description="The filter grammar.", examples=["source:weather/*"])] = "",
    ) -> JobCounts:
        return await desk.search(lambda conn: desk.cache.read(("counts", q), lambda: _counts(conn, desk, q)))

    @router.get(
        "/jobs/{job_id}",
        operation_id="getJob",
        summary="One job, whole",
        responses={304: {"description": "Nothing has changed."}, **also(404)},
        response_model=job_detail.JobWhole,
        description="By its id or any unique ending of it of 6 characters and more. Has an ETag: with `If-None-Match` "
        "the answer is 304 as long as nothing has changed.",
    )
    @needs("viewer")
    async def get_job(
        job_id: str, who: Who, if_none_match: Annotated[str, Header(description="The ETag of what is known.")] = ""
    ) -> Response:
        found = await desk.search(_whole, desk, job_id, who)
        return _tagged(if_none_match, found.model_dump_json().encode())


def _page(conn: Connection, now: datetime, q: str, before: str | None, limit: int, count: bool) -> JobPage:
    page = search.find(conn, q, now=now, limit=limit, before=before)
    active = [row.id for row in page.rows if row.status.value in _REPORTING]
    reported: dict[str, Any] = runs.progress_of(conn, active) if active else {}
    number = search.count(conn, q, now=now, cap=COUNT_CAP) if count else None
    return JobPage(
        jobs=[job_line(row, reported.get(row.id)) for row in page.rows],
        next=page.next,
        count=None if number is None else CappedCount(number=number.number, more=number.more),
        searched=page.searched,
        note=page.note,
        now=now,
    )


def _counts(conn: Connection, desk: Desk, q: str) -> JobCounts:
    now = desk.store.now()
    found = desk.queries.context.statuses(conn) if search.asks_for_all(q) else search.by_status(conn, q, now=now, cap=COUNT_CAP)
    whole = search.together(found.values(), COUNT_CAP)
    told = {status: CappedCount(number=one.number, more=one.more) for status, one in found.items()}
    return JobCounts(status=told, all=CappedCount(number=whole.number, more=whole.more), now=now)


def row_of(conn: Connection, job_id: str) -> JobRow:
    """A job by its id or a unique ending of it.

    Raises: NotFound, also where several ids end so.
    """
    row = None
    if _ID.fullmatch(job_id):
        row = jobs.get(conn, job_id.lower()) if len(job_id) == 36 and _is_id(job_id) else None
        found = jobs.ending_with(conn, job_id) if row is None else []
        if len(found) > 1:
            message = Message("commands.several-jobs", id=job_id, found=", ".join(found))
            raise NotFound(message)
        row = jobs.get(conn, found[0]) if found else row
    if row is None:
        message = Message("commands.no-job-ending", id=job_id[:50])
        raise NotFound(message)
    return row


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None


def _whole(conn: Connection, desk: Desk, job_id: str, who: Person) -> job_detail.JobWhole:
    return job_detail.read(conn, desk, row_of(conn, job_id), who)


def _tagged(asked: str, body: bytes) -> Response:
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie, Accept-Language"}
    known = {one.strip().removeprefix("W/") for one in asked.split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


# -- submitting ----------------------------------------------------------------------------------------


def _submitting(router: APIRouter, desk: Desk) -> None:
    @router.post(
        "/jobs",
        operation_id="submitJob",
        summary="Store a job",
        status_code=201,
        responses={200: {"model": Stored, "description": "It was there already."}, **also(404, 409, 413)},
    )
    @needs("operator")
    async def submit(
        response: Response,
        submission: Submission,
        who: Who,
        idempotency_key: Annotated[
            str | None, Header(description="Makes this repeatable: the same key and the same job give the same answer.")
        ] = None,
    ) -> Stored:
        stored = await desk.call(_submit, desk, submission, idempotency_key, who)
        response.headers["Location"] = f"jobs/{stored.job.id}"
        response.status_code = 201 if stored.created else 200
        return stored


def _submit(desk: Desk, given: Submission, key: str | None, who: Person) -> Stored:
    bound = desk.jobs.task_named(given.task)
    _refuse_masks(given.args, None)
    said = {
        "source": given.source, "period": given.period, "priority": given.priority, "queue": given.queue,
        "run_at": given.run_at, "labels": given.labels or None, "context": given.context or None, "idempotency_key": key,
        "file": file_of(desk, given.file), "reason": given.reason,
    }  # fmt: skip
    using = {name: value for name, value in said.items() if value is not None}
    using |= {"actor": who.actor, "if_active": given.if_active, "if_done": given.if_done}
    job = bound.using(**using).enqueue(**given.args)
    return Stored(job=job_line(stored_row(job)), created=job.created)


def file_of(desk: Desk, given: FileGiven | None) -> FileInput | None:
    """The input file that a request names, looked at and hashed.

    Raises: InvalidFile, NotFound, UsageError.
    """
    if given is None:
        return None
    settings = desk.jobs.settings
    if given.path is not None:
        return uploads.below(settings.input_roots, given.path)
    return uploads.find(uploads.folder_of(settings, desk.store), given.upload or "")


def _refuse_masks(value: dict[str, Any], kept: Any) -> None:
    path = left_masked(value, kept)
    if path is not None:
        message = f"{path} is a mask and no value: what it hides is not known here"
        raise InvalidArguments(message, path)


# -- steering ------------------------------------------------------------------------------------------


def _steering(router: APIRouter, desk: Desk) -> None:
    @router.post("/jobs/{job_id}/retry", operation_id="retryJob", summary="One more attempt", responses=also(404, 409))
    @needs("operator")
    async def retry(job_id: str, who: Who, said: WithReason = NOTHING) -> Stored:
        return await desk.call(_steer, desk, job_id, rerun.retry, actor=who.actor, reason=said.reason)

    @router.post(
        "/jobs/{job_id}/cancel",
        operation_id="cancelJob",
        summary="End it before its end",
        responses=also(404, 409),
        description="At once where nothing runs; a running body is asked to stop, and a second time `force` is needed.",
    )
    @needs("operator")
    async def cancel(job_id: str, who: Who, said: Cancel = JUST_CANCEL) -> Stored:
        how = {"actor": who.actor, "reason": said.reason, "force": said.force}
        return await desk.call(_steer, desk, job_id, rerun.cancel, **how)

    @router.post(
        "/jobs/{job_id}/run-now", operation_id="runJobNow", summary="Do not wait for its time", responses=also(404, 409)
    )
    @needs("operator")
    async def run_now(job_id: str, who: Who, said: WithReason = NOTHING) -> Stored:
        return await desk.call(_steer, desk, job_id, rerun.run_now, actor=who.actor, reason=said.reason)

    @router.post(
        "/jobs/{job_id}/rerun",
        operation_id="rerunJob",
        summary="Do the work again, as a new job",
        status_code=201,
        responses={200: {"model": Stored, "description": "It was there already."}, **also(404, 409, 413)},
    )
    @needs("operator")
    async def again(response: Response, job_id: str, who: Who, said: Rerun = ALL_AGAIN) -> Stored:
        stored = await desk.call(_rerun, desk, job_id, said, who)
        response.status_code = 201 if stored.created else 200
        return stored


def _steer(desk: Desk, job_id: str, move: Any, **how: Any) -> Stored:
    with desk.store.read() as conn:
        row = row_of(conn, job_id)
    move(desk.store, row.id, **how)
    return _stored(desk, row.id, created=False)


def _rerun(desk: Desk, job_id: str, said: Rerun, who: Person) -> Stored:
    with desk.store.read() as conn:
        row = row_of(conn, job_id)
    service = desk.jobs.service
    service.make_ready()
    answer = rerun.rerun(
        desk.store, row.id, said.mode, file=file_of(desk, said.file), args=_changed(desk, row, said.args),
        if_active=said.if_active, with_successors=said.with_successors, actor=who.actor, reason=said.reason,
        submitter=service.submitter,
    )  # fmt: skip
    return _stored(desk, answer.id, created=answer.created)


def _changed(desk: Desk, row: JobRow, args: dict[str, Any] | None) -> str | None:
    """Other arguments as they are stored; those that are still masked stay what they were."""
    if args is None:
        return None
    task = desk.jobs.tasks.get(row.task)
    kept = loads(row.args)
    given = restored(args, kept)
    if not isinstance(given, dict):
        message = "arguments are named: an object"
        raise InvalidOption(message)
    _refuse_masks(given, kept)
    return encode_arguments(task.signature.bind(task.name, (), given), desk.jobs.settings.argument_limit)


def _stored(desk: Desk, job_id: str, *, created: bool) -> Stored:
    return Stored(job=job_line(stored_row(desk.jobs.get(job_id))), created=created)
