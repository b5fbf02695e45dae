"""The options of a submission, and of the successors that it declares."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from jobtrail.job.model import FileInput
    from jobtrail.job.retry import Retry
    from jobtrail.job.task import Task


class _Inherit:
    """The value of the preceding job."""

    def __repr__(self) -> str:
        return "INHERIT"


INHERIT: Any = _Inherit()


@dataclass(frozen=True, slots=True)
class Using:
    """Options of one submission (`BoundTask.using`); None means the option of the task.

    Attributes:
        source: Where the data comes from.
        period: Span of time; identifies the unit.
        file: Path of the input file; its content identifies the unit.
        unit: Key of one's own that identifies the unit, beside period and file.
        labels: Short key=value pairs for searching.
        context: JSON that is stored and shown with the job.
        run_at: Earliest start, an aware datetime.
        delay: Earliest start, seconds or a timedelta from now.
        priority: From 0 (claimed first) to 9.
        queue: Name of the queue.
        retry: `Retry` or number of attempts.
        timeout: Seconds or timedelta from the start of an attempt.
        on_interrupt: "requeue", "fail" or "hold", if its worker dies.
        on_shutdown: "requeue", "fail" or "hold", if its worker is shut down before it has finished.
        idempotency_key: Key that makes the submission repeatable.
        idempotency: "params" to derive the key from task, arguments and time window.
        window: Lifetime of the key.
        if_active: "same", "raise" or "queue", if the unit has an active job.
        if_done: "run", "skip" or "raise", if the unit is complete.
        connection: SQLAlchemy session or connection whose transaction stores the job; with `jobtrail.django` also a
            connection of Django or its name in DATABASES.
        actor: Who submits, for the trail.
        reason: Reason for the trail.
        parent: Id of the job that this one comes from.
        root: Id of the first job of that line; default: the parent.
        then: Successors; set by `BoundTask.then`.
    """

    source: str | None = None
    period: Any = None
    file: Any = None
    unit: str | None = None
    labels: Mapping[str, str] | None = None
    context: Mapping[str, Any] | None = None
    run_at: datetime | None = None
    delay: Any = None
    priority: int | None = None
    queue: str | None = None
    retry: Any = None
    timeout: Any = None
    on_interrupt: str | None = None
    on_shutdown: str | None = None
    idempotency_key: str | None = None
    idempotency: str | None = None
    window: timedelta | None = None
    if_active: str = "same"
    if_done: str = "run"
    connection: Any = None
    actor: str | None = None
    reason: str | None = None
    parent: str | None = None
    root: str | None = None
    then: tuple[SuccessorRequest, ...] = ()

    def with_options(self, **options: Any) -> Using:
        """Return a copy with more options.

        Raises:
            InvalidOption: If an option is not known, or ``connection`` is not SQLAlchemy's.
        """
        known = {f.name for f in fields(self)}
        unknown = sorted(set(options) - known)
        if unknown:
            raise InvalidOption(Message("commands.unknown-using", known=sorted(known), option=unknown[0]))
        given = options.get("connection")
        if given is not None and not is_connection(given) and not is_of_django(given):
            raise InvalidOption(Message("commands.bad-connection", type=type(given).__name__))
        return replace(self, **options)

    def check_unit(self) -> None:
        """Refuse rules about a unit where there is none, which would have no effect.

        Raises:
            InvalidOption: If there are such rules.
        """
        if self.period is None and self.file is None and self.unit is None:
            for name, default in (("if_active", "same"), ("if_done", "run")):
                if getattr(self, name) != default:
                    raise InvalidOption(Message("commands.rule-without-unit", name=name))


def is_connection(given: Any) -> bool:
    """Whether a job can be submitted in the transaction of this: a Connection or Session of SQLAlchemy, sync or async."""
    if hasattr(given, "exec_driver_sql") or hasattr(given, "run_sync"):
        return True
    return callable(getattr(given, "connection", None)) and hasattr(given, "execute")


def is_of_django(given: Any) -> bool:
    """Whether this is a connection of Django, or its name in DATABASES; only a project with `jobtrail.django` takes them."""
    return isinstance(given, str) or hasattr(given, "in_atomic_block")


NOTHING = Using()


class UsingOptions(TypedDict, total=False):
    """The options of `BoundTask.using`, as `Using` describes them."""

    source: str | None
    period: Any
    file: str | os.PathLike[str] | FileInput | None
    unit: str | None
    labels: Mapping[str, str] | None
    context: Mapping[str, Any] | None
    run_at: datetime | None
    delay: float | timedelta | None
    priority: int | None
    queue: str | None
    retry: Retry | int | Mapping[str, Any] | None
    timeout: float | timedelta | None
    on_interrupt: Literal["requeue", "fail", "hold"] | None
    on_shutdown: Literal["requeue", "fail", "hold"] | None
    idempotency_key: str | None
    idempotency: Literal["params"] | None
    window: timedelta | None
    if_active: Literal["same", "raise", "queue"]
    if_done: Literal["run", "skip", "raise"]
    connection: Any
    actor: str | None
    reason: str | None
    parent: str | None
    root: str | None


@dataclass(frozen=True, slots=True)
class SuccessorRequest:
    """A successor as it was asked for, before it is checked against its predecessor."""

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
class Predecessor:
    """What a successor inherits of the job before it, as it is stored."""

    source: str | None = None
    period: str | None = None
    labels: str | None = None
    context: str | None = None
