"""Retry policy: whether and when a failed attempt is repeated.

tenacity is imported only if one of its wait objects is used: the import takes 22 ms.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from math import inf, isfinite, isnan, log
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption, PermanentError, RetryableError
from jobtrail.messages import Message

if TYPE_CHECKING:
    from tenacity.wait import wait_base

DEFAULT_MAX_DELAY = 3_600.0
UNCAPPED = 30 * 86_400.0
"""Seconds that stand for "no cap": a delay is never longer than this unless ``max_delay`` says so."""
LONGEST = 10 * 366 * 86_400.0
MOST_ATTEMPTS = 2_147_483_647

Errors = tuple[type[BaseException], ...]


def _number(name: str, value: Any, *, at_least: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or isnan(value)
        or not at_least <= value <= LONGEST
    ):
        raise InvalidOption(Message("job.retry-not-number", name=name, least=at_least, value=repr(value)))
    return float(value)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Back-off that grows by a factor after each attempt.

    With ``jitter`` each delay is drawn from the upper half of its range, so that jobs that failed together do not
    return together.

    Args:
        base: Delay after the first attempt, in seconds.
        factor: Factor for each further attempt, at least 1.
        jitter: Draw each delay between 50 % and 100 % of its value.
        maximum: Longest delay in seconds; None for `Retry.max_delay` alone.

    Raises:
        InvalidOption: If a value is not valid.

    Example:
        ```python
        Retry(attempts=5, wait=Exponential(base=10, maximum=300))
        ```
    """

    base: float = 1.0
    factor: float = 2.0
    jitter: bool = True
    maximum: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        _number("wait base", self.base, at_least=0)
        _number("wait factor", self.factor, at_least=1)
        if self.maximum is not None:
            _number("wait maximum", self.maximum, at_least=0)

    def seconds(self, attempt: int, cap: float) -> float:
        """Return the delay after an attempt.

        Args:
            attempt: Number of the attempt that failed, from 1.
            cap: Longest delay in seconds.

        Returns:
            Seconds, at most ``cap``; the power is not computed beyond it.
        """
        top = cap if self.maximum is None else min(cap, self.maximum)
        if self.base >= top:
            delay = top
        elif self.base == 0 or self.factor == 1:
            delay = self.base
        elif (attempt - 1) * log(self.factor) >= log(top) - log(self.base):
            delay = top
        else:
            delay = min(self.base * self.factor ** (attempt - 1), top)
        return delay * random.uniform(0.5, 1.0) if self.jitter else delay  # noqa: S311 - no secret


DEFAULT_WAIT = Exponential()
_FALLBACK = Exponential(jitter=False)

Wait = Exponential | float | timedelta | Callable[[int], Any]


