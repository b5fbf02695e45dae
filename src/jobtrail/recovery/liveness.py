"""Who is dead, judged by beat numbers and the observer's own monotonic clock; wall clocks have no say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True)
class Sign:
    """A worker's life as the store shows it."""

    worker: str
    beat: int
    boot: str | None = None
    pid_namespace: str | None = None
    pid: int = 0
    process_start: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the observer stands, to be compared with where a worker lived."""

    boot: str | None
    pid_namespace: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A dead worker, the beat it was last seen at, and how that is known."""

    worker: str
    beat: int
    how: str


class Deaths:
    """Remembers when each beat number was last seen to change.

    A worker is dead when its number has stood for ``silent_after`` seconds during which the observer's own
    beats were written and it looked at least every ``longest_gap`` seconds, or at once when the operating
    system of the same host proves it.
    """

    def __init__(
        self,
        silent_after: float,
        place: Place,
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
        """The observer's own beats are not written: what it saw says nothing, and it must watch anew."""
        self._seen.clear()

    def judge(self, signs: Iterable[Sign], monotonic: float) -> list[Verdict]:
        """The workers that are dead now."""
        if self._judged_at is not None and monotonic - self._judged_at > self._longest_gap:
            self.blind()  # it has not looked for long: it was stopped itself, and so may the others have been
        self._judged_at = monotonic
        found = list(signs)
        verdicts = []
        for sign in found:
            how = self._proof(sign) or self._silence(sign, monotonic)
            if how is not None:
                verdicts.append(Verdict(sign.worker, sign.beat, how))
        alive = {sign.worker for sign in found}
        self._seen = {worker: seen for worker, seen in self._seen.items() if worker in alive}
        return verdicts

    def _silence(self, sign: Sign, monotonic: float) -> str | None:
        beat, since = self._seen.get(sign.worker, (None, monotonic))
        if beat != sign.beat:
            self._seen[sign.worker] = (sign.beat, monotonic)
            return None
        silent = monotonic - since
        if silent < self._silent_after:
            return None
        return f"its worker was silent for {silent:.0f} s"

    def _proof(self, sign: Sign) -> str | None:
        """In containers everybody is pid 1, so boot, namespace, pid and start time speak only together."""
        here = self._place.boot is not None and sign.boot == self._place.boot
        same = here and self._place.pid_namespace is not None and sign.pid_namespace == self._place.pid_namespace
        if not same or sign.process_start is None:
            return None
        if self._process_start(sign.pid) == sign.process_start:
            return None
        return f"its worker's process {sign.pid} is gone"
