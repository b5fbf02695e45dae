"""Temporary."""
from __future__ import annotations
from dataclasses import dataclass
from typing import Any
from jobtrail.errors import InvalidOption, PermanentError, RetryableError

@dataclass(frozen=True)
class Retry:
    attempts: int | None = 1
    wait: Any = None
    on: tuple = (Exception,)
    never: tuple = ()
    on_partial: bool = False
    max_delay: float = 3600
    def delay(self, attempt, error):
        if isinstance(error, RetryableError) and error.delay is not None:
            return float(error.delay), None
        if isinstance(self.wait, (int, float)):
            return float(self.wait), None
        return min(self.max_delay, 2.0 ** min(attempt - 1, 30)), None
    def allows(self, error):
        return isinstance(error, self.on) and not isinstance(error, (*self.never, PermanentError))
    def next_attempt_allowed(self, attempt, max_attempts):
        return max_attempts is None or attempt < max_attempts
    def to_json(self):
        return {"attempts": self.attempts}
    @classmethod
    def from_json(cls, v):
        return cls(attempts=v["attempts"])

def coerce_retry(value):
    if value is None: return Retry()
    if isinstance(value, Retry): return value
    if isinstance(value, bool) or not isinstance(value, int): raise InvalidOption("retry")
    return Retry(attempts=value)
