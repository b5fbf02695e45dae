"""How many jobs of a key have started lately: what a rate is counted by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from json import dumps, loads
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .limit import Quota

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
GRAINS = 50  # starts within so small a part of the span are kept as one


@dataclass(frozen=True, slots=True)
class Starts:
    """The starts of one key within the span of its rate: a bucket whose tokens come back one span after they were used.

    Attributes:
        used: (microseconds since 1970, how many), oldest first. Starts that were close together stand under the time of
            the last one, so that a token comes back a fiftieth of the span late rather than early.
    """

    used: tuple[tuple[int, int], ...] = ()

    def free(self, quota: Quota, now: datetime) -> int:
        """Return how many more may start now."""
        return max((quota.rate or 0) - sum(number for _, number in self._counted(quota, now)), 0)

    def with_started(self, quota: Quota, number: int, now: datetime) -> Starts:
        """Return the starts with ``number`` more, without those that count no longer."""
        counted, at = self._counted(quota, now), _micros(now)
        at = max(at, counted[-1][0]) if counted else at  # the clock of another worker may be a little ahead
        grain = max(_span(quota) // GRAINS, 1)
        if counted and counted[-1][0] // grain == at // grain:
            return Starts((*counted[:-1], (at, counted[-1][1] + number)))
        return Starts((*counted, (at, number)))

    def next_at(self, quota: Quota, now: datetime) -> datetime | None:
        """Return when the next one may start; None if one may now."""
        if self.free(quota, now):
            return None
        counted, left = self._counted(quota, now), quota.rate or 0
        for at, number in reversed(counted):
            left -= number
            if left <= 0:
                return _EPOCH + timedelta(microseconds=at + _span(quota))
        return None

    def _counted(self, quota: Quota, now: datetime) -> tuple[tuple[int, int], ...]:
        """The starts within the span. A clock that was set back must not hold them for longer than two spans."""
        at, span = _micros(now), _span(quota)
        return tuple((min(one, at + span), number) for one, number in self.used if one + span > at)

    def to_json(self) -> str:
        """As text."""
        return dumps(self.used)

    @classmethod
    def from_json(cls, text: str) -> Starts:
        """What `to_json` wrote."""
        return cls(tuple((at, number) for at, number in loads(text)))


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _span(quota: Quota) -> int:
    return max(round(quota.per * 1_000_000), 1)
