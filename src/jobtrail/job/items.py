"""The rule that turns item counts into completed, partial or failed; keys and limits of items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any
from uuid import UUID

from jobtrail.errors import InvalidOption, UsageError

KEY_LIMIT = 512  # characters
ENOUGH_FOR_A_SHARE = 20  # items; a share of fewer says nothing yet


class ItemOutcome(StrEnum):
    """What became of one item."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items ended in which way."""

    ok: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """All items with an outcome."""
        return self.ok + self.failed + self.skipped

    @property
    def share_failed(self) -> float:
        """Failed ones among all, 0 to 1; 0 where there are none."""
        return self.failed / self.total if self.total else 0.0

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(self.ok + other.ok, self.failed + other.failed, self.skipped + other.skipped)


@dataclass(frozen=True, slots=True)
class FailedItemsLimit:
    """``max_failed_items``: a number, or a share of all; over it the job stops and fails."""

    number: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, value: Any) -> FailedItemsLimit:
        """A whole number from 0, or a share above 0 and up to 1 (1.0 is all of them).

        Raises: InvalidOption.
        """
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return cls(number=value)
        if isinstance(value, float) and math.isfinite(value) and 0 < value <= 1:
            return cls(share=value)
        message = f"max_failed_items must be a whole number from 0, or a share such as 0.05; it is {value!r}"
        raise InvalidOption(message)

    def exceeded(self, counts: Counts, expected_total: int | None) -> bool:
        """Is the limit passed? A share is judged against the expected total, or, where that is not known,
        against what has been counted so far once there are 20 items.
        """
        if self.number is not None:
            return counts.failed > self.number
        share = self.share or 0.0
        if expected_total:
            return counts.failed > share * expected_total
        return counts.total >= ENOUGH_FOR_A_SHARE and counts.failed > share * counts.total

    def __str__(self) -> str:
        """As it was given."""
        return str(self.number if self.number is not None else self.share)


def outcome_of(
    counts: Counts, *, unreached: bool, stopped_reason: str | None, has_items: bool
) -> tuple[str, str | None]:
    """(status, note) for a body that returned.

    ========================================  =========  ==========================
    items                                     status     note
    ========================================  =========  ==========================
    no loop over items                        completed
    a loop, and no item in it                 completed  nothing to do
    all ok, or ok and skipped                 completed
    all skipped                               completed  all N items were skipped
    all failed                                failed     all N items failed
    some failed                               partial    n of N items failed
    the loop was left, and nobody said why    partial    not all items were reached
    the loop was left by ``ctx.stop(reason)`` as above   the reason
    ========================================  =========  ==========================
    """
    if not has_items:
        return "completed", None
    left = unreached and stopped_reason is None
    if counts.failed and counts.failed == counts.total:
        return "failed", _all(counts.total, "failed")
    if counts.failed:
        rest = "; not all items were reached" if left else ""
        return "partial", f"{counts.failed} of {counts.total} items failed{rest}"
    if left:
        return "partial", "not all items were reached"
    if stopped_reason is not None and unreached:
        return "completed", f"stopped early: {stopped_reason}"
    if counts.total == 0:
        return "completed", "nothing to do"
    if counts.skipped == counts.total:
        return "completed", _all(counts.total, "was skipped" if counts.total == 1 else "were skipped")
    return "completed", None


def _all(total: int, what: str) -> str:
    return f"the only item {what}" if total == 1 else f"all {total} items {what}"


def item_key(value: Any) -> str:
    """The canonical text of a key: text, whole number, date, time, UUID, or a tuple of these.

    Raises: UsageError for anything else. Longer keys than 512 characters keep their beginning and a hash.
    """
    text = value if type(value) is str else _key_text(value)
    if len(text) <= KEY_LIMIT and text.isprintable():
        return text
    text = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    if len(text) <= KEY_LIMIT:
        return text
    return f"{text[: KEY_LIMIT - 33]}#{blake2b(text.encode(), digest_size=16).hexdigest()}"


def _key_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, date, datetime, UUID, tuple)):
        message = (
            f"the key of an item must be text, a whole number, a date, a UUID or a tuple of these, "
            f"not {type(value).__name__}; say key=lambda item: …"
        )
        raise UsageError(message)
    if isinstance(value, tuple):
        return "|".join(item_key(part).replace("|", "\\|") for part in value)
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return str(value)
