"""A task: a registered function with its options, and the check of arguments against its signature."""

from __future__ import annotations

import inspect
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from jobtrail.errors import InvalidOption, UnknownTask
from jobtrail.messages import Message

from .arguments.signature import Signature
from .items import FailedItemsLimit
from .limits.limit import Limit, check_limits, keys_of
from .model import DEFAULT_PRIORITY, DEFAULT_QUEUE, LEAST_URGENT, MOST_URGENT
from .retry import Retry, coerce_retry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

OWN_TASKS = "jobtrail."  # so begin the names of the tasks that every application knows
TRACKED = "celery:"  # the queues of jobs that Celery executes begin so
ON_INTERRUPT = ON_SHUTDOWN = ("requeue", "fail", "hold")
ON_INPUT_CHANGE = ("fail", "accept")
SETTLE = 0.25  # seconds; submitting waits for them, also in a request, so a task with slow writers asks for more
AS_SETTINGS = "settings"  # kept as long as the settings of the application say
LONGEST_KEPT = 100_000  # days
KEPT = ("completed", "cancelled", "partial", "failed")  # the ends that a task may keep for a time of its own
LABELS_LIMIT = 20
LEAST_MEMORY = 32 * 1_048_576
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?)i?B?\s*", re.IGNORECASE)
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class Task:
    """A registered function. ``options`` are those that a middleware declared."""

    name: str
    function: Callable[..., Any]
    kind: str | None = None
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    retry: Retry = field(default_factory=Retry)
    timeout: float | None = None
    stall_timeout: float | None = None
    max_failed_items: FailedItemsLimit | None = None
    on_interrupt: str = "requeue"
    on_shutdown: str = "requeue"
    on_input_change: str = "fail"
    settle: float = SETTLE
    ready_marker: str | None = None
    executor: str | None = None  # that of the application
    memory_limit: int | None = None
    max_jobs_per_child: int = 100
    aliases: tuple[str, ...] = ()
    middleware: tuple[Any, ...] = ()
    secret: frozenset[str] = frozenset()
    limits: tuple[Limit, ...] = ()
    zone: str = "UTC"
    validate: bool = True
    keep_completed: float | str | None = AS_SETTINGS
    keep_cancelled: float | str | None = AS_SETTINGS
    keep_partial: float | str | None = AS_SETTINGS
    keep_failed: float | str | None = AS_SETTINGS
    options: Mapping[str, Any] = field(default_factory=dict)
    signature: Signature = field(init=False)
    is_async: bool = field(init=False)
    handed_to: str | None = field(init=False, default=None)  # the executor that jobs are handed over to

    @classmethod
    def made(
        cls, name: str, function: Callable[..., Any], options: Mapping[str, Any], declared: Iterable[str] = ()
    ) -> Task:
        """A task from the keywords of a decorator; ``declared`` are the options that middleware reads.

        Raises: InvalidOption for a word that there is not, with the words that there are.
        """
        own = OPTION_NAMES
        extra = set(declared)
        unknown = cls.unknown_options(options, extra)
        if unknown:
            message = Message("job.unknown-task-option", name=name, option=unknown[0], known=sorted(own | extra))
            raise InvalidOption(message)
        given = {key: value for key, value in options.items() if key in own}
        for key in ("aliases", "middleware", "limits"):
            if key in given:
                given[key] = tuple(given[key])
        if "secret" in given:
            given["secret"] = frozenset(given["secret"])
        return cls(name, function, options={k: v for k, v in options.items() if k in extra}, **given)

    @classmethod
    def unknown_options(cls, options: Iterable[str], declared: Iterable[str] = ()) -> list[str]:
        """The words among these that are no option of a task and that no middleware declared."""
        own = OPTION_NAMES
        return sorted(set(options) - own - set(declared))

    def handed_over_to(self, executor: str) -> Task:
        """Return this task as one whose jobs are handed over to an executor."""
        task = replace(self, executor=executor)
        object.__setattr__(task, "handed_to", executor)
        return task

    @property
    def stops_cooperatively(self) -> bool:
        """Has its body a way to stop before its end: by cancellation, by its context, or with its process?"""
        return self.is_async or self.signature.context is not None or self.executor == "process"

    def limit_keys(self, args: Mapping[str, Any], queue: str, source: str | None) -> str | None:
        """Return the keys of a job under which the limits of the task count it, as they are stored.

        Raises:
            InvalidArguments: If an argument cannot be part of a key.
        """
        if not self.limits:
            return None
        return keys_of(self.limits, {**self.signature.defaults, **args, "task": self.name, "queue": queue, "source": source})

    @property
    def kept(self) -> dict[str, float | None]:
        """For how many days its ended jobs are kept, by status, where the task itself says so; None is for ever."""
        given = {status: getattr(self, f"keep_{status}") for status in KEPT}
        return {status: days for status, days in given.items() if days != AS_SETTINGS}

    def __post_init__(self) -> None:
        """Refuse options that could not work, at registration."""
        object.__setattr__(self, "function", _callable(self.name, self.function))
        object.__setattr__(self, "signature", Signature.of(self.function, validate=self.validate))
        object.__setattr__(self, "is_async", any(map(inspect.iscoroutinefunction, (self.function, _called(self.function)))))
        _check_options(self)