@dataclass(frozen=True)
class Retry:
    """Retry policy: how often, when and after which errors a failed attempt is repeated.

    Args:
        attempts: Greatest number of executions: 1 for no retry, None for no limit.
        wait: Delay before the next attempt: seconds, a timedelta, an `Exponential`, a wait object of tenacity, or a
            function from the number of the attempt (1, 2, …) to seconds.
        on: Exception classes that are retried.
        never: Exception classes that are not retried, even if ``on`` includes them.
        on_partial: Also retry a partial job; failed items run again.
        failed_items: Retry a job while items have failed, also when all have; they run again, except those whose error
            is not retried by ``on`` and ``never``.
        max_delay: Longest delay in seconds (default: one hour); None or infinity for 30 days.

    Raises:
        InvalidOption: If a value is not valid; the message names the field.

    Example:
        ```python
        @jobs.task(retry=Retry(attempts=5, wait=30, never=(KeyError,)))
        def fetch(*, url: str) -> None: ...
        ```
    """

    attempts: int | None = 1
    wait: Wait | wait_base = DEFAULT_WAIT
    on: Errors = (Exception,)
    never: Errors = ()
    on_partial: bool = False
    failed_items: bool = False
    max_delay: float = DEFAULT_MAX_DELAY

    def __post_init__(self) -> None:
        """Check and normalise the values."""
        _check_attempts(self.attempts)
        _set(self, "max_delay", _cap(self.max_delay))
        _set(self, "wait", _wait(self.wait, self.max_delay))
        _set(self, "on", _errors("on", self.on))
        _set(self, "never", _errors("never", self.never))
        for name in ("on_partial", "failed_items"):
            if not isinstance(value := getattr(self, name), bool):
                raise InvalidOption(Message("job.retry-not-bool", name=name, value=repr(value)))

    def allows(self, error: BaseException) -> bool:
        """Return whether an error is retried.

        `PermanentError` never is; `RetryableError` is, unless ``never`` names it. An error that is not an ``Exception``
        (``sys.exit()``, KeyboardInterrupt) counts as an ``Exception``.

        Args:
            error: The error that ended the attempt.
        """
        if isinstance(error, (PermanentError, *self.never)):
            return False
        if isinstance(error, (RetryableError, *self.on)):
            return True
        return not isinstance(error, Exception) and Exception in self.on

    def next_attempt_allowed(self, attempt: int, max_attempts: int | None) -> bool:
        """Return whether another attempt may follow.

        Args:
            attempt: Number of the attempt that failed, from 1.
            max_attempts: Limit of the job; None for no limit.
        """
        return max_attempts is None or attempt < max_attempts

    def delay(self, attempt: int, error: BaseException | None = None) -> tuple[float, str | None]:
        """Return the delay before the next attempt.

        Args:
            attempt: Number of the attempt that failed, from 1.
            error: The error that ended the attempt.

        Returns:
            Seconds, at most ``max_delay``, and a warning for the trail if the wait was not usable.
        """
        attempt = max(1, attempt)
        asked = error.delay if isinstance(error, RetryableError) else None
        if asked is not None:
            return self._asked(attempt, asked)
        return self._waited(attempt, error)

    def _asked(self, attempt: int, asked: Any) -> tuple[float, str | None]:
        seconds, trouble = _seconds_of(asked)
        if trouble:
            return self._waited(attempt, None)[0], Message("job.delay-ignored", trouble=trouble).stored
        if seconds > self.max_delay:
            return (
                self.max_delay,
                Message("job.delay-capped", seconds=seconds, most=self.max_delay).stored,
            )
        return seconds, None

    def _waited(self, attempt: int, error: BaseException | None) -> tuple[float, str | None]:
        if isinstance(self.wait, Exponential):
            return self.wait.seconds(attempt, self.max_delay), None
        if isinstance(self.wait, float):
            return self.wait, None
        seconds, trouble = _ask(self.wait, attempt, error)
        if trouble is None:
            endless = seconds > LONGEST and not _is_tenacity(self.wait)  # tenacity's own growth has no end
            warning = Message("job.wait-capped", seconds=seconds, most=self.max_delay).stored if endless else None
            return min(seconds, self.max_delay), warning
        instead = _FALLBACK.seconds(attempt, self.max_delay)
        return instead, Message("job.wait-failed", trouble=trouble, instead=instead).stored

    def with_attempts(self, attempts: int | None) -> Retry:
        """Return the same policy with another number of executions.

        Args:
            attempts: Greatest number of executions; None for no limit.
        """
        return replace(self, attempts=attempts)

    def to_json(self) -> dict[str, Any]:
        """Return the part of the policy that can be stored; ``on``, ``never`` and a custom wait cannot."""
        return {
            "attempts": self.attempts,
            "on_partial": self.on_partial,
            "failed_items": self.failed_items,
            "max_delay": self.max_delay,
            "wait": _wait_to_json(self.wait),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | str, base: Retry | None = None) -> Retry:
        """Return the policy that `to_json` stored.

        Args:
            stored: Result of `to_json`, or its JSON text.
            base: Policy that supplies what was not stored; default: a plain `Retry`.

        Raises:
            InvalidOption: If the stored values are not valid.
        """
        found = json.loads(stored) if isinstance(stored, str) else stored
        base = base or cls()
        return cls(
            attempts=found.get("attempts", base.attempts),
            wait=_wait_from_json(found.get("wait"), base.wait),
            on=base.on,
            never=base.never,
            on_partial=found.get("on_partial", base.on_partial),
            failed_items=found.get("failed_items", base.failed_items),
            max_delay=found.get("max_delay", base.max_delay),
        )


def coerce_retry(value: Any) -> Retry:
    """A policy from what people write: a `Retry`, a number of executions, its JSON, or None for no retry.

    Raises: InvalidOption.
    """
    if isinstance(value, Retry):
        return value
    if value is None:
        return Retry()
    if isinstance(value, int) and not isinstance(value, bool):
        return Retry(attempts=value)
    if isinstance(value, Mapping):
        return Retry.from_json(value)
    raise InvalidOption(Message("job.bad-retry", value=repr(value)))


# -- checks ------------------------------------------------------------------------------------------

_set = object.__setattr__


