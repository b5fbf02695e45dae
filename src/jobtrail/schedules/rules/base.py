"""What all time rules have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidSchedule
from jobtrail.messages import Message

from .zones import real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

# The kind of a stored rule to the function that reads it; the modules of the rules fill it.
KINDS: dict[str, Callable[..., Rule]] = {}


class Rule(ABC):
    """When a schedule runs: a series of moments, the same in every process, whatever the zone of the host.

    The kinds are `Cron`, `Every`, `At` and `Calendar`, made by `cron`, `every`, `at` and `calendar_interval`, and
    `TriggerRule`; all are frozen values. ``zone`` is the zone whose clock the rule reads; intervals and moments are only shown in it.
    """

    zone: str

    @abstractmethod
    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first moment of the rule that is strictly later than ``moment``, in UTC; None if there is none.

        Raises:
            InvalidSchedule: If ``moment`` has no zone, or the rule counts from a start and has none yet.

        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the rule as JSON, for `from_json`."""

    def between(self, after: datetime, until: datetime, limit: int | None = None) -> Iterator[datetime]:
        """Yield the moments in (after, until], oldest first, at most ``limit`` of them."""
        until = real(until, "until")
        at = self.next_after(after)
        while at is not None and at <= until and (limit is None or limit > 0):
            yield at
            limit = None if limit is None else limit - 1
            at = self.next_after(at)

    def anchored(self, moment: datetime) -> Rule:
        """Return the rule with ``moment`` as its start, if it counts from a start and has none; else the rule itself."""
        real(moment)
        return self

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> Rule:
        """Return the rule that `to_json` wrote.

        Raises:
            InvalidSchedule: If it is not a rule, or was written by a newer version.

        """
        try:
            return KINDS[stored["kind"]](**{name: value for name, value in stored.items() if name != "kind"})
        except InvalidSchedule:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise InvalidSchedule(Message("rules.stored-unknown", value=str(stored)[:200])) from None
