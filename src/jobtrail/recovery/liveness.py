"""Which workers are dead, judged by beat numbers and the observer's own monotonic clock, never by wall clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True)
class LifeSign:
    """A living worker as the store shows it: its beat number, and what identifies its process on its host."""

    worker: str
    beat: int
    boot: str | None = None
    pid_namespace: str | None = None
    pid: int = 0
    process_start: str | None = None


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """The host of the observer, to be compared with a worker's."""

    boot: str | None
    pid_namespace: str | None


@dataclass(frozen=True, slots=True)
class DeathVerdict:
    """A worker that is dead, the beat number that was judged, and the reason in words."""

    worker: str
    beat: int
    how: str


class Liveness:
    """Remembers when each worker's beat number was last seen to change.

    A worker is dead when its number has not changed for ``silent_after`` seconds, during which the observer's own beats
    were written and it looked at least every ``longest_gap`` seconds; or at once where the operating system of the same
    host proves that the process is gone.

    Args:
        silent_after: seconds without a change after which a worker is dead.
        place: the observer's host.
        process_start: gives the start time of a process of this host by its pid, None where there is none.
        longest_gap: seconds between two looks after which the observer must watch anew; half of ``silent_after`` by default.

    """

    def __init__(
        self,
        silent_after: float,
        place: HostIdentity,
        process_start: Callable[[int], str | None],
        *,
        longest_gap: float | None = None,
    ) -> None:
        self._silent_after = silent_after
        self._longest_gap = longest_gap or silent_after / 2
        self._place = place
        self._process_start = process_start
        self._seen: dict[str, tuple[int, float]] = {}
        self._judged_at: float | None = None

    def blind(self) -> None:
        """Forget what was seen: the observer's own beats were not written, so it must watch anew."""
        self._seen.clear()

    def judge(self, signs: Iterable[LifeSign], monotonic: float) -> list[DeathVerdict]:
        """Judge all living workers at a moment of the monotonic clock, in seconds; the dead ones are returned."""
        if self._judged_at is not None and monotonic - self._judged_at > self._longest_gap:
            self.blind()  # the observer has not looked for long: it was stopped itself, and so may the others have been
        self._judged_at = monotonic
        found = list(signs)
        verdicts = []
        for sign in found:
            how = self._proof(sign) or self._silence(sign, monotonic)
            if how is not None:
                verdicts.append(DeathVerdict(sign.worker, sign.beat, how))
        alive = {sign.worker for sign in found}
        self._seen = {worker: seen for worker, seen in self._seen.items() if worker in alive}
        return verdicts

    def _silence(self, sign: LifeSign, monotonic: float) -> str | None:
        beat, since = self._seen.get(sign.worker, (None, monotonic))
        if beat != sign.beat:
            self._seen[sign.worker] = (sign.beat, monotonic)
            return None
        silent = monotonic - since
        if silent < self._silent_after:
            return None
        return Message("recovery.worker-silent", seconds=f"{silent:.0f}").stored

    def _proof(self, sign: LifeSign) -> str | None:
        """In containers every process is pid 1, so only boot, namespace, pid and start time together are proof."""
        here = self._place.boot is not None and sign.boot == self._place.boot
        same = here and self._place.pid_namespace is not None and sign.pid_namespace == self._place.pid_namespace
        if not same or sign.process_start is None:
            return None
        if self._process_start(sign.pid) == sign.process_start:
            return None
        return Message("recovery.process-gone", pid=str(sign.pid)).stored
