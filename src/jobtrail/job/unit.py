"""The identity of the work: task and source with a period, a file's content or a key; and of a step, its name and arguments."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from json import dumps
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StepError
from jobtrail.messages import Message

if TYPE_CHECKING:
    from .period import Period


@dataclass(frozen=True, slots=True)
class Unit:
    """Jobs with the same unit are re-runs of each other; at most one of them is active.

    A source alone does not make a unit: without a period, a file or a key there is nothing that could be done twice.
    """

    task: str
    source: str | None
    period: Period | None = None
    sha256: str | None = None
    file_name: str | None = None
    own: str | None = None

    @property
    def key(self) -> str:
        """32 hex digits over the canonical JSON of the parts; equal spans and equal contents give equal keys."""
        parts = [self.task, self.source, self.period.key if self.period else None, self.sha256]
        parts += [self.own] if self.own is not None else []
        text = dumps(parts, ensure_ascii=True, separators=(",", ":"))
        return blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def text(self) -> str:
        """The readable form, stored beside the key."""
        file = self.file_name or (f"sha256:{self.sha256[:12]}" if self.sha256 else None)
        what = self.period.text if self.period else file
        return " ".join(part for part in (self.task, self.source, what, self.own) if part)


def unit_of(
    task: str,
    source: str | None,
    period: Period | None,
    sha256: str | None,
    file_name: str | None = None,
    own: str | None = None,
) -> Unit | None:
    """The unit that these parts make, or None where there is neither period nor file nor a key of one's own."""
    if period is None and sha256 is None and own is None:
        return None
    return Unit(task, source, period, None if period else sha256, None if period else file_name, own)


def step_digest(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What makes two calls of a step the same: equal arguments, by their JSON.

    Raises: StepError when an argument has no JSON to compare by.
    """
    try:
        text = dumps([args, kwargs], sort_keys=True, default=_comparable)
    except (TypeError, ValueError) as error:
        raise StepError(Message("job.step-arguments", name=name, error=error)) from None
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _comparable(value: Any) -> Any:
    key = getattr(value, "key", None)
    if isinstance(key, str):
        return key
    sha256 = getattr(value, "sha256", None)
    if isinstance(sha256, str):
        return sha256
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(Message("job.not-comparable", type=type(value).__name__))
