"""Schedules over the network: what runs by the clock, what was missed and why, and steering it."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.models import schedules as schedule_models
from jobtrail.api.models.units import Started
from jobtrail.api.requests import AwareMoment, WithReason
from jobtrail.errors import InvalidArguments, InvalidSchedule
from jobtrail.job.masking import left_masked, restored
from jobtrail.queries.base import Model
from jobtrail.schedules.rules.rules import parse_rule
from jobtrail.schedules.rules.wording import LANGUAGES, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.api.context import Desk
    from jobtrail.schedules.rules.rules import Rule

TIMES, SLOTS, TRAIL = 20, 50, 50
Name = Annotated[str, Path(max_length=200, description="The schedule's name.", examples=["sync_weather"])]


class Pause(WithReason):
    """A pause, perhaps with an end."""

    until: AwareMoment | None = Field(None, description="It goes on by itself then; a moment with its offset.")


class RuleOf(Model):
    """A rule of time."""

    rule: str = Field(
        max_length=500, examples=["0 3 * * *"], description="Cron text, 'every 5 minutes', or 'at 2030-01-31T03:00Z'."
    )
    tz: str | None = Field(None, max_length=100, examples=["Europe/Moscow"], description="Its zone; default UTC.")


class Words(WithReason):
    """The words of a schedule; what is left out is as by default, or stays as it is."""

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
        """What was said, null among it."""
        return self.model_dump(include=self.model_fields_set - {"name", "task", "reason"})


class NewSchedule(Words):
    """A schedule to be added."""

    name: str = Field(max_length=200, examples=["nightly"])
    task: str = Field(max_length=200, examples=["sync_weather"])
    rule: str = Field(max_length=500, examples=["0 3 * * *"])


class Changes(Words):
    """What is to change."""

    rule: str | None = Field(None, max_length=500, examples=["0 4 * * *"])


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("schedules")
    _looking(router, desk)
    _steering(router, desk)
    _changing(router, desk)
    return router


def _looking(router: APIRouter, desk: Desk) -> None:
    @router.get("/schedules", operation_id="listSchedules", summary="All schedules, by name")
    @needs("viewer")
    async def every() -> schedule_models.ScheduleList:
        return await desk.call(read_list, desk)

    @router.get("/missed", operation_id="listMissed", summary="Planned times that did not run, and why")
    @needs("viewer")
    async def missed(
        since: AwareMoment | None = None, limit: Annotated[int, Query(ge=1, le=500)] = 100
    ) -> schedule_models.Missed:
        return await desk.call(_missed, desk, since, limit)

    @router.post(
        "/schedules/preview", operation_id="previewRule", summary="What a rule of time means, and its next times"
    )
    @needs("viewer")
    async def preview(asked: RuleOf) -> schedule_models.RuleShape:
        return await desk.call(_preview, desk, asked)

    @router.get(
        "/schedules/{name:path}",
        operation_id="showSchedule",
        summary="One schedule: its rule, next and last times, drift",
        responses=also(404),
    )
    @needs("viewer")
    async def one(name: Name, times: Annotated[int, Query(ge=0, le=200)] = TIMES) -> schedule_models.ScheduleShape:
        return await desk.call(_show, desk, name, times)


def _steering(router: APIRouter, desk: Desk) -> None:
    schedules = desk.jobs.schedules

    @router.post(
        "/schedules/{name:path}/pause",
        operation_id="pauseSchedule",
        summary="Run nothing until it is resumed",
        responses=also(404, 409),
    )
    @needs("operator")
    async def pause(name: Name, said: Pause, who: Who) -> schedule_models.ScheduleShape:
        await desk.call(schedules.pause, name, until=said.until, reason=said.reason, actor=who.actor)
        return await desk.call(_show, desk, name, TIMES)

    @router.post(
        "/schedules/{name:path}/resume",
        operation_id="resumeSchedule",
        summary="Go on with the next planned time",
        responses=also(404, 409),
    )
    @needs("operator")
    async def resume(name: Name, said: WithReason, who: Who) -> schedule_models.ScheduleShape:
        await desk.call(schedules.resume, name, reason=said.reason, actor=who.actor)
        return await desk.call(_show, desk, name, TIMES)

    @router.post(
        "/schedules/{name:path}/run-now",
        operation_id="runScheduleNow",
        summary="Submit its job now",
        status_code=201,
        responses=also(404, 409),
    )
    @needs("operator")
    async def run_now(name: Name, said: WithReason, who: Who) -> Started:
        job = await desk.call(schedules.run_now, name, reason=said.reason, actor=who.actor)
        return Started(job=job.id, created=True)


def _changing(router: APIRouter, desk: Desk) -> None:
    schedules = desk.jobs.schedules

    @router.post(
        "/schedules", operation_id="addSchedule", summary="Add a schedule", status_code=201, responses=also(409)
    )
    @needs("admin")
    async def add(new: NewSchedule, who: Who) -> schedule_models.ScheduleShape:
        said = {name: value for name, value in new.given().items() if value is not None or name == "grace"}
        _understood(new.rule, new.tz)
        path = left_masked(said.get("args"), path="$.args")
        if path is not None:
            message = f"{path} is masked: say what it is"
            raise InvalidArguments(message, path)
        await desk.call(schedules.add, new.name, new.task, actor=who.actor, reason=new.reason, **said)
        return await desk.call(_show, desk, new.name, TIMES)

    @router.patch(
        "/schedules/{name:path}", operation_id="editSchedule", summary="Change words of a schedule", responses=also(404)
    )
    @needs("admin")
    async def edit(name: Name, changes: Changes, who: Who) -> schedule_models.ScheduleShape:
        await desk.call(_edit, desk, name, changes, who.actor)
        return await desk.call(_show, desk, name, TIMES)

    @router.post(
        "/schedules/{name:path}/take-code",
        operation_id="takeCode",
        summary="Let go of what was edited",
        responses=also(404),
    )
    @needs("admin")
    async def take_code(name: Name, said: WithReason, who: Who) -> schedule_models.ScheduleShape:
        await desk.call(schedules.take_code, name, reason=said.reason, actor=who.actor)
        return await desk.call(_show, desk, name, TIMES)

    @router.delete(
        "/schedules/{name:path}",
        operation_id="removeSchedule",
        summary="Remove a schedule",
        status_code=204,
        responses=also(404, 409),
    )
    @needs("admin")
    async def remove(name: Name, who: Who, reason: Annotated[str | None, Query(max_length=500)] = None) -> None:
        await desk.call(schedules.remove, name, reason=reason, actor=who.actor)


def read_list(desk: Desk) -> schedule_models.ScheduleList:
    """All schedules."""
    found = desk.jobs.schedules
    return schedule_models.ScheduleList(
        schedules=[schedule_models.line(one) for one in found.list()], declared_only=list(found.declared_only()),
        leaders=found.leaders(), now=desk.store.now(),
    )  # fmt: skip


def _show(desk: Desk, name: str, times: int) -> schedule_models.ScheduleShape:
    found = desk.jobs.schedules
    one = found.get(name)
    return schedule_models.schedule(
        one, desk.marked(one.task), one.next(times, desk.store.now()), found.slots(name, limit=SLOTS),
        found.events(name)[-TRAIL:],
    )  # fmt: skip


def _missed(desk: Desk, since: datetime | None, limit: int) -> schedule_models.Missed:
    found = desk.jobs.schedules
    zones = {one.name: one.zone for one in found.list()}
    slots = [
        schedule_models.missed(name, slot, zones.get(name, "UTC"))
        for name, slot in found.missed(since=since, limit=limit)
    ]
    return schedule_models.Missed(slots=slots)


def _preview(desk: Desk, asked: RuleOf) -> schedule_models.RuleShape:
    rule, now = _understood(asked.rule, asked.tz), desk.store.now()
    times = islice(_times(rule.anchored(now), now), TIMES)
    return schedule_models.RuleShape(
        words={language: words(rule, language) for language in LANGUAGES}, zone=rule.zone,
        following=[schedule_models.moment(at, rule.zone) for at in times],
    )  # fmt: skip


def _understood(text: str, tz: str | None) -> Rule:
    """Raises: InvalidSchedule."""
    try:
        return parse_rule(text, tz)
    except OverflowError:
        message = f"the rule '{text[:100]}' names a moment that no clock shows"
        raise InvalidSchedule(message) from None


def _times(rule: Rule, now: datetime) -> Iterator[datetime]:
    at = rule.next_after(now)
    while at is not None:
        yield at
        at = rule.next_after(at)


def _edit(desk: Desk, name: str, changes: Changes, actor: str) -> None:
    found = desk.jobs.schedules
    one = found.get(name)
    said = changes.given()
    if said.get("rule") is not None:
        said["tz"] = said.get("tz") or one.zone
        _understood(said["rule"], said["tz"])
    if said.get("labels") is not None and one.definition is not None:
        said["labels"] = restored(said["labels"], dict(one.definition.labels))
    for word in ("rule", "tz", "args", "labels"):
        if said.get(word, ...) is None:
            del said[word]
    found.edit(name, actor=actor, reason=changes.reason, **said)