def _check_attempts(value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ATTEMPTS:
        raise InvalidOption(Message("job.bad-attempts", value=repr(value)))


def _cap(value: Any) -> float:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if value is None or value == inf:
        return UNCAPPED
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= LONGEST:
        return float(value)
    raise InvalidOption(Message("job.bad-max-delay", value=repr(value)))


def _wait(value: Any, cap: float) -> Any:
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if value is None:
        return DEFAULT_WAIT
    if callable(value) or isinstance(value, Exponential):
        return value
    seconds = _number("wait", value, at_least=0)
    if seconds > cap:
        raise InvalidOption(Message("job.wait-above-max-delay", seconds=seconds, cap=cap))
    return seconds


def _errors(name: str, value: Any) -> Errors:
    classes = value if isinstance(value, (tuple, list, set, frozenset)) else (value,)
    for one in classes:
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise InvalidOption(Message("job.not-exceptions", name=name, one=repr(one)))
    return tuple(classes)


# -- asking somebody else's wait ---------------------------------------------------------------------


def _ask(wait: Any, attempt: int, error: BaseException | None) -> tuple[float, Message | None]:
    """Seconds (perhaps infinite, for tenacity's uncapped growth), or what is wrong with the answer."""
    tenacity = _is_tenacity(wait)
    try:
        answer = wait(_state(attempt, error)) if tenacity else wait(attempt)
    except OverflowError:
        return (inf, None) if tenacity else (0.0, Message("job.wait-raised", type="OverflowError"))
    except Exception as trouble:
        return 0.0, Message("job.wait-raised", type=type(trouble).__name__)
    if tenacity and isinstance(answer, (int, float)) and answer > LONGEST:
        return inf, None
    return _seconds_of(answer)


def _seconds_of(answer: Any) -> tuple[float, Message | None]:
    try:
        seconds = float(answer.total_seconds() if isinstance(answer, timedelta) else answer)
    except OverflowError:
        return 0.0, Message("job.wait-endless")
    except Exception:
        return 0.0, Message("job.wait-not-number", type=type(answer).__name__)
    if isinstance(answer, (bool, str)):
        return 0.0, Message("job.wait-not-number", type=type(answer).__name__)
    if not isfinite(seconds):
        if isnan(seconds):
            return 0.0, Message("job.wait-nan")
        return 0.0, Message("job.wait-endless") if seconds > 0 else Message("job.wait-negative")
    return (0.0, Message("job.wait-negative")) if seconds < 0 else (seconds, None)


def _is_tenacity(wait: Any) -> bool:
    module = sys.modules.get("tenacity.wait")  # not loaded: then nobody can have an object of it
    return module is not None and isinstance(wait, module.wait_base)


def _state(attempt: int, error: BaseException | None) -> Any:
    from tenacity import RetryCallState

    state = RetryCallState(None, None, (), {})  # type: ignore[arg-type]
    state.attempt_number = attempt
    error = error or RetryableError("partial")
    state.set_exception((type(error), error, error.__traceback__))
    return state


# -- stored waits ------------------------------------------------------------------------------------


def _wait_to_json(wait: Any) -> dict[str, Any]:
    if isinstance(wait, float):
        return {"kind": "fixed", "seconds": wait}
    if not isinstance(wait, Exponential):
        wait = _known_tenacity(wait)
    if isinstance(wait, float):
        return {"kind": "fixed", "seconds": wait}
    if wait is None:
        return {"kind": "custom"}
    stored = {"kind": "exponential", "base": wait.base, "factor": wait.factor, "jitter": wait.jitter}
    return stored if wait.maximum is None else {**stored, "maximum": wait.maximum}


def _known_tenacity(wait: Any) -> Exponential | float | None:
    """The two plain waits of tenacity in our own words; None for all others."""
    module = sys.modules.get("tenacity.wait")
    if module is None:
        return None
    try:
        if type(wait) in {module.wait_fixed, module.wait_none}:
            return _number("wait", wait.wait_fixed, at_least=0)
        if type(wait) is module.wait_exponential and wait.min <= wait.multiplier:
            maximum = None if wait.max > LONGEST else wait.max
            return Exponential(wait.multiplier, wait.exp_base, jitter=False, maximum=maximum)
    except InvalidOption:
        pass
    return None


def _wait_from_json(stored: Any, base: Any) -> Any:
    kind = stored.get("kind") if isinstance(stored, Mapping) else None
    if kind == "fixed":
        return stored.get("seconds")
    if kind == "exponential":
        return Exponential(**{name: value for name, value in stored.items() if name in Exponential.__slots__})
    if kind in {"custom", None}:
        return base
    raise InvalidOption(Message("job.bad-wait-kind", kind=repr(kind)))
