"""Which waiting jobs may start: places and starts that are left by key, and their fair allotment."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from .limit import read_keys
from .starts import Starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from .limit import Quota

Key = tuple[str, str]  # the name of a limit, and the key


@dataclass(frozen=True, slots=True)
class Blocking:
    """A limit that a job waits for.

    Attributes:
        why: "running" if a job of the key has to end first, "rate" if the job has to wait for ``until``.
    """

    name: str
    key: str
    why: Literal["running", "rate"]
    quota: Quota
    running: int
    until: datetime | None = None


@dataclass(frozen=True)
class LimitUse:
    """What the limits allow and what is used of them.

    Attributes:
        quotas: By name of the limit.
        held: By stored keys, how many such jobs run.
        starts: By key, what started lately.
        promised: By stored keys, how many of those held have not started yet.
    """

    quotas: Mapping[str, Quota]
    held: Mapping[str, int]
    starts: Mapping[Key, Starts] = field(default_factory=dict)
    promised: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def running(self) -> Counter[Key]:
        """By key, how many jobs run."""
        return _by_key(self.held)

    def limiting(self, text: str) -> list[Key]:
        """Return those of a job's keys that a quota stands for."""
        return [key for key in read_keys(text).items() if self.counts(key[0])]

    def with_promised(self, sent: Mapping[str, int]) -> LimitUse:
        """Return the use with jobs that are about to run, by stored keys, counted as running."""
        held = {text: self.held.get(text, 0) + sent.get(text, 0) for text in {*self.held, *sent}}
        return LimitUse(self.quotas, held, self.starts, sent)

    def counts(self, name: str) -> bool:
        """Whether a limit allows less than any number."""
        quota = self.quotas.get(name)
        return quota is not None and (quota.running is not None or quota.rate is not None)

    def free(self, key: Key, now: datetime) -> int:
        """Return how many jobs of a key may start now."""
        quota, left = self.quotas[key[0]], []
        if quota.running is not None:
            left.append(max(quota.running - self.running[key], 0))
        if quota.rate is not None:
            left.append(max(self.starts.get(key, Starts()).free(quota, now) - _by_key(self.promised)[key], 0))
        return min(left)

    def next_start(self, key: Key, now: datetime) -> datetime | None:
        """Return when the rate of a key lets the next job start; None if it may now."""
        quota = self.quotas.get(key[0])
        if quota is None or quota.rate is None:
            return None
        return self.starts.get(key, Starts()).next_at(quota, now)

    def blocking(self, text: str, now: datetime) -> Blocking | None:
        """Return the limit that a job with these keys waits for; None if it may start."""
        for name, key in self.limiting(text):
            quota, running = self.quotas[name], self.running[name, key]
            if quota.running is not None and running >= quota.running:
                return Blocking(name, key, "running", quota, running)
            until = self.next_start((name, key), now)
            if until is not None:
                return Blocking(name, key, "rate", quota, running, until)
        return None


def _by_key(counts: Mapping[str, int]) -> Counter[Key]:
    found: Counter[Key] = Counter()
    for text, number in counts.items():
        for key in read_keys(text).items():
            found[key] += number
    return found


@dataclass(frozen=True, slots=True)
class Lane:
    """The jobs of one queue that wait with the same keys and priority, and when the first of them is due."""

    keys: str
    priority: int
    due_at: datetime


def allot(
    lanes: Iterable[Lane], room: int, use: LimitUse, now: datetime, served: Mapping[str, int] | None = None
) -> dict[Lane, int]:
    """Share ``room`` slots among lanes with a due job: urgent first, then whose keys run least, then who waits longest.

    Args:
        lanes: The lanes.
        room: Slots.
        use: What the limits leave.
        now: Time of the database.
        served: By stored keys, the turn in which a job of them was last taken; who was never served comes first.

    Returns:
        How many jobs each lane may start. How many wait in a lane is not known, so fewer may be found.
    """
    turns = served or {}
    due = [lane for lane in lanes if lane.due_at <= now]
    queue = [
        (lane.priority, use.held.get(lane.keys, 0), turns.get(lane.keys, 0), lane.due_at, place)
        for place, lane in enumerate(due)
    ]
    heapq.heapify(queue)
    left: dict[Key, int] = {}
    shares: dict[Lane, int] = {}
    while queue and room > 0:
        priority, held, turn, due_at, place = heapq.heappop(queue)
        lane = due[place]
        keys = use.limiting(lane.keys)
        for key in keys:
            left.setdefault(key, use.free(key, now))
        if any(left[key] <= 0 for key in keys):
            continue
        for key in keys:
            left[key] -= 1
        shares[lane] = shares.get(lane, 0) + 1
        room -= 1
        heapq.heappush(queue, (priority, held + 1, turn, due_at, place))
    return shares


def waits_for_more_than_time(lanes: Iterable[Lane], use: LimitUse, now: datetime) -> bool:
    """Return whether a job of these lanes is due and no rate holds it: it may start, or waits for the end of another."""
    due = (use.blocking(lane.keys, now) for lane in lanes if lane.due_at <= now)
    return any(blocking is None or blocking.until is None for blocking in due)


def next_look(lanes: Iterable[Lane], use: LimitUse, now: datetime) -> datetime | None:
    """Return when a job of these lanes may start for time alone: it is due, or its rate allows one more."""
    moments = []
    for lane in lanes:
        if lane.due_at > now:
            moments.append(lane.due_at)
            continue
        blocking = use.blocking(lane.keys, now)
        if blocking is not None and blocking.until is not None:
            moments.append(blocking.until)
    return min(moments, default=None)
