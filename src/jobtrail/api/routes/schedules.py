"""Schedules over the network: what runs by the clock, what was missed and why, and steering it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.bodies import takes_arguments
from jobtrail.api.requests import AwareMoment, StartedJob, WithReason
from jobtrail.errors import InvalidArguments
from jobtrail.job.masking import left_masked, restored
from jobtrail.messages import Message
from jobtrail.queries import schedules
from jobtrail.queries.base import Model

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext

TIMES = schedules.TIMES
Name = Annotated[str, Path(max_length=200, description="The schedule's name.", examples=["sync_weather"])]


class PauseRequest(WithReason):
    """A pause, perhaps with an end."""

    until: AwareMoment | None = Field(None, description="It goes on by itself then; a moment with its offset.")


class RuleText(Model):
    """A rule of time."""

    rule: str = Field(
        max_length=500, examples=["0 3 * * *"], description="Cron text, 'every 5 minutes', or 'at 2030-01-31T03:00Z'."
    )
    tz: str | None = Field(None, max_length=100, examples=["Europe/Moscow"], description="Its zone; default UTC.")


class ScheduleOptions(WithReason):
    """The options of a schedule; what is left out is as by default, or stays as it is."""

    tz: str | None = Field(None, max_length=100)
    args: dict[str, Any] | None = None
    source: str | None = None
    period: str | None = Field(None, examples=["previous day"])
    labels: dict[str, str] | None = None
    queue: str | None = None
    priority: int | None = None
    catch_up: str | None = Field(None, examples=["one"])
    window: float | None = None
    grace: float | None = None
    overlap: str | None = Field(None, examples=["skip"])
    jitter: float | None = None
    delay: float | None = None
    pause_after_failures: int | None = None
    ends_at: AwareMoment | None = None
    max_runs: int | None = None
    if_done: str | None = Field(None, examples=["run"])

    def given(self) -> dict[str, Any]:
        """What was given, nulls included."""
        return self.model_dump(include=self.model_fields_set - {"name", "task", "reason"})


class NewSchedule(ScheduleOptions):
    """A schedule to be added."""

    name: str = Field(max_length=200, examples=["nightly"])
    task: str = Field(max_length=200, examples=["sync_weather"])
    rule: str = Field(max_length=500, examples=["0 3 * * *"])


class ScheduleEdit(ScheduleOptions):
    """What is to change."""

    rule: str | None = Field(None, max_length=500, examples=["0 4 * * *"])


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("schedules")
    _looking(router, context)
    _steering(router, context)
    _changing(router, context)
    return router


def _looking(router: APIRouter, context: ApiContext) -> None:
    @router.get("/schedules", operation_id="listSchedules", summary="All schedules, by name")
    @needs("viewer")
    async def every() -> schedules.ScheduleList:
        return await context.call(context.queries.schedules)

    @router.get(
        "/missed", operation_id="listMissed", summary="Planned times that did not run, and why", responses=also(404)
    )
    @needs("viewer")
    async def missed(
        since: AwareMoment | None = None,
        name: Annotated[str | None, Query(max_length=200, description="Of one schedule.", examples=["sync_weather"])] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> schedules.MissedSlots:
        return await context.call(context.queries.missed, name, since=since, limit=limit)

    @router.post(
        "/schedules/preview", operation_id="previewRule", summary="What a rule of time means, and its next times"
    )
    @needs("viewer")
    async def preview(asked: RuleText) -> schedules.RulePreview:
        return await context.call(context.queries.preview_rule, asked.rule, asked.tz)

    @router.get(
        "/schedules/{name:path}",
        operation_id="showSchedule",
        summary="One schedule: its rule, next and last times, drift",
        responses=also(404),
    )
    @needs("viewer")
    async def one(name: Name, times: Annotated[int, Query(ge=0, le=200)] = TIMES) -> schedules.ScheduleDetail:
        return await context.call(context.queries.schedule, name, times=times)


def _steering(router: APIRouter, context: ApiContext) -> None:
    @router.post(
        "/schedules/{name:path}/pause",
        operation_id="pauseSchedule",
        summary="Run nothing until it is resumed",
        responses=also(404, 409),
    )
    @needs("operator")
    async def pause(name: Name, said: PauseRequest, who: Who) -> schedules.ScheduleDetail:
        await context.call(context.jobs.schedules.pause, name, until=said.until, reason=said.reason, actor=who.actor)
        return await context.call(context.queries.schedule, name)

    @router.post(
        "/schedules/{name:path}/resume",
        operation_id="resumeSchedule",
        summary="Go on with the next planned time",
        responses=also(404, 409),
    )
    @needs("operator")
    async def resume(name: Name, said: WithReason, who: Who) -> schedules.ScheduleDetail:
        await context.call(context.jobs.schedules.resume, name, reason=said.reason, actor=who.actor)
        return await context.call(context.queries.schedule, name)

    @router.post(
        "/schedules/{name:path}/run-now",
        operation_id="runScheduleNow",
        summary="Submit its job now",
        status_code=201,
        responses=also(404, 409),
    )
    @needs("operator")
    async def run_now(name: Name, said: WithReason, who: Who) -> StartedJob:
        job = await context.call(context.jobs.schedules.run_now, name, reason=said.reason, actor=who.actor)
        return StartedJob(job=job.id, created=True)


def _changing(router: APIRouter, context: ApiContext) -> None:
    @router.post(
        "/schedules", operation_id="addSchedule", summary="Add a schedule", status_code=201, responses=also(409)
    )
    @takes_arguments
    @needs("admin")
    async def add(new: NewSchedule, who: Who) -> schedules.ScheduleDetail:
        said = {name: value for name, value in new.given().items() if value is not None or name == "grace"}
        schedules.read_rule(new.rule, new.tz)
        path = left_masked(said.get("args"), path="$.args")
        if path is not None:
            raise InvalidArguments(Message("api.masked-field", path=path), path)
        await context.call(context.jobs.schedules.add, new.name, new.task, actor=who.actor, reason=new.reason, **said)
        return await context.call(context.queries.schedule, new.name)

    @router.patch(
        "/schedules/{name:path}", operation_id="editSchedule", summary="Change words of a schedule", responses=also(404)
    )
    @takes_arguments
    @needs("admin")
    async def edit(name: Name, changes: ScheduleEdit, who: Who) -> schedules.ScheduleDetail:
        await context.call(_edit, context, name, changes, who.actor)
        return await context.call(context.queries.schedule, name)

    @router.post(
        "/schedules/{name:path}/take-code",
        operation_id="takeCode",
        summary="Let go of what was edited",
        responses=also(404),
    )
    @needs("admin")
    async def take_code(name: Name, said: WithReason, who: Who) -> schedules.ScheduleDetail:
        await context.call(context.jobs.schedules.take_code, name, reason=said.reason, actor=who.actor)
        return await context.call(context.queries.schedule, name)

    @router.delete(
        "/schedules/{name:path}",
        operation_id="removeSchedule",
        summary="Remove a schedule",
        status_code=204,
        responses=also(404, 409),
    )
    @needs("admin")
    async def remove(name: Name, who: Who, reason: Annotated[str | None, Query(max_length=500)] = None) -> None:
        await context.call(context.jobs.schedules.remove, name, reason=reason, actor=who.actor)


def _edit(context: ApiContext, name: str, changes: ScheduleEdit, actor: str) -> None:
    found = context.jobs.schedules
    one = found.get(name)
    said = changes.given()
    if said.get("rule") is not None:
        said["tz"] = said.get("tz") or one.zone
        schedules.read_rule(said["rule"], said["tz"])
    if said.get("labels") is not None and one.definition is not None:
        said["labels"] = restored(said["labels"], dict(one.definition.labels))
    for word in ("rule", "tz", "args", "labels"):
        if said.get(word, ...) is None:
            del said[word]
    found.edit(name, actor=actor, reason=changes.reason, **said)
