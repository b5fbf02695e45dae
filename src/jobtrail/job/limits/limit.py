"""A limit by key as a task declares it, and the keys of one job, worked out at its submission."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from json import dumps, loads
from string import Formatter
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidArguments, InvalidOption
from jobtrail.job.masking import is_secret
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

OF_THE_JOB = ("task", "queue", "source")  # fields of a template that are no arguments
MOST_LIMITS = 8  # of one task
LONGEST_NAME, LONGEST_KEY = 80, 60  # characters; a longer key ends with a digest
_DIGEST = 16
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Quota:
    """What a limit allows for each key; None means any number.

    Attributes:
        running: Jobs that run at once.
        rate: Jobs that start in any span of ``per`` seconds.
        per: Seconds.
    """

    running: int | None = None
    rate: int | None = None
    per: float = 1.0

    @classmethod
    def checked(cls, name: str, running: Any, rate: Any, per: Any) -> Quota:
        """Return the quota of a limit, checked.

        Raises:
            InvalidOption: If a number is not a whole number from 1, or ``per`` not a positive time.
        """
        for word, value in (("running", running), ("rate", rate)):
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and 1 <= value <= _MOST):
                raise InvalidOption(Message("job.limit-number", limit=name, name=word, most=_MOST, value=repr(value)))
        seconds = per.total_seconds() if isinstance(per, timedelta) else per
        good = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and math.isfinite(seconds)
        if not good or seconds <= 0:
            raise InvalidOption(Message("job.limit-per", limit=name, value=repr(per)))
        return cls(running, rate, float(seconds))


@dataclass(frozen=True)
class Limit:
    """A limit that the jobs of a task share by key, over all workers and machines.

    Jobs with the same key share it, whatever their task. A job whose argument (or source) is None is not limited by it.

    Args:
        name: The template of the key. ``{tenant}`` stands for an argument of the task, ``{task}``, ``{queue}`` and
            ``{source}`` for those of the job. A name without fields is one key for all.
        running: Jobs of a key that run at once.
        rate: Jobs of a key that start in any span of ``per`` seconds.
        per: Seconds or a timedelta.

    Raises:
        InvalidOption: If the template or a number is not valid.

    Example:
        ```python
        @jobs.task(limits=[Limit("tenant:{tenant}", running=1), Limit("partner-api", rate=5, per=1)])
        def send(*, tenant: str) -> None: ...
        ```
    """

    name: str
    running: int | None = None
    rate: int | None = None
    per: Any = 1.0
    fields: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what could limit nothing, where it is written."""
        object.__setattr__(self, "fields", _fields(self.name))
        quota = Quota.checked(self.name, self.running, self.rate, self.per)
        if quota.running is None and quota.rate is None:
            raise InvalidOption(Message("job.limit-without-number", limit=self.name))
        object.__setattr__(self, "per", quota.per)

    @property
    def quota(self) -> Quota:
        """What it allows for each key."""
        return Quota(self.running, self.rate, self.per)

    def key(self, values: Mapping[str, Any]) -> str | None:
        """Return the key of a job; None if a field is None, so that the limit does not apply.

        Args:
            values: Arguments, task, queue and source of the job by name.

        Raises:
            InvalidArguments: If a value is no text, number or truth value.
        """
        found = {}
        for one in self.fields:
            value = values.get(one)
            if value is None:
                return None
            if not isinstance(value, (str, int, float)):
                raise InvalidArguments(Message("job.limit-value", limit=self.name, field=one, value=repr(value)[:60]))
            found[one] = value
        return _short(self.name.format(**found))


def check_limits(
    task: str, limits: Any, arguments: Collection[str], *, open_ended: bool, secret: frozenset[str]
) -> tuple[Limit, ...]:
    """Return the limits of a task.

    Args:
        task: Its name.
        limits: What was given.
        arguments: Names of its arguments.
        open_ended: Whether it takes any other argument too.
        secret: Arguments whose values are hidden from people, to whom keys are shown.

    Raises:
        InvalidOption: If one is not a `Limit`, has a field that the task cannot fill, or stands there twice.
    """
    given = tuple(limits)
    for one in given:
        if not isinstance(one, Limit):
            raise InvalidOption(Message("job.not-a-limit", task=task, value=repr(one)))
        unknown = [name for name in one.fields if name not in OF_THE_JOB and name not in arguments]
        if unknown and not open_ended:
            known = sorted({*OF_THE_JOB, *arguments})
            raise InvalidOption(Message("job.limit-field", task=task, limit=one.name, field=unknown[0], known=known))
        hidden = [name for name in one.fields if name not in OF_THE_JOB and is_secret(name, secret)]
        if hidden:
            raise InvalidOption(Message("job.limit-secret", task=task, limit=one.name, field=hidden[0]))
    names = [one.name for one in given]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidOption(Message("job.limit-twice", task=task, limit=twice))
    if len(given) > MOST_LIMITS:
        raise InvalidOption(Message("job.too-many-limits", task=task, most=MOST_LIMITS, number=len(given)))
    return given


def keys_of(limits: Iterable[Limit], values: Mapping[str, Any]) -> str | None:
    """Return the keys of a job as they are stored, the same text for jobs that share all keys; None where it has none.

    Args:
        limits: The limits of its task.
        values: Its arguments, task, queue and source by name.

    Raises:
        InvalidArguments: If a value cannot be part of a key.
    """
    ordered = sorted(limits, key=lambda one: (bool(one.fields), one.name))
    found = {one.name: key for one in ordered if (key := one.key(values)) is not None}
    return dumps(found, ensure_ascii=False) if found else None


@lru_cache(maxsize=4096)
def read_keys(text: str) -> Mapping[str, str]:
    """Return the keys of a stored job by the name of their limit."""
    found: dict[str, str] = loads(text)
    return found


def _fields(name: Any) -> tuple[str, ...]:
    """The fields of a template, each once."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidOption(Message("job.limit-name", most=LONGEST_NAME, value=repr(name)))
    try:
        parts = list(Formatter().parse(name))
    except ValueError as error:
        raise InvalidOption(Message("job.limit-template", limit=name, problem=str(error))) from None
    found = [(one, spec, conversion) for _, one, spec, conversion in parts if one is not None]
    for one, spec, conversion in found:
        if not one.isidentifier() or spec or conversion:
            raise InvalidOption(Message("job.limit-template", limit=name, problem=f"{{{one}}}"))
    return tuple(dict.fromkeys(one for one, _, _ in found))


def _short(key: str) -> str:
    """A key that an index can hold and a page can show."""
    if len(key) <= LONGEST_KEY and key.isprintable():
        return key
    digest = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGEST]
    shown = "".join(sign if sign.isprintable() else "?" for sign in key[: LONGEST_KEY - _DIGEST - 1])
    return f"{shown}~{digest}"
