"""An APScheduler job as JSON: function reference, arguments, trigger and options; nothing is pickled."""

from __future__ import annotations

import json
from datetime import datetime
from inspect import isclass, ismethod
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from apscheduler.job import Job as ScheduledJob
from apscheduler.util import ref_to_obj

from jobtrail.errors import InvalidArguments
from jobtrail.job.json_value import encode_arguments
from jobtrail.messages import Message
from jobtrail.schedules.rules.apscheduler_trigger import trigger_from_json, trigger_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTIONS = ("name", "executor", "misfire_grace_time", "coalesce", "max_instances")


class KeptJob(ScheduledJob):  # type: ignore[misc]  # APScheduler has no types
    """An APScheduler job that was read from the store.

    ``stored`` is what was read, so that only changes are written. ``claimed`` are the planned times that this process was
    given to run; None for a job that was only looked at.
    """

    __slots__ = ("claimed", "stored")
    claimed: list[datetime] | None
    stored: tuple[dict[str, Any], datetime | None]

    def _get_run_times(self, now: datetime) -> list[datetime]:
        if self.claimed is not None:
            return self.claimed
        times: list[datetime] = super()._get_run_times(now)
        return times


def job_to_json(job: Any, limit: int) -> dict[str, Any]:
    """Return an APScheduler job as JSON, without its id and its next time.

    Args:
        job: The job.
        limit: Greatest size of the arguments, in bytes.

    Raises:
        InvalidArguments: If the function has no reference or is bound to an object, or the arguments are not JSON.
        TooLarge: If the arguments have more than ``limit`` bytes.
        InvalidSchedule: If the trigger cannot be stored as JSON.

    """
    if not job.func_ref:
        raise InvalidArguments(Message("integrations.aps-no-reference", name=job.name))
    if ismethod(job.func) and not isclass(job.func.__self__) and len(job.__getstate__()["args"]) != len(job.args):
        raise InvalidArguments(Message("integrations.aps-bound-method", name=job.name))
    arguments = json.loads(encode_arguments({"args": list(job.args), "kwargs": dict(job.kwargs)}, limit))
    options = {name: getattr(job, name) for name in OPTIONS}
    return {"func": job.func_ref, **arguments, "trigger": trigger_to_json(job.trigger), **options}


def job_from_json(job_id: str, definition: Mapping[str, Any], next_run_time: datetime | None) -> KeptJob:
    """Return the job that `job_to_json` wrote; its next time is in the zone of its trigger, which counts from it.

    Raises:
        LookupError: If the function is not there.
        InvalidSchedule: If the trigger cannot be read.

    """
    job = KeptJob.__new__(KeptJob)
    if next_run_time is not None:
        next_run_time = next_run_time.astimezone(ZoneInfo(_zone_of(definition["trigger"])))
    job.id, job.func_ref, job.func = job_id, definition["func"], ref_to_obj(definition["func"])
    job.args, job.kwargs = tuple(definition["args"]), dict(definition["kwargs"])
    job.trigger, job.next_run_time = trigger_from_json(definition["trigger"]), next_run_time
    for name in OPTIONS:
        setattr(job, name, definition[name])
    job.claimed, job.stored = None, (dict(definition), next_run_time)
    return job


def _zone_of(trigger: Mapping[str, Any]) -> str:
    zone: str = trigger["zone"] if "zone" in trigger else _zone_of(trigger["triggers"][0])
    return zone
