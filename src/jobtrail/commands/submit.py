"""Check a submission and build the row that is stored."""

from __future__ import annotations

import hashlib
import math
import os
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.errors import (
    AlreadyActive,
    AlreadyDone,
    IdempotencyConflict,
    InvalidArguments,
    InvalidOption,
    StoreUnavailable,
)
from jobtrail.job.json_value import decode, encode_arguments
from jobtrail.job.model import FileInput, NewJob, new_id
from jobtrail.job.period import Period, in_our_time
from jobtrail.job.retry import coerce_retry
from jobtrail.job.successor import Successor, ends_option, when_option
from jobtrail.job.task import (
    ON_INTERRUPT,
    ON_SHUTDOWN,
    choice_option,
    labels_option,
    name_option,
    priority_option,
    queue_option,
    seconds_option,
)
from jobtrail.job.unit import unit_of
from jobtrail.messages import Message
from jobtrail.store.submissions import PLAIN, Rules

from . import input_files
from .using import INHERIT, NOTHING, Predecessor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobtrail.config import Settings
    from jobtrail.job.model import Submitted
    from jobtrail.job.task import Task

    from .using import SuccessorRequest, Using

# What a job carries on of the trace that it is submitted in; set by `tracing`, or nobody.
carried: ContextVar[dict[str, str] | None] = ContextVar("jobtrail_carried", default=None)
IF_ACTIVE = ("same", "raise", "queue")
IF_DONE = ("run", "skip", "raise")
# What a successor cannot be told: it comes from the end of the job before it.
_NOT_FOR_SUCCESSORS = ("run_at", "delay", "connection", "idempotency_key", "idempotency", "window", "parent", "root")
_LEFT_OUT = {"id", "run_at", "parent", "root", "submitter", "followed", "reason"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked submission that only has to be stored."""

    new: NewJob
    rules: Rules
    plain: bool


def prepare(
    task: Task, args: dict[str, Any], using: Using, settings: Settings, now: datetime, submitter: str
) -> Prepared:
    """Check a submission and make its row. Blocking where there is a file, which is read and hashed here.

    Raises: UsageError (its subclasses) for whatever cannot be; nothing was stored then.
    """
    text = encode_arguments(args, settings.argument_limit)
    if using is NOTHING:
        return Prepared(_limited(_template(task, submitter, text), task, args), PLAIN, plain=True)
    file = _file(using, task)
    period = _period(using, task)
    source = None if using.source is None else name_option("source", using.source)
    own = None if using.unit is None else name_option("unit", using.unit)
    unit = unit_of(task.name, source, period, file.sha256 if file else None, file.name if file else None, own)
    labels = labels_option(using.labels or {}) or None
    plain = replace(
        _template(task, submitter, text),
        queue=queue_option("queue", using.queue) if using.queue is not None else task.queue,
        priority=priority_option(using.priority) if using.priority is not None else task.priority,
        run_at=_run_at(using, now),
        max_attempts=_max_attempts(task, using),
        options=_options(using, labels),
        unit=unit.key if unit else None,
        source=source,
        period=period.text if period else None,
        file=input_files.to_json(file) if file else None,
        actor=using.actor,
        reason=using.reason,
        parent=using.parent,
        root=using.root or using.parent,
        context=encode_arguments(using.context, settings.argument_limit) if using.context else None,
        labels=dumps(labels) if labels else None,
    )
    new = _limited(plain, task, args)
    rules = Rules(
        unit=unit,
        if_active=choice_option("if_active", using.if_active, IF_ACTIVE),
        if_done=choice_option("if_done", using.if_done, IF_DONE),
        idempotency=_idempotency(new, using, settings, now),
        labels=labels,
        following=_following(using, new, settings),
    )
    alone = unit is None and rules.idempotency is None and not labels and not rules.following
    return Prepared(replace(new, followed=True) if rules.following else new, rules, alone)


def _limited(new: NewJob, task: Task, args: Mapping[str, Any]) -> NewJob:
    keys = task.limit_keys(args, new.queue, new.source)
    return new if keys is None else replace(new, limits=keys)


def _following(using: Using, new: NewJob, settings: Settings) -> tuple[Successor, ...]:
    if not using.then:
        return ()
    return tuple(successor(one, Predecessor(new.source, new.period, new.labels, new.context), settings) for one in using.then)


def successor(following: SuccessorRequest, before: Predecessor, settings: Settings) -> Successor:
    """Check a successor and make what is stored of it. Blocking where there is a file, which is read and hashed here.

    Raises:
        UsageError: (a subclass) if the successor could not be submitted.

    """
    ends = ends_option(following.on)
    wait, at = when_option(following.when)
    using = _using(following, before)
    prepared = prepare(following.task, _arguments(following), using, settings, datetime.now(UTC), "")
    new = {
        f.name: getattr(prepared.new, f.name)
        for f in fields(NewJob)
        if f.name not in _LEFT_OUT and getattr(prepared.new, f.name) is not None
    }
    mine = Predecessor(prepared.new.source, prepared.new.period, prepared.new.labels, prepared.new.context)
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


def _arguments(following: SuccessorRequest) -> dict[str, Any]:
    """With a stand-in for the result that will be put in, so that the signature is checked whole."""
    signature, name = following.task.signature, following.task.name
    params = dict(following.params or {})
    if following.result_as is None:
        return signature.accept(name, (), params)
    if any(following.result_as in limit.fields for limit in following.task.limits):
        raise InvalidOption(Message("commands.result-in-limit", argument=following.result_as, name=name))
    if following.result_as in params:
        raise InvalidArguments(Message("commands.result-argument", argument=following.result_as, name=name))
    return signature.accept(name, (), {**params, following.result_as: None}, unchecked=[following.result_as])


def _using(following: SuccessorRequest, before: Predecessor) -> Using:
    using = following.using
    for word in _NOT_FOR_SUCCESSORS:
        if getattr(using, word) is not None:
            raise InvalidOption(Message("commands.successor-cannot", word=word))
    file = following.file if following.file is not None else using.file
    source = following.source if following.source is not INHERIT else using.source or before.source
    period: Any = following.period
    if period is INHERIT:
        period = using.period or (None if file is not None else before.period)
    labels = {**loads(before.labels or "{}"), **(using.labels or {})}
    context = {**decode(before.context or "{}"), **(using.context or {})}
    file = file.path if isinstance(file, FileInput) else file
    return replace(using, source=source, period=period, file=file, labels=labels, context=context, then=())


def _template(task: Task, submitter: str, args: str) -> NewJob:
    return NewJob(
        id=new_id(),
        task=task.name,
        args=args,
        kind=task.kind,
        queue=task.queue,
        priority=task.priority,
        max_attempts=task.retry.attempts,
        submitter=submitter,
        executor=task.handed_to,
    )


def _file(using: Using, task: Task) -> FileInput | None:
    if using.file is None:
        return None
    if using.period is not None:
        raise InvalidOption(Message("commands.period-or-file"))
    if not isinstance(using.file, (str, os.PathLike, FileInput)):
        raise InvalidOption(Message("commands.file-not-path", type=type(using.file).__name__))
    return input_files.given(using.file, settle=task.settle, ready_marker=task.ready_marker)


def _period(using: Using, task: Task) -> Period | None:
    if using.period is None:
        return None
    if isinstance(using.period, str):
        return _parsed(using.period, None if task.zone == "UTC" else task.zone)
    return Period.parse(using.period, None if task.zone == "UTC" else task.zone)


@lru_cache(maxsize=1024)
def _parsed(text: str, zone: str | None) -> Period:
    return Period.parse(text, zone)


def _run_at(using: Using, now: datetime) -> datetime | None:
    if using.run_at is not None and using.delay is not None:
        raise InvalidOption(Message("commands.run-at-or-delay"))
    if using.run_at is not None:
        moment = in_our_time(using.run_at)
        if moment is None:
            raise InvalidOption(Message("commands.bad-run-at", value=repr(using.run_at)))
        return moment
    if using.delay is None:
        return None
    seconds = using.delay.total_seconds() if isinstance(using.delay, timedelta) else using.delay
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds) or seconds < 0:
        raise InvalidOption(Message("commands.bad-delay", value=repr(using.delay)))
    return now + timedelta(seconds=min(float(seconds), 100 * 366 * 86_400.0))


def _max_attempts(task: Task, using: Using) -> int | None:
    return task.retry.attempts if using.retry is None else coerce_retry(using.retry).attempts


def _options(using: Using, labels: Mapping[str, str] | None) -> str | None:
    """What a run must know of its submission: it comes with the claim, which reads no column for it alone."""
    options: dict[str, Any] = {}
    if labels:
        options["labels"] = labels
    if using.retry is not None:
        options["retry"] = coerce_retry(using.retry).to_json()
    if using.unit is not None:
        options["unit"] = name_option("unit", using.unit)
    if using.timeout is not None:
        options["timeout"] = seconds_option("timeout", using.timeout)
    for name, choices in (("on_interrupt", ON_INTERRUPT), ("on_shutdown", ON_SHUTDOWN)):
        if (wanted := getattr(using, name)) is not None:
            options[name] = choice_option(name, wanted, choices)
    trace = carried.get()
    if trace is not None:
        options["trace"] = trace
    return dumps(options) if options else None


def _idempotency(new: NewJob, using: Using, settings: Settings, now: datetime) -> tuple[str, str, str, datetime] | None:
    digest = hashlib.sha256(dumps([new.task, new.args, new.source, new.period, new.unit]).encode()).hexdigest()
    if using.idempotency is not None:
        if using.idempotency != "params" or using.idempotency_key is not None:
            raise InvalidOption(Message("commands.bad-idempotency"))
        window = _window(using.window)
        number = int(now.timestamp() // window.total_seconds())
        expires = datetime.fromtimestamp((number + 1) * window.total_seconds(), UTC)
        return new.task, f"params:{digest[:32]}:{number}", digest, expires
    if using.idempotency_key is None:
        return None
    key = name_option("idempotency_key", using.idempotency_key)
    lifetime = using.window or timedelta(seconds=settings.idempotency_seconds)
    return new.task, key, digest, now + lifetime


def _window(window: timedelta | None) -> timedelta:
    if not isinstance(window, timedelta) or window.total_seconds() <= 0:
        raise InvalidOption(Message("commands.idempotency-window"))
    return window


def check_answer(answer: Submitted, prepared: Prepared) -> None:
    """Raise what the store's answer means.

    Raises: AlreadyActive, AlreadyDone or IdempotencyConflict with the id of the job in the way.
    """
    unit = prepared.rules.unit
    what = unit.text if unit else prepared.new.task
    if answer.why == "active":
        message = Message("commands.active-other-arguments", what=what, active=answer.in_way)
        if prepared.rules.if_active == "raise":
            message = Message("commands.active", what=what, active=answer.in_way)
        raise AlreadyActive(message, answer.in_way)
    if answer.why == "done" and prepared.rules.if_done == "raise":
        message = Message("commands.done", what=what, job=answer.in_way)
        if answer.removed is not None:
            message = Message("commands.done-removed", what=what, job=answer.in_way, at=answer.removed.finished_at)
        raise AlreadyDone(message, answer.in_way)
    if answer.why == "key":
        raise IdempotencyConflict(Message("commands.key-used", job=answer.in_way), answer.in_way)
    if answer.why == "busy":
        raise StoreUnavailable(Message("commands.changed-too-often", what=what))
