"""The options of a submission, and of the successors that it declares."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from jobtrail.job.task import Task


class _Inherit:
    """The successor's is that of the job before it."""

    def __repr__(self) -> str:
        return "INHERIT"


INHERIT: Any = _Inherit()


@dataclass(frozen=True, slots=True)
class Using:
    """The options of a submission; None means "as the task declares".

    source, period or file: the identity of the work. run_at (aware) or delay (seconds or timedelta): not before.
    priority 0 (most urgent) to 9. labels: short key=value pairs to search by. context: JSON, shown. parent: the id of
    the job that this one comes from; root: the first of that line (default: the parent). then: see `BoundTask.then`.
    """

    source: str | None = None
    period: Any = None
    file: Any = None
    labels: Mapping[str, str] | None = None
    context: Mapping[str, Any] | None = None
    run_at: datetime | None = None
    delay: Any = None
    priority: int | None = None
    queue: str | None = None
    retry: Any = None
    timeout: Any = None
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
        """A copy with more options.

        Raises:
            InvalidOption: if an option does not exist.

        """
        known = {f.name for f in fields(self)}
        unknown = sorted(set(options) - known)
        if unknown:
            message = f"using() has no option '{unknown[0]}'; its options are: {', '.join(sorted(known))}"
            raise InvalidOption(message)
        return replace(self, **options)


NOTHING = Using()


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
    """What a successor may inherit of the job before it: its source and its period, as text."""

    source: str | None = None
    period: str | None = None
