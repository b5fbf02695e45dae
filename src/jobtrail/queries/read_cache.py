"""Answers that many clients ask for at once are read once a second; large counts, which change little, less often."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from jobtrail.fork_lock import ForkLock
from jobtrail.messages import current_language

if TYPE_CHECKING:
    from collections.abc import Callable

FRESH_FOR = 1.0  # seconds
STEADY_FOR = (10.0, 20.0)  # seconds; random in this range, so that not all keys are read again at once
FORGOTTEN_AFTER = 60.0  # seconds


class ReadCache:
    """Keeps what was read, by key, for `FRESH_FOR` seconds. One reader per key at a time; safe to use from threads."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._locks: dict[Any, ForkLock] = {}
        self._known: dict[Any, tuple[float, Any]] = {}  # until when, and the value

    def read(self, key: Any, look: Callable[[], Any], is_steady: Callable[[Any], bool] | None = None) -> Any:
        """Return the cached value of a key, or call ``look`` and keep its result; each language has its own.

        Args:
            key: a hashable key.
            look: reads the value.
            is_steady: tells whether a value hardly changes; it is then kept for `STEADY_FOR` seconds.
        """
        key = (key, current_language())
        with self._lock:
            own = self._locks.setdefault(key, ForkLock())
        with own:
            until, found = self._known.get(key, (float("-inf"), None))
            if time.monotonic() >= until:
                found = look()
                steady = is_steady is not None and is_steady(found)
                until = time.monotonic() + (random.uniform(*STEADY_FOR) if steady else FRESH_FOR)  # noqa: S311 - no secret
                self._known[key] = (until, found)
            self._drop_old(key)
            return found

    def _drop_old(self, kept: Any) -> None:
        over = time.monotonic() - FORGOTTEN_AFTER
        for key in [key for key, (until, _) in list(self._known.items()) if until < over and key != kept]:
            self._known.pop(key, None)
            self._locks.pop(key, None)
