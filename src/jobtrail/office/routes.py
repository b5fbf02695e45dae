"""The routes of modules, below ``/api/modules``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, Field

from jobtrail.errors import InvalidOption
from jobtrail.job.task import zone_option
from jobtrail.messages import Message
from jobtrail.queries.base import Model

from . import views
from .rules import UnknownModule

if TYPE_CHECKING:
    from jobtrail.plugins.plugin import Plugin

Seconds = Annotated[float, Field(ge=1, le=31_622_400)]


class Activity(Model):
    """What a module reports: all of it may be left out."""

    status: str | None = Field(None, description="ok, warning or error, as the module sees itself", pattern="^(ok|warning|error)$")
    message: str | None = Field(None, max_length=2000)
    numbers: dict[str, float] = Field(default_factory=dict, max_length=20)
    at: AwareDatetime | None = Field(None, description="when it happened; the future counts as now")
    wait: bool = Field(False, description="answer when it is stored")


class ActivityTaken(Model):
    """What became of a beat: ``stored`` is false if it is written within half a second."""

    module: str
    status: str
    stored: bool
    ahead: float


class Pause(Model):
    """A pause until a moment, for some minutes, or until somebody ends it."""

    until: AwareDatetime | None = None
    minutes: float | None = Field(None, gt=0, le=527_040)
    reason: str | None = Field(None, max_length=2000)


class LimitsOfModule(Model):
    """Limits of a module; what is left out stays. An empty body gives it the limits of the settings."""

    warn_after: Seconds | None = None
    error_after: Seconds | None = None
    recovery_beats: int | None = Field(None, ge=1, le=1000)
    quiet_hours: str | None = Field(None, max_length=2000)


class NewModule(LimitsOfModule):
    """A module that is put under watch before it reports."""

    module: str = Field(max_length=100)


class HoursOfModule(Model):
    """Figures by UTC hour, oldest first."""

    module: str
    hours: list[views.HourView]


class HistoryOfModule(Model):
    """History, newest first."""

    module: str
    history: list[views.HistoryLine]


def add_to(plugin: Plugin) -> None:
    """Declare the routes."""
    plugin.route("/modules", role="viewer", plain=True)(modules)
    plugin.route("/modules", method="POST", role="admin", plain=True)(register)
    plugin.route("/modules/{name}", role="viewer", plain=True)(module)
    plugin.route("/modules/{name}", method="DELETE", role="admin", plain=True)(remove)
    plugin.route("/modules/{name}/hours", role="viewer", plain=True)(hours)
    plugin.route("/modules/{name}/history", role="viewer", plain=True)(history)
    path = "/modules/{name}/activity"
    plugin.route(path, method="POST", role="operator", plain=True, accepts="module", audit=False)(activity)
    plugin.route("/modules/{name}/pause", method="POST", role="operator", plain=True)(pause)
    plugin.route("/modules/{name}/resume", method="POST", role="operator", plain=True)(resume)
    plugin.route("/modules/{name}/limits", method="POST", role="admin", plain=True)(limits)


def modules(jobs: Any, *, bars: bool = True) -> views.ModulesView:
    """All modules, with the bar of their last 24 hours."""
    found: views.ModulesView = jobs.office.all(bars=bars)
    return found


def module(jobs: Any, name: str) -> views.ModuleDetail:
    """One module with its history and its last 24 hours."""
    found: views.ModuleDetail = jobs.office.get(name)
    return found


def hours(jobs: Any, name: str, day: str | None = None, tz: str = "UTC") -> HoursOfModule:
    """The hours of a day (2026-10-25) in a time zone, or of the last 24 hours."""
    zone = zone_option(tz)
    try:
        moment = None if day is None else datetime.fromisoformat(day).replace(hour=12, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidOption(Message("office.bad-day", value=repr(day))) from None
    return HoursOfModule(module=name, hours=jobs.office.hours(name, moment, zone))


def history(
    jobs: Any, name: str, before: AwareDatetime | None = None, limit: Annotated[int, Field(ge=1, le=1000)] = 100
) -> HistoryOfModule:
    """The history of a module, page by page."""
    return HistoryOfModule(module=name, history=jobs.office.history(name, before=before, limit=limit))


def activity(jobs: Any, name: str, sent: Activity) -> ActivityTaken:
    """A module reports that it is alive."""
    given = sent.model_dump(exclude={"numbers"})
    answer = jobs.office.beat(name, **given, numbers=sent.numbers)
    return ActivityTaken(module=name, status=answer.status, stored=answer.stored, ahead=answer.ahead)


def pause(jobs: Any, name: str, sent: Pause, *, identity: Any) -> views.ModuleView:
    """Pause the watch over a module."""
    until = sent.until
    if sent.minutes is not None:
        if until is not None:
            raise InvalidOption(Message("office.two-ends"))
        until = jobs.store.now() + timedelta(minutes=sent.minutes)
    jobs.office.pause(name, until=until, reason=sent.reason, actor=identity.actor)
    return _shown(jobs, name)


def resume(jobs: Any, name: str, *, identity: Any) -> views.ModuleView:
    """End the pause of a module."""
    jobs.office.resume(name, actor=identity.actor)
    return _shown(jobs, name)


def limits(jobs: Any, name: str, sent: LimitsOfModule, *, identity: Any) -> views.ModuleView:
    """Give a module limits of its own."""
    jobs.office.set_limits(name, actor=identity.actor, **sent.model_dump(exclude_none=True))
    return _shown(jobs, name)


def register(jobs: Any, sent: NewModule) -> views.ModuleView:
    """Put a module under watch before it reports."""
    jobs.office.register(sent.module, **sent.model_dump(exclude_none=True, exclude={"module"}))
    return _shown(jobs, sent.module)


def remove(jobs: Any, name: str, *, identity: Any) -> dict[str, str]:
    """Forget a module."""
    jobs.office.remove(name, actor=identity.actor)
    return {"removed": name}


def _shown(jobs: Any, name: str) -> views.ModuleView:
    found: views.ModuleView | None = jobs.office.find(name)
    if found is None:
        raise UnknownModule(Message("office.no-module", name=name))
    return found
