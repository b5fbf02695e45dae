"""What many ask for at once is read once a second; what is large and so changes little, some times a minute."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any

from jobtrail.messages import current_language

if TYPE_CHECKING:
    from collections.abc import Callable

FRESH_FOR = 1.0  # seconds
STEADY_FOR = (10.0, 20.0)  # seconds; not the same for all, or all would be read again at once
FORGOTTEN_AFTER = 60.0  # seconds


class Fresh:
    """Keeps what was read for `FRESH_FOR` seconds, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}
        self._known: dict[Any, tuple[float, Any]] = {}  # until when, and what

    def read(self, key: Any, look: Callable[[], Any], is_steady: Callable[[Any], bool] | None = None) -> Any:
        """What ``look`` gave a moment ago, or gives now; each language has its own.

        is_steady: is this so much that it will not be another soon? It is then kept for `STEADY_FOR`.
        """
        key = (key, current_language())
        with self._lock:
            mine = self._locks.setdefault(key, threading.Lock())
        with mine:
            until, found = self._known.get(key, (float("-inf"), None))
            if time.monotonic() >= until:
                found = look()
                steady = is_steady is not None and is_steady(found)
                until = time.monotonic() + (random.uniform(*STEADY_FOR) if steady else FRESH_FOR)  # noqa: S311 - no secret
                self._known[key] = (until, found)
            self._forget(key)
            return found

    def _forget(self, kept: Any) -> None:
        over = time.monotonic() - FORGOTTEN_AFTER
        for key in [key for key, (until, _) in list(self._known.items()) if until < over and key != kept]:
            self._known.pop(key, None)
            self._locks.pop(key, None)
