"""`Office(…)`: the plug-in, its tasks, schedules and loop."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message, tr
from jobtrail.notify import announce
from jobtrail.notify.plugin import Notify
from jobtrail.plugins.plugin import Plugin
from jobtrail.plugins.running import application
from jobtrail.runtime.context import Context

from . import activity, commands, console, routes
from .service import OfficeService, settings_of
from .tables import office_metadata

SCHEDULES = {
    "office_cleanup_history": "0 3 * * *",
    "office_check_heartbeat": "every 5 minutes",
    "office_aggregate_metrics": "0 * * * *",
}
LIVE = {"module", "status", "since", "last_activity", "stale", "warn_at", "error_at", "message", "numbers", "paused_until", "beats"}


class Office(Plugin):
    """Modules under watch: they report, and silence turns them to warning and to error. Brings `Notify` with it.

    Args:
        warn_after: Seconds of silence after which a module is in warning.
        error_after: Seconds of silence after which it is in error.
        recovery_beats: Beats in a row that bring a module back to ok.
        quiet_hours: Times in which silence is expected: ``"mon-fri 22:00-06:00 Europe/Berlin; sun 00:00-24:00"``.
        modules: The modules, as names or as name to their own limits. Other modules are then refused. Default: a module is
            registered by its first beat.
        history_hours: How long history is kept, at least 3.
        metrics_days: How long the figures of hours are kept.
        blind_after: Seconds without a look after which nobody was watching, at least 10; silence then counts anew.
        schedules: Other rules for the tasks by name, such as ``{"office_cleanup_history": "30 4 * * *"}``; None for no
            schedule.
        timezone: Time zone of the schedules; default: UTC.

    Raises:
        InvalidOption: If a value is not valid.

    Example:
        ```python
        jobs = JobTrail(plugins=[Office(modules={"parser": {"warn_after": 60, "error_after": 180}, "sync": {}})])
        jobs.office.beat("parser", rows=120)
        ```
    """

    def __init__(
        self, *, warn_after: float = 300.0, error_after: float = 900.0, recovery_beats: int = 1, quiet_hours: str = "",
        modules: Iterable[str] | Mapping[str, Mapping[str, Any]] | None = None, history_hours: float = 24.0,
        metrics_days: float = 90.0, blind_after: float = 30.0, schedules: Mapping[str, Any] | None = None,
        timezone: str = "UTC",
    ) -> None:  # fmt: skip
        super().__init__("office", about=tr("office.about"), uses=[Notify()])
        given: dict[str, Any] = {
            "warn_after": warn_after, "error_after": error_after, "recovery_beats": recovery_beats, "quiet_hours": quiet_hours,
        }  # fmt: skip
        given |= {"modules": modules, "history_hours": history_hours, "metrics_days": metrics_days, "blind_after": blind_after}
        settings_of(given)  # refused here, not when a service is made
        self.tables(office_metadata, "jobtrail.office.migrations", "0001")
        self.service(partial(_service, given))
        self.middleware(scope="application", options=("module",))(activity.report_activity)
        _declare_tasks(self, {**SCHEDULES, **_rules(schedules or {})}, timezone)
        self.loop(every=1.0)(watch_modules)
        self.live_topic("modules")(modules_topic)
        routes.add_to(self)
        commands.add_to(self)
        console.add_to(self)


def _rules(given: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = sorted(set(given) - set(SCHEDULES))
    if unknown:
        raise InvalidOption(Message("office.unknown-schedule", name=unknown[0], known=list(SCHEDULES)))
    return given


def _service(given: Mapping[str, Any], jobs: Any) -> OfficeService:
    """Make the service: what the program says, with ``[plugins.office]`` of jobtrail.toml over it."""
    table = jobs.overrides.plugins.get("office", {})
    unknown = sorted(set(table) - set(given))
    if unknown:
        where = f"{jobs.overrides.path}, plugins.office"
        raise InvalidOption(Message("office.unknown-setting", place=where, name=unknown[0], known=sorted(given)))
    settings = settings_of({**given, **table})

    def failed(names: list[str]) -> None:
        jobs.task_named("office_notify_errors").enqueue(modules=sorted(names))

    return OfficeService(jobs.store, settings, jobs.make_ready, announce, failed)


def watch_modules(jobs: Any) -> None:
    """Find the modules that are due."""
    jobs.office.turn()


def modules_topic(jobs: Any, module: str) -> Any:
    """The modules as they change: without what changes with the time alone, and without bars."""
    found = jobs.office.all(bars=False).modules
    return [one.model_dump(mode="json", include=LIVE) for one in found if module in {"", one.module}]


def _declare_tasks(plugin: Plugin, rules: Mapping[str, Any], timezone: str) -> None:
    declared = [
        plugin.task(plain=True, kind="maintenance", retry=3)(one)
        for one in (office_cleanup_history, office_check_heartbeat, office_aggregate_metrics, office_notify_errors)
    ]
    for task in declared:
        if rules.get(task.name) is not None:
            plugin.schedule(rules[task.name], tz=timezone)(task)


def office_cleanup_history(ctx: Context) -> dict[str, int]:
    """Remove old history, after its figures are written; a stop ends it after the chunk at hand."""

    def rest(seconds: float) -> bool:
        ctx.check_cancelled()
        time.sleep(seconds)
        return False

    return {"deleted_rows": application().office.clean(wait=rest)}


def office_check_heartbeat() -> dict[str, int]:
    """Judge the modules that are due: the safety net of the loop."""
    found = application().office.check()
    counts: dict[str, int] = {}
    for one in found:
        counts[one.module.status.value] = counts.get(one.module.status.value, 0) + 1
    return counts


def office_aggregate_metrics() -> dict[str, int]:
    """Write the figures of all full hours that have none."""
    return {"hours": len(application().office.aggregate())}


def office_notify_errors(modules: list[str]) -> dict[str, Any]:
    """Have the administrators told now that modules turned to error, which the loop of notifications would do too."""
    jobs = application()
    decided, submitted = jobs.notify.decide(jobs.store.now())
    return {"modules": modules, "events": decided, "messages": submitted}