OPTION_NAMES = frozenset(f.name for f in fields(Task) if f.init) - {"name", "function", "options"}


def name_of(function: Callable[..., Any]) -> str:
    """The function's name, under which a task without ``name=`` is stored.

    Raises: InvalidOption for a callable without a name.
    """
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise InvalidOption(Message("job.function-without-name", function=repr(function)))
    return name


def _callable(task: str, function: Any) -> Callable[..., Any]:
    """The function of a task, without `staticmethod` around it.

    Raises: InvalidOption for what cannot be called, and for a generator function: calling it runs nothing.
    """
    found = function.__func__ if isinstance(function, staticmethod) else function
    if not callable(found):
        raise InvalidOption(Message("job.not-callable", task=task, function=repr(function)))
    called = _called(found)
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        message = Message("job.generator-function", task=task, function=getattr(called, "__qualname__", repr(called)))
        raise InvalidOption(message)
    return found


def _called(function: Any) -> Any:
    """What a call runs first: the function inside `functools.partial`, or the ``__call__`` of an object.

    ``__wrapped__`` is not followed: a plain wrapper may run the coroutine or the generator that it gets, and what it
    returns is checked after the call.
    """
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) or inspect.isclass(function) else type(function).__call__


def seconds_option(name: str, value: Any) -> float | None:
    """A limit in seconds: positive and finite, or None for no limit."""
    if value is None:
        return None
    if hasattr(value, "total_seconds"):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise InvalidOption(Message("job.not-seconds", name=name, value=repr(value)))
    return float(value)


def priority_option(value: Any) -> int:
    """0 (most urgent) to 9."""
    if isinstance(value, bool) or not isinstance(value, int) or not MOST_URGENT <= value <= LEAST_URGENT:
        raise InvalidOption(Message("job.bad-priority", value=repr(value)))
    return value


def choice_option(name: str | Message, value: Any, choices: Iterable[str]) -> str:
    """One of a few words."""
    allowed = tuple(choices)
    if value not in allowed:
        raise InvalidOption(Message("job.not-a-choice", name=name, allowed=allowed, value=repr(value)))
    chosen: str = value
    return chosen


def bytes_option(name: str, value: Any) -> int | None:
    """A size: a number of bytes, or a text such as "512MB" (1 MB is 1,048,576 bytes), or None for no limit."""
    if value is None:
        return None
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    count = int(float(found[1]) * _UNITS[found[2].upper()]) if found else value
    if isinstance(count, bool) or not isinstance(count, int) or count < LEAST_MEMORY:
        raise InvalidOption(Message("job.not-bytes", name=name, least=LEAST_MEMORY, value=repr(value)))
    return count


def name_option(name: str | Message, value: Any) -> str:
    """Return a short printable name in its composed form.

    Composed and decomposed letters look the same, so they are the same name (Unicode normalization form C).

    Raises:
        InvalidOption: If it is empty or too long, is "." or "..", begins or ends with a space, or is not printable.

    """
    good = isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable() and value not in {".", ".."}
    if not good or value != value.strip():
        raise InvalidOption(Message("job.not-a-name", name=name, value=repr(value)))
    return unicodedata.normalize("NFC", value)


