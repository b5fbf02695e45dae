"""What is recorded of which task: the decorator, the patterns, the sample, and the arguments by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from jobtrail.errors import InvalidOption
from jobtrail.job.period import Period
from jobtrail.job.task import name_option
from jobtrail.messages import Message

from .executing.checks import RUN_TASK

if TYPE_CHECKING:
    from celery import Task as CeleryTask

F = TypeVar("F", bound=Callable[..., Any])
Source = str | Callable[[Mapping[str, Any]], str | None]
PeriodOf = Callable[[Mapping[str, Any]], Any]
Describe = Callable[[str, Mapping[str, Any]], "Mapping[str, Any] | None"]
MARK = "__jobtrail_tracked__"
DESCRIBED = ("kind", "source", "period")


@dataclass(frozen=True, slots=True)
class Description:
    """How the jobs of a task are described; ``source`` and ``period`` may be functions of the arguments by name."""

    kind: str | None = None
    source: Source | None = None
    period: PeriodOf | None = None


def tracked(
    *, kind: str | None = None, source: Source | None = None, period: PeriodOf | None = None
) -> Callable[[F], F]:
    """Describe the jobs of a Celery task; write it below ``@app.task``.

    Args:
        kind: Kind of the jobs, such as "parser".
        source: Where the data comes from: a name, or a function of the arguments by name.
        period: Function from the arguments by name to a period, as `BoundTask.using` takes it.

    Raises:
        InvalidOption: If ``kind`` or ``source`` is not a name, or ``period`` is not a function.

    Example:
        ```python
        @app.task
        @tracked(kind="parser", source=lambda args: args["airport"], period=lambda args: args["day"])
        def load(airport, day): ...
        ```
    """
    if kind is not None:
        name_option("kind", kind)
    if source is not None and not callable(source):
        name_option("source", source)
    if period is not None and not callable(period):
        raise InvalidOption(Message("integrations.period-not-function", value=repr(period)))

    def mark(function: F) -> F:
        setattr(function, MARK, Description(kind, source, period))
        return function

    return mark


@dataclass(frozen=True, slots=True)
class Described:
    """Kind, source and period of one run; ``trouble`` says what the application's functions raised or returned."""

    kind: str | None = None
    source: str | None = None
    period: Period | None = None
    trouble: str | None = None


NOT_DESCRIBED = Described()


def describe_run(task: CeleryTask, named: Mapping[str, Any], describe: Describe | None) -> Described:
    """Ask the decorator, then the application's function, about one run. Never raises."""
    given = getattr(task.run, MARK, None)
    if given is None and describe is None:
        return NOT_DESCRIBED
    given = given or Description()
    try:
        values: dict[str, Any] = {
            "kind": given.kind,
            "source": given.source(named) if callable(given.source) else given.source,
            "period": given.period(named) if given.period is not None else None,
        }
        if describe is not None:
            values |= describe(task.name, named) or {}
        unknown = sorted(set(values) - set(DESCRIBED))
        if unknown:
            raise InvalidOption(Message("integrations.unknown-description", names=unknown, known=list(DESCRIBED)))
        kind, source, period = (values[name] for name in DESCRIBED)
        return Described(
            None if kind is None else name_option("kind", kind),
            None if source is None else name_option("source", source),
            None if period is None else Period.parse(period),
        )
    except Exception as error:
        return Described(trouble=f"{type(error).__name__}: {error}"[:500])


@dataclass(frozen=True, slots=True)
class Selection:
    """Which runs are recorded.

    Attributes:
        exclude: Patterns of task names (``mail.*``) that are never recorded.
        sample: Share of the runs that is recorded, by pattern; runs that fail or are retried always are.
    """

    exclude: tuple[str, ...] = ()
    sample: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, exclude: Sequence[str], sample: Mapping[str, float]) -> Selection:
        """Check the options of `track_celery`.

        Raises:
            InvalidOption: If a pattern is no text, or a share is not a number from 0 to 1.
        """
        if isinstance(exclude, str) or not all(isinstance(one, str) and one for one in exclude):
            raise InvalidOption(Message("integrations.bad-exclude", value=repr(exclude)))
        for pattern, share in sample.items():
            number = isinstance(share, (int, float)) and not isinstance(share, bool) and 0 <= share <= 1
            if not isinstance(pattern, str) or not number:
                raise InvalidOption(Message("integrations.bad-sample", pattern=repr(pattern), value=repr(share)))
        return cls(tuple(exclude), dict(sample))

    def excludes(self, name: str) -> bool:
        """Whether the runs of a task are never recorded; the task that runs our own jobs has its record already."""
        return name == RUN_TASK or any(fnmatchcase(name, pattern) for pattern in self.exclude)

    def takes(self, name: str, celery_id: str) -> bool:
        """Whether a run belongs to the sample; all attempts of one task run do, or none."""
        for pattern, share in self.sample.items():
            if fnmatchcase(name, pattern):
                return crc32(celery_id.encode()) < share * 2**32
        return True


@lru_cache(maxsize=2048)
def _signature(function: Any) -> inspect.Signature | None:
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return found if all(one.kind in named for one in found.parameters.values()) else None


def named_arguments(task: CeleryTask, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the arguments by name; without a usable signature ``{"args": …, "kwargs": …}`` and False."""
    if not args:
        return dict(kwargs), True
    function = task.run
    signature = _signature(getattr(function, "__func__", function))
    if signature is not None:
        names = list(signature.parameters)
        if hasattr(function, "__func__"):
            names = names[1:]
        plain = [name for name in names if signature.parameters[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        if len(args) <= len(plain) and not set(plain[: len(args)]) & set(kwargs):
            return {**dict(zip(plain, args, strict=False)), **kwargs}, True
    return {"args": list(args), "kwargs": dict(kwargs)}, False
