"""Background loops: threads around one method each, which go on after a failure and report their health."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobtrail.errors import JobTrailError
from jobtrail.messages import stored

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_BACK_OFF = 10.0  # seconds
_log = logging.getLogger("jobtrail.worker")


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a background loop: seconds since its last completed pass, what its last failure was, and whether it is late."""

    name: str
    since_last_pass: float
    failing: str | None
    late: bool


class BackgroundLoop:
    """Repeats ``turn`` every ``interval`` seconds, or sooner when woken.

    A turn that raises is logged once for each new reason and repeated with a growing pause; whatever it
    raises, the loop goes on until it is stopped.
    """

    def __init__(self, name: str, turn: Callable[[], Any], interval: float, *, late_after: float | None = None) -> None:
        self.name = name
        self.interval = interval
        self._turn = turn
        self._late_after = late_after or 3 * interval + 5
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._last_pass = time.monotonic()
        self._failing: str | None = None

    def start(self) -> None:
        """Start the thread, with a first turn at once."""
        self._last_pass = time.monotonic()
        self._thread = threading.Thread(target=self._repeat, name=f"jobtrail-{self.name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Run a turn now."""
        self._wanted.set()

    def stop(self, timeout: float = 5.0) -> None:
        """End after the current turn."""
        self._stopping.set()
        self._wanted.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def ended(self) -> bool:
        """Whether no turn runs, and none will."""
        return self._thread is None or (self._stopping.is_set() and not self._thread.is_alive())

    def health(self) -> Health:
        """Its health now."""
        since = time.monotonic() - self._last_pass
        return Health(self.name, since, self._failing, since > self._late_after)

    def _repeat(self) -> None:
        pause = self.interval
        while not self._stopping.is_set():
            self._wanted.clear()
            pause = self._pass(pause)
            self._wanted.wait(pause)

    def _pass(self, pause: float) -> float:
        try:
            self._turn()
        except BaseException as error:
            self._tell(error)
            return min(LONGEST_BACK_OFF, max(self.interval, pause * 1.5))
        if self._failing is not None:
            _log.warning("%s works again", self.name)
        self._failing = None
        self._last_pass = time.monotonic()
        return self.interval

    def _tell(self, error: BaseException) -> None:
        reason = stored(error) if isinstance(error, JobTrailError) else f"{type(error).__name__}: {error}"
        if reason != self._failing:
            _log.warning("%s failed and is repeated: %s: %s", self.name, type(error).__name__, error)
        self._failing = reason
