"""A worker's slots: how many are free, for which queue, and whether a suspect may take one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from jobtrail.job.task import queue_option

if TYPE_CHECKING:
    from collections.abc import Sequence

SUSPECT_LOOK = 1.0  # seconds between two looks for a suspect


class Slots:
    """Counts what runs, in all and in each queue.

    ``queues`` maps a queue to its slots, or is a list of queues that share ``total``.
    """

    def __init__(self, queues: Sequence[str] | Mapping[str, int], total: int) -> None:
        self.queues = [queue_option("queue", one) for one in queues]
        limits = queues.values() if isinstance(queues, Mapping) else ()
        self._limits: dict[str, int] = dict(zip(self.queues, limits, strict=False))
        self.total = sum(self._limits.values()) or total
        self._taken: dict[str, int] = dict.fromkeys(self.queues, 0)
        self._looked_at = float("-inf")
        self.paused: frozenset[str] = frozenset()

    @property
    def free(self) -> int:
        """How many slots are free."""
        return self.total - sum(self._taken.values())

    @property
    def portion(self) -> int:
        """How many jobs one claim may take: at most half, so that one half works while the other is written and claimed."""
        return min(self.free, (self.total + 1) // 2)

    def take(self, queue: str) -> None:
        """Take a slot for a run of this queue."""
        self._taken[queue] = self._taken.get(queue, 0) + 1

    def give_back(self, queue: str) -> None:
        """Give back the slot of a run of this queue."""
        self._taken[queue] -= 1

    @property
    def open(self) -> list[str]:
        """The queues that nobody has paused."""
        return [queue for queue in self.queues if queue not in self.paused]

    def wants(self) -> list[tuple[str, int]]:
        """For each queue with room, how many jobs it may be given now."""
        room, wanted = self.portion, []
        for queue in self.open:
            limit = self._limits.get(queue)
            free = room if limit is None else min(room, limit - self._taken[queue])
            if free > 0:
                wanted.append((queue, free))
        return wanted

    # -- suspects ------------------------------------------------------------------------------------

    def look_due(self, *, holds_suspect: bool) -> bool:
        """Whether it is time to look for a suspect; never beside another one."""
        return not holds_suspect and time.monotonic() - self._looked_at >= SUSPECT_LOOK

    def looked(self) -> None:
        """A look has just been made."""
        self._looked_at = time.monotonic()

    def look_again(self) -> None:
        """A suspect was just created; look for it in the next turn."""
        self._looked_at = float("-inf")