def days_option(name: str, value: Any) -> None:
    """Check a number of days, None for ever, or "settings".

    Raises:
        InvalidOption: If it is nothing of these.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LONGEST_KEPT
    if value is not None and value != AS_SETTINGS and not number:
        raise InvalidOption(Message("job.not-days", name=name, value=repr(value)))


def queue_option(name: str | Message, value: Any) -> str:
    """Return the name of a queue: `name_option` without the signs that separate queues on the command line.

    Raises:
        InvalidOption: If it is not a name, has a comma or "=", or begins as the queues of tracked Celery tasks do.

    """
    found = name_option(name, value)
    if "," in found or "=" in found:
        raise InvalidOption(Message("job.not-a-queue", name=name, value=repr(value)))
    if found.startswith(TRACKED):
        raise InvalidOption(Message("job.tracked-queue", name=name, value=repr(value)))
    return found


def labels_option(labels: Any) -> dict[str, str]:
    """Labels of a job: at most `LABELS_LIMIT` texts by name, searched as ``label:key=value``."""
    if not isinstance(labels, Mapping) or len(labels) > LABELS_LIMIT:
        raise InvalidOption(Message("job.bad-labels", most=LABELS_LIMIT, labels=str(labels)[:60]))
    parted = next((key for key in labels if isinstance(key, str) and "=" in key), None)
    if parted is not None:
        raise InvalidOption(Message("job.label-with-equals", key=repr(parted)))
    return {
        name_option(Message("job.label-key"), key): name_option(Message("job.label-value", key=key), value)
        for key, value in labels.items()
    }


def zone_option(value: Any) -> str:
    """The name of a time zone, such as Europe/Vienna."""
    try:
        return ZoneInfo(value).key
    except (LookupError, ValueError, TypeError, OSError):
        raise InvalidOption(Message("job.bad-zone", value=repr(value))) from None


def _check_options(task: Task) -> None:
    set_ = object.__setattr__
    set_(task, "name", name_option(Message("job.task-name"), task.name))
    set_(task, "queue", queue_option("queue", task.queue))
    zone_option(task.zone)
    if task.kind is not None:
        set_(task, "kind", name_option("kind", task.kind))
    priority_option(task.priority)
    choice_option("on_interrupt", task.on_interrupt, ON_INTERRUPT)
    choice_option("on_shutdown", task.on_shutdown, ON_SHUTDOWN)
    choice_option("on_input_change", task.on_input_change, ON_INPUT_CHANGE)
    if task.executor is not None:
        name_option("executor", task.executor)
    if task.ready_marker is not None and ("/" in name_option("ready_marker", task.ready_marker) or task.ready_marker == "."):
        raise InvalidOption(Message("job.bad-ready-marker", value=repr(task.ready_marker)))
    _check_process_options(task)
    set_(task, "memory_limit", bytes_option("memory_limit", task.memory_limit))
    set_(task, "retry", coerce_retry(task.retry))
    set_(task, "settle", seconds_option("settle", task.settle) or SETTLE)
    set_(task, "timeout", seconds_option("timeout", task.timeout))
    set_(task, "stall_timeout", seconds_option("stall_timeout", task.stall_timeout))
    own = task.signature
    found = check_limits(task.name, task.limits, own.names, open_ended=own.open_ended, secret=task.secret)
    set_(task, "limits", found)
    for status in KEPT:
        days_option(f"keep_{status}", getattr(task, f"keep_{status}"))
    limit = task.max_failed_items
    if limit is not None and not isinstance(limit, FailedItemsLimit):
        set_(task, "max_failed_items", FailedItemsLimit.parse(limit))


def _check_process_options(task: Task) -> None:
    jobs = task.max_jobs_per_child
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InvalidOption(Message("job.bad-jobs-per-child", jobs=repr(jobs)))
    if task.executor != "process":
        if task.executor is not None and task.memory_limit is not None:
            raise InvalidOption(Message("job.memory-limit-without-process", task=task.name))
        return
    where = getattr(task.function, "__qualname__", "<unknown>")
    if "<" in where or not getattr(task.function, "__module__", None):
        raise InvalidOption(Message("job.function-not-importable", task=task.name, where=where))


class Tasks:
    """The tasks of one application, by name and by the names they had before."""

    def __init__(self) -> None:
        self._by_name: dict[str, Task] = {}
        self._own: set[str] = set()
        self.limits: dict[str, Limit] = {}

    def add(self, task: Task, *, own: bool = False) -> Task:
        """Register a task under its name and aliases; a name is given once. ``own``: it is jobtrail's and is not listed."""
        for name in (task.name, *task.aliases):
            known = self._by_name.get(name)
            if known is not None:
                raise InvalidOption(Message("job.task-name-taken", name=name))
        for limit in task.limits:
            if self.limits.setdefault(limit.name, limit) != limit:
                raise InvalidOption(Message("job.limit-differs", task=task.name, limit=limit.name))
        for name in (task.name, *task.aliases):
            self._by_name[name] = task
        self._own |= {task.name} if own else set()
        return task

    def remove(self, task: Task) -> None:
        """Forget a task and its former names."""
        self._by_name = {name: one for name, one in self._by_name.items() if one is not task}

    def find(self, name: str) -> Task | None:
        """The task of this name or former name."""
        return self._by_name.get(name)

    def names(self) -> list[str]:
        """All names, former ones among them."""
        return sorted(self._by_name)

    def get(self, name: str) -> Task:
        """The task of this name.

        Raises: UnknownTask with the names that there are.
        """
        task = self._by_name.get(name)
        if task is None:
            known = ", ".join(t.name for t in self.all()) or "none"
            raise UnknownTask(Message("job.no-such-task", name=name, known=known))
        return task

    def all(self) -> list[Task]:
        """Every task of the application once, by name."""
        listed = (task for task in self._by_name.values() if task.name not in self._own)
        return sorted(set_of(listed), key=lambda task: task.name)

    def secret_names(self) -> frozenset[str]:
        """The names of arguments that any task marks as secret."""
        return frozenset().union(*(task.secret for task in self.all()))


def set_of(tasks: Iterable[Task]) -> list[Task]:
    """Each task once; tasks are not hashable by value."""
    return list({id(task): task for task in tasks}.values())
