"""What the items of a job say about it: counts, the limit of failures, the outcome, the keys, and the pace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Any
from uuid import UUID

from jobtrail.errors import InvalidOption, UsageError
from jobtrail.messages import Message

from .json_value import safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KEY_LIMIT = 512
SHARE_FROM = 20
"""A share of failures is not judged before this many items where the total is unknown."""


class ItemOutcome(StrEnum):
    """What became of one item."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items ended how."""

    ok: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def total(self) -> int:
        """All that have an outcome."""
        return self.ok + self.failed + self.skipped

    @property
    def share_failed(self) -> float:
        """0.0 to 1.0; 0.0 of nothing."""
        return self.failed / self.total if self.total else 0.0

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(self.ok + other.ok, self.failed + other.failed, self.skipped + other.skipped)


@dataclass(frozen=True, slots=True)
class FailedItemsLimit:
    """How many items may fail before a body is stopped: a ``count``, or a ``share`` of all."""

    count: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, value: Any) -> FailedItemsLimit | None:
        """From ``max_failed_items``: a whole number from 0 on, a share above 0 and up to 1.0, or None for no limit.

        ``1`` is one item, ``1.0`` all of them.

        Raises: InvalidOption.
        """
        if value is None or isinstance(value, FailedItemsLimit):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return cls(count=value)
        if isinstance(value, float) and isfinite(value) and 0 < value <= 1:
            return cls(share=value)
        raise InvalidOption(Message("job.bad-max-failed-items", value=repr(value)))

    def __str__(self) -> str:
        """As it was given."""
        return str(self.count if self.count is not None else self.share)

    def exceeded(self, counts: Counts, expected_total: int | None = None) -> bool:
        """Whether more items failed than may.

        A share is taken of ``expected_total`` where that is known (or of the items counted, if they are more),
        else of the items so far, but not before there are 20.
        """
        if self.count is not None:
            return counts.failed > self.count
        if self.share is None:
            return False
        if expected_total is None:
            return counts.total >= SHARE_FROM and counts.share_failed > self.share
        whole = max(expected_total, counts.total)
        return whole > 0 and counts.failed / whole > self.share


def failed_again(since: int, never: Iterable[tuple[str, str]] = ()) -> str:
    """What a job's column ``continues`` says where runs after ``since`` are given failed items too, each once.

    Not those of ``never``, pairs of loop and key: their errors say that another try cannot help.
    """
    marks = ",".join(sorted(_mark(place) for place in never))
    return f"failed:{since}:{marks}" if marks else f"failed:{since}"


