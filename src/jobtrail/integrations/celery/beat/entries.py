"""Entries of ``beat_schedule`` become declared schedules whose jobs Celery executes; all of them, or the error names each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidSchedule, JobTrailError, joined
from jobtrail.integrations.celery.declaration import named_arguments
from jobtrail.integrations.celery.relay import app_name
from jobtrail.job.json_value import encode_arguments
from jobtrail.job.task import name_option
from jobtrail.messages import Message
from jobtrail.schedules.celery_task import celery_name, celery_task
from jobtrail.schedules.declarations import CELERY
from jobtrail.schedules.definition import check_for, declared
from jobtrail.schedules.rules.celery_beat import read_beat_schedule
from jobtrail.schedules.rules.zones import zone_name
from jobtrail.schedules.sync import DeclaredSchedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from celery import Celery

    from jobtrail.config import Settings
    from jobtrail.schedules.rules.celery_beat import BeatEntry

OPTIONS = "jobtrail_beat_options"  # the setting of Celery with our options by the name of an entry; "*" is for all
_EVERY_ENTRY = "*"
_OURS = ("queue", "priority", "expires", "countdown")  # what a schedule of ours has itself; the rest is Celery's
_FIELDS = ("task", "schedule", "args", "kwargs", "options")
_LEAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class BeatConversion:
    """Converts the entries of one Celery application.

    Args:
        app: The Celery application.
        settings: Settings of the store.
        records: Function that returns whether the runs of a task are recorded by `track_celery`.
    """

    app: Celery
    settings: Settings
    records: Callable[[str], bool]

    def declared(self, entries: Mapping[str, Any]) -> list[DeclaredSchedule]:
        """Return the schedules that the entries declare, in their order.

        Args:
            entries: The value of ``beat_schedule``; values may be entries of Celery's own schedulers.

        Raises:
            InvalidSchedule: If entries cannot be converted; the message has the name and the reason of each.
        """
        plain: dict[str, Any] = {}
        sent: dict[str, dict[str, Any]] = {}
        for name, given in entries.items():
            plain[name], sent[name] = _parted(given)
        least = 0 if self.app.connection_for_write().transport.driver_type == "redis" else 9
        found = [one for one in read_beat_schedule(plain, self._zone(), most_urgent=least) if one.enabled]
        said = self._said([one.name for one in found])
        schedules, problems = [], []
        for entry in found:
            try:
                schedules.append(self._schedule(entry, sent[entry.name], least, said))
            except JobTrailError as error:
                problems.append(Message("rules.beat-entry", name=repr(entry.name[:100]), error=error))
        if problems:
            raise InvalidSchedule(Message("rules.beat-refused", count=len(problems), problems=joined(problems)))
        return schedules

    def _said(self, names: list[str]) -> Mapping[str, Mapping[str, Any]]:
        """Our options for entries, from the setting `OPTIONS`.

        Raises:
            InvalidSchedule: If it is not a mapping of mappings, or names an entry that there is not.
        """
        said = self.app.conf.get(OPTIONS) or {}
        unknown = sorted(set(said) - {*names, _EVERY_ENTRY}) if isinstance(said, Mapping) else [repr(said)[:60]]
        if unknown or not all(isinstance(one, Mapping) for one in said.values()):
            raise InvalidSchedule(Message("integrations.beat-options", setting=OPTIONS, names=unknown))
        return said

    def _schedule(
        self, entry: BeatEntry, send: dict[str, Any], least: int, said: Mapping[str, Mapping[str, Any]]
    ) -> DeclaredSchedule:
        encode_arguments(send, self.settings.argument_limit)
        task = self.app.tasks.get(entry.task)
        if task is not None:
            args, by_name = named_arguments(task, entry.args, entry.kwargs)
        else:
            by_name = not entry.args
            args = dict(entry.kwargs) if by_name else {"args": list(entry.args), "kwargs": dict(entry.kwargs)}
        celery: dict[str, Any] = {
            "app": app_name(self.app), "named": by_name, "queue": self._queue(entry), "most_urgent": least,
            "tracked": self.records(entry.task),
        }  # fmt: skip
        if send:
            celery["send"] = json.loads(json.dumps(send))
        late: dict[str, Any] = {}
        if entry.expires is not None:
            celery["expires"] = entry.expires
            late = {"grace": max(_LEAST_SECONDS, entry.expires), "catch_up": "skip"}
        ours = {**late, **said.get(_EVERY_ENTRY, {}), **said.get(entry.name, {})}
        values = {"overlap": "allow", "queue": entry.queue, "priority": entry.priority, "delay": entry.countdown, **ours}
        definition = declared(entry.rule, args=args, celery=celery, **values)
        known = celery_task(celery_name(app_name(self.app), entry.task))
        name = name_option(Message("schedules.schedule-name"), entry.name)
        checked = check_for(definition, known, self.settings.argument_limit)
        return DeclaredSchedule(name, known.name, checked, CELERY, frozenset(self.settings.secret_names))

    def _queue(self, entry: BeatEntry) -> str:
        """The queue that Celery's own routes give the task."""
        route = self.app.amqp.router.route({}, entry.task, entry.args, entry.kwargs)
        queue = route.get("queue")
        return str(getattr(queue, "name", queue) or self.app.conf.task_default_queue)

    def _zone(self) -> str:
        """The zone of crontabs, as Celery reads ``timezone`` and ``enable_utc``.

        Raises:
            InvalidSchedule: If it is the zone of this machine, and that has no name.
        """
        zone = self.app.timezone
        key = "UTC" if zone is UTC else getattr(zone, "key", None)
        try:
            return zone_name(key or "")
        except InvalidSchedule:
            raise InvalidSchedule(Message("integrations.beat-local-zone")) from None


def _parted(given: Any) -> tuple[Any, dict[str, Any]]:
    """An entry with the options that a schedule of ours has, and the others, which Celery gets as they are."""
    entry = {one: getattr(given, one) for one in _FIELDS} if hasattr(given, "is_due") else given
    options = entry.get("options") if isinstance(entry, Mapping) else None
    if not isinstance(options, Mapping):
        return entry, {}
    ours = {key: value for key, value in options.items() if key in _OURS}
    return {**entry, "options": ours}, {key: value for key, value in options.items() if key not in ours and value is not None}
