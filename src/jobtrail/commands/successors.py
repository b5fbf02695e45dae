"""From ``.then(…)`` and ``schedule_next(…)`` to the successor that is stored: every check comes before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidArguments, InvalidOption
from jobtrail.job.ids import new_id
from jobtrail.job.model import FileInput, NewJob
from jobtrail.job.successor import Successor, ends_option, when_option

from . import submit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobtrail.config import Settings
    from jobtrail.job.model import Claim
    from jobtrail.job.task import Task, Tasks

    from .submit import Using


class _Inherit:
    """The successor's is that of the job before it."""

    def __repr__(self) -> str:
        return "INHERIT"


INHERIT: Any = _Inherit()
# What a successor cannot be told: it comes from the end of the job before it.
_NOT_FOR_SUCCESSORS = ("run_at", "delay", "connection", "idempotency_key", "idempotency", "window", "parent", "root")
_LEFT_OUT = {"id", "run_at", "parent", "root", "submitter", "followed", "reason"}


@dataclass(frozen=True, slots=True)
class Next:
    """What was said of a successor, before it is checked against the job before it."""

    task: Task
    using: Using
    params: Mapping[str, Any] | None = None
    on: Any = "success"
    when: Any = "now"
    source: Any = INHERIT
    period: Any = INHERIT
    file: Any = None
    result_as: str | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """What a successor may inherit of the job before it: its source and its period, as text."""

    source: str | None = None
    period: str | None = None


def successor(following: Next, before: Before, settings: Settings) -> Successor:
    """Check it and make what is stored. Blocking where there is a file, which is read and hashed here.

    Raises: UsageError (its subclasses) for whatever cannot be.
    """
    ends = ends_option(following.on)
    wait, at = when_option(following.when)
    using = _using(following, before)
    prepared = submit.prepare(following.task, _arguments(following), using, settings, datetime.now(UTC), "")
    new = {
        f.name: getattr(prepared.new, f.name)
        for f in fields(NewJob)
        if f.name not in _LEFT_OUT and getattr(prepared.new, f.name) is not None
    }
    mine = Before(prepared.new.source, prepared.new.period)
    return Successor(
        id=new_id(),
        ends=ends,
        new={**new, "id": ""},
        wait=wait,
        at=at,
        if_active="queue" if using.if_active == "same" else using.if_active,
        if_done=using.if_done,
        result_as=following.result_as,
        next=tuple(successor(one, mine, settings) for one in following.using.then),
    )


def _arguments(following: Next) -> dict[str, Any]:
    """With a stand-in for the result that will be put in, so that the signature is checked whole."""
    signature, name = following.task.signature, following.task.name
    params = dict(following.params or {})
    if following.result_as is None:
        return signature.bind(name, (), params)
    if following.result_as in params:
        message = f"the argument '{following.result_as}' of {name} is to be the result, so it cannot be given"
        raise InvalidArguments(message)
    return signature.bind(name, (), {**params, following.result_as: None})


def _using(following: Next, before: Before) -> Using:
    using = following.using
    for word in _NOT_FOR_SUCCESSORS:
        if getattr(using, word) is not None:
            message = f"a successor cannot be told {word}=: it comes when the job before it ends (when= says how much later)"
            raise InvalidOption(message)
    file = following.file if following.file is not None else using.file
    source = following.source if following.source is not INHERIT else using.source or before.source
    period: Any = following.period
    if period is INHERIT:
        period = using.period or (None if file is not None else before.period)
    return replace(
        using, source=source, period=period, file=file.path if isinstance(file, FileInput) else file, then=()
    )


class Following:
    """What `schedule_next` needs of an application: its tasks and its settings."""

    def __init__(self, tasks: Tasks, settings: Settings) -> None:
        self._tasks = tasks
        self._settings = settings

    def make(self, claim: Claim, task: Any, params: Mapping[str, Any] | None, **said: Any) -> Successor:
        """The successor of a running job.

        Raises: UsageError.
        """
        found: Task = self._tasks.get(task) if isinstance(task, str) else self._tasks.find(task.name) or task.task
        using = submit.NOTHING if isinstance(task, str) else task._using
        made = successor(Next(found, using, params, **said), Before(claim.source, claim.period), self._settings)
        return replace(made, run=claim.run_no)