def never_again(continues: str | None, places: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Those of ``places`` that `failed_again` excluded."""
    marks = frozenset(continues.split(":")[2].split(",")) if continues and continues.count(":") == 2 else frozenset()
    return frozenset(place for place in places if _mark(place) in marks) if marks else frozenset()


def _mark(place: tuple[str, str]) -> str:
    return blake2b("\n".join(place).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def failed_since(continues: str | None) -> int | None:
    """The run after which failed items count as tried again; None where only those without an outcome are given."""
    return int(continues.split(":")[1]) if continues else None


def chosen_items(options: str | None) -> dict[str, frozenset[str]] | None:
    """The keys by loop that a re-run is for, of the options in its row; None where it is for all."""
    if not options or '"items"' not in options:
        return None
    found: dict[str, set[str]] = {}
    for loop, key in json.loads(options).get("items", ()):
        found.setdefault(loop, set()).add(key)
    return {loop: frozenset(keys) for loop, keys in found.items()} or None


def outcome_of(
    counts: Counts, *, unreached: bool, stopped_reason: str | None, has_items: bool
) -> tuple[str, str | None]:
    """The status that a body's items give it, and a sentence for people or None.

    ====================================  =========  ==============================
    items                                 status     note
    ====================================  =========  ==============================
    no loop at all                        completed  –
    loop left early, no ``stop(reason)``  partial    the loop was left early …
    none                                  completed  nothing to do
    all ok, or ok and skipped             completed  –
    all skipped                           completed  all 3 items were skipped
    all failed                            failed     all 3 items failed
    failed beside ok or skipped           partial    1 of 3 items failed
    ====================================  =========  ==============================

    A loop left with ``stop(reason)`` is judged by the items it reached, and the note tells the reason.
    """
    if not has_items:
        return "completed", None
    if unreached and stopped_reason is None:
        return "partial", _left_early(counts)
    status, note = _judge(counts)
    if stopped_reason is None:
        return status, note
    stopped = (
        Message("job.stopped-with-reason", reason=stopped_reason).stored
        if stopped_reason
        else Message("job.stopped-by-body").stored
    )
    return status, Message("job.both", first=note, second=stopped).stored if note and counts.total else stopped


def _judge(counts: Counts) -> tuple[str, str | None]:
    if counts.total == 0:
        return "completed", Message("job.nothing-to-do").stored
    if counts.failed == counts.total:
        return "failed", _all(counts.total, "failed")
    if counts.failed:
        return "partial", Message("job.some-items-failed", failed=counts.failed, total=counts.total).stored
    if counts.skipped == counts.total:
        return "completed", _all(counts.total, "skipped")
    return "completed", None


def _all(total: int, what: str) -> str:
    if total == 1:
        return Message("job.only-item-failed" if what == "failed" else "job.only-item-skipped").stored
    return Message("job.all-items-failed" if what == "failed" else "job.all-items-skipped", total=total).stored


def _left_early(counts: Counts) -> str:
    if counts.failed:
        return Message("job.left-early-failed", total=counts.total, failed=counts.failed).stored
    return Message("job.left-early", total=counts.total).stored


def item_key(value: Any) -> str:
    """The text under which an item is recorded, at most 512 characters; equal values give equal texts.

    A key is a str, an int, a date, a datetime, a UUID, or a tuple of those. A datetime with an offset is
    written in UTC. A longer text keeps its beginning and ends in a hash of the whole.

    Raises: UsageError for any other type.
    """
    text = value if type(value) is str else _key_text(value)
    if len(text) <= KEY_LIMIT and text.isascii() and "\x00" not in text:
        return text
    text = safe_text(text, 12 * len(text))
    if len(text) <= KEY_LIMIT:
        return text
    return f"{text[: KEY_LIMIT - 33]}~{blake2b(text.encode(), digest_size=16).hexdigest()}"


def _key_text(value: Any) -> str:
    if isinstance(value, tuple):
        return json.dumps([_key_part(part) for part in value], ensure_ascii=False, separators=(",", ":"))
    return str(_key_part(value))


def _key_part(value: Any) -> Any:
    if isinstance(value, bool):
        return _refuse_key(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, datetime):
        return (
            value.isoformat() if value.tzinfo is None else f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
        )
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, tuple):
        return [_key_part(part) for part in value]
    return _refuse_key(value)


def _refuse_key(value: Any) -> Any:
    raise UsageError(Message("job.bad-item-key", type=type(value).__name__))


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace since the start of the run; None where it is not known.

    Attributes:
        percent: Percent from 0 to 100: as reported, else from the counts.
        per_second: Finished parts for each second.
        seconds_left: Seconds until the end.
    """

    percent: float | None = None
    per_second: float | None = None
    seconds_left: float | None = None

    @classmethod
    def of(cls, reported: Mapping[str, Any], since: datetime | None, now: datetime) -> Pace:
        """Work it out.

        Args:
            reported: The last progress report: percent, done, total.
            since: Start of the run; None if the job does not run.
            now: The time.
        """
        done, total, percent = (reported.get(name) for name in ("done", "total", "percent"))
        if percent is None and total and done is not None:
            percent = 100 * done / total
        percent = None if percent is None else min(max(float(percent), 0.0), 100.0)
        elapsed = 0.0 if since is None else (now - since).total_seconds()
        if elapsed <= 0:
            return cls(percent)
        per_second = done / elapsed if done else None
        left = elapsed * (100 - percent) / percent if percent else None
        return cls(percent, per_second, left)
