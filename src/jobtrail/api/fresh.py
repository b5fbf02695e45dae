"""What many ask for at once is read once a second."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FRESH_FOR = 1.0  # seconds


class Fresh:
    """Keeps what was read for `FRESH_FOR` seconds, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}
        self._known: dict[Any, tuple[float, Any]] = {}

    def read(self, key: Any, look: Callable[[], Any]) -> Any:
        """What ``look`` gave a moment ago, or gives now."""
        with self._lock:
            mine = self._locks.setdefault(key, threading.Lock())
        with mine:
            at, found = self._known.get(key, (float("-inf"), None))
            if time.monotonic() - at >= FRESH_FOR:
                found = look()
                self._known[key] = (time.monotonic(), found)
            self._forget(key)
            return found

    def _forget(self, kept: Any) -> None:
        over = time.monotonic() - 60.0
        for key in [key for key, (at, _) in list(self._known.items()) if at < over and key != kept]:
            self._known.pop(key, None)
            self._locks.pop(key, None)
