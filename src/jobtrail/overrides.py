"""Overrides settings and task options by `jobtrail.toml` and JOBTRAIL_TASK__… variables.

The file may have the table ``[settings]``, one for each task, ``[tasks."weather.sync"]``, and one for each plug-in that
reads it, ``[plugins.notify]``, for each executor, ``[executors.celery]``, and for each limit, ``[limits.partner-api]``. Values are checked when
they are read, and against the task when it is registered. An error names the file and the key, or the variable.
"""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from jobtrail.messages import Message

from . import config as _config
from .errors import InvalidOption
from .job.items import FailedItemsLimit
from .job.limits.outside import OutsideLimit, limited
from .job.retry import Retry
from .job.task import AS_SETTINGS, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .config import Settings

FILE = "jobtrail.toml"
VARIABLE = "JOBTRAIL_CONFIG"
PREFIX = "JOBTRAIL_TASK__"
EXECUTOR_PREFIX = "JOBTRAIL_EXECUTOR__"
NOTHING = "none"  # TOML and variables have no None
FIXED = frozenset({"name", "function", "aliases", "middleware", "secret", "options", "limits"})  # only the program sets these
OPTIONS = {f.name: f for f in fields(Task) if f.init and f.name not in FIXED}
_log = logging.getLogger("jobtrail.settings")
_RETRY = ("attempts", "wait", "on_partial", "failed_items", "max_delay")
_T = TypeVar("_T")
_WAITS = {"fixed": {"kind", "seconds"}, "exponential": {"kind", "base", "factor", "jitter", "maximum"}}


@dataclass(frozen=True, slots=True)
class Given:
    """A value and the place where it is set."""

    value: Any
    by: str


@dataclass(frozen=True, slots=True)
class Overridden:
    """An option of a task that is overridden: its value in the program, the value in force, and where it is set.

    For ``retry`` the values are dicts of the parts that differ.
    """

    option: str
    was: Any
    value: Any
    by: str


@dataclass(slots=True)
class Overrides:
    """All overrides of one application; ``path`` is the file, if there is one."""

    path: Path | None = None
    values: dict[str, Given] = field(default_factory=dict)
    tasks: dict[str, dict[str, Given]] = field(default_factory=dict)
    variables: dict[str, dict[str, Given]] = field(default_factory=dict)
    plugins: dict[str, dict[str, Any]] = field(default_factory=dict)  # read by the plug-ins themselves
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    limits: dict[str, OutsideLimit] = field(default_factory=dict)
    done: dict[str, list[Overridden]] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)

    def settings(self, base: Settings) -> Settings:
        """Return the settings with those of the file over them, and those of the environment over both.

        Raises:
            InvalidOption: if a value is not valid, naming file and key, or the variable.
        """
        for name, one in self.values.items():
            value = None if one.value == NOTHING else one.value
            base = _at_place(one.by, partial(base.with_values, **{name: value}))
        return base

    def applied(self, task: Task, declared: Iterable[str] = ()) -> Task:
        """Return the task with its overrides: the variables win over the file.

        Args:
            task: The task as the program declares it.
            declared: Options that its middleware reads.

        Raises:
            InvalidOption: if an option is unknown or a value is not valid, naming the place.
        """
        changed = _with(task, self.tasks.get(task.name, {}), declared)
        changed = _with(changed, self._of_environment(task.name), declared)
        changed = limited(changed, self.limits)
        if changed is not task:
            self.done[task.name] = list(self._changes(task, changed))
        return changed

    def options_of_executor(self, name: str) -> dict[str, Any]:
        """Return the options of an executor: its table, and over it JOBTRAIL_EXECUTOR__<NAME>__<OPTION>."""
        prefix = f"{EXECUTOR_PREFIX}{spelled(name)}__"
        given = {one.removeprefix(prefix).lower(): _parsed(os.environ[one]) for one in os.environ if one.startswith(prefix)}
        return {**self.executors.get(name, {}), **given}

    def unknown(self, find: Callable[[str], Task | None]) -> list[Message]:
        """A message for each task that is named outside but not registered; ``find`` knows tasks by name and alias."""
        found: list[Message] = []
        for name in self.tasks:
            task = find(name)
            if task is None:
                found.append(Message("config.unknown-task", path=self.path, name=name))
            elif task.name != name:
                found.append(Message("config.renamed-task", path=self.path, name=name, task=task.name))
        lost = [given for spelling, given in self.variables.items() if spelling not in self._owners]
        return found + [
            Message("config.variable-without-task", place=one.by) for given in lost for one in given.values()
        ]

    def warn_of_unknown(self, find: Callable[[str], Task | None]) -> None:
        """Log what is set for tasks that are not registered here: one file may serve several programs."""
        for told in self.unknown(find):
            _log.warning("%s", told)

    def _of_environment(self, name: str) -> Mapping[str, Given]:
        spelling = spelled(name)
        given = self.variables.get(spelling, {})
        owner = self._owners.setdefault(spelling, name)
        if given and owner != name:
            message = Message(
                "config.ambiguous-variable", owner=owner, name=name, file=FILE, place=next(iter(given.values())).by
            )
            raise InvalidOption(message)
        return given

    def _changes(self, task: Task, changed: Task) -> Iterator[Overridden]:
        places = {**self.tasks.get(task.name, {}), **self.variables.get(spelled(task.name), {})}
        for option, one in places.items():
            was, value = _value(task, option), _value(changed, option)
            if option == "retry":
                differs = [part for part in value if value[part] != was[part]]
                was, value = {part: was[part] for part in differs}, {part: value[part] for part in differs}
            if was != value:
                yield Overridden(option, was, value, one.by)


def spelled(task: str) -> str:
    """The name of a task in a variable: capitals, and an underscore for other characters than letters and digits."""
    return re.sub(r"[^A-Z0-9]+", "_", task.upper()).strip("_")


def read(config: str | os.PathLike[str] | None = "auto") -> Overrides:
    """Read the overrides of a file and of the environment.

    Args:
        config: The file; "auto" for the one that JOBTRAIL_CONFIG names; None reads neither file nor environment.

    Raises:
        InvalidOption: if a name or a value is not valid, naming the file and the key, or the variable.
    """
    if config is None:
        return Overrides()
    by_variable = config == "auto"
    named = os.environ.get(VARIABLE) if by_variable else os.fspath(config)
    found = Overrides(Path(named) if named else None)
    if found.path is not None:
        _read_file(
            found,
            found.path,
            Message("config.named-by-variable", variable=VARIABLE, path=named)
            if by_variable
            else Message("config.named-by-argument", path=named),
        )
    values = _config.from_environment()
    found.values |= {name: Given(value, _config.variable_of(name)) for name, value in values.items()}
    _read_variables(found)
    for given in (*found.tasks.values(), *found.variables.values()):
        _check(given)
    return found


# -- the file ----------------------------------------------------------------------------------------


def _read_file(found: Overrides, path: Path, named: Message) -> None:
    import tomllib

    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidOption(Message("config.unreadable-file", named=named, error=error.strerror or error)) from None
    except ValueError as error:  # also of the encoding
        raise InvalidOption(Message("config.not-toml", path=path, error=error)) from None
    for name in tables.keys() - {"settings", "tasks", "plugins", "executors", "limits"}:
        raise InvalidOption(Message("config.unknown-table", path=path, name=name))
    found.values = {k: Given(v, f"{path}, settings.{k}") for k, v in _table(path, "settings", tables).items()}
    found.plugins, found.executors = _tables(path, "plugins", tables), _tables(path, "executors", tables)
    for name, given in _tables(path, "limits", tables).items():
        found.limits[name] = _at_place(f"{path}, limits.{name}", partial(OutsideLimit.read, name, given))
    for task, options in _table(path, "tasks", tables).items():
        name = f'tasks."{task}"'
        given = _table(path, name, {name: options})
        found.tasks[task] = {key: Given(value, f"{path}, {name}.{key}") for key, value in given.items()}


def _tables(path: Path, kind: str, tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables in a table, by name."""
    return {
        name: _table(path, f"{kind}.{name}", {f"{kind}.{name}": own}) for name, own in _table(path, kind, tables).items()
    }


def _table(path: Path, name: str, tables: Mapping[str, Any]) -> dict[str, Any]:
    value = tables.get(name, {})
    if isinstance(value, dict):
        return value
    raise InvalidOption(Message("config.not-a-table", path=path, name=name, value=repr(value)))


# -- the environment ---------------------------------------------------------------------------------


def _read_variables(found: Overrides) -> None:
    """Read JOBTRAIL_TASK__<TASK>__<OPTION> and …__RETRY__<PART>."""
    for name in sorted(one for one in os.environ if one.startswith(PREFIX)):
        task, *words = name.removeprefix(PREFIX).split("__")
        option, *part = [word.lower() for word in words] or [""]
        if not task or not option or len(part) > (option == "retry"):
            raise InvalidOption(Message("config.bad-variable-name", name=name, prefix=PREFIX))
        given, value = found.variables.setdefault(task, {}), _parsed(os.environ[name])
        if part:
            kept = given[option].value if option in given else {}
            value = {**(kept if isinstance(kept, dict) else {"attempts": kept}), part[0]: value}
        given[option] = Given(value, name)


def _parsed(text: str) -> Any:
    """Read a value as in TOML (60, true, {attempts = 3}); anything else is a text."""
    import tomllib

    try:
        found = tomllib.loads(f"value = {text}")
    except ValueError:
        return text
    return found["value"] if len(found) == 1 else text


# -- values ------------------------------------------------------------------------------------------


def _specimen() -> None:
    """A task function for checks before the task is known."""


def _check(given: Mapping[str, Given]) -> None:
    """Raise InvalidOption for what is not valid for any task."""
    for option, one in given.items():
        if option in FIXED:
            raise InvalidOption(Message("config.fixed-option", option=option, place=one.by))
        if option in OPTIONS:
            task = Task("specimen", _specimen, executor=None if option == "executor" else "process")
            _at_place(one.by, partial(_replaced, task, {option: one.value}))
        elif isinstance(one.value, dict) and one.value and one.value.keys() <= OPTIONS.keys():
            raise InvalidOption(Message("config.table-of-options", place=one.by))


def _with(task: Task, given: Mapping[str, Given], declared: Iterable[str]) -> Task:
    if not given:
        return task
    known = {*OPTIONS, *declared}
    for option, one in given.items():
        if option not in known:
            raise InvalidOption(
                Message("config.unknown-option", task=task.name, option=option, known=sorted(known), place=one.by)
            )
    places = ", ".join(one.by for one in given.values())
    return _at_place(places, partial(_replaced, task, {option: one.value for option, one in given.items()}))


def _replaced(task: Task, values: Mapping[str, Any]) -> Task:
    own = {option: _meant(task, option, value) for option, value in values.items() if option in OPTIONS}
    extra = {option: value for option, value in values.items() if option not in OPTIONS}
    return replace(task, **own, options={**task.options, **extra})


def _meant(task: Task, option: str, value: Any) -> Any:
    if option == "retry":
        return _retry(value, task.retry)
    may_be_none = OPTIONS[option].default is None or OPTIONS[option].default == AS_SETTINGS
    return None if value == NOTHING and may_be_none else value


def _retry(value: Any, base: Retry) -> Retry:
    """Return the policy of the task with some parts changed; which errors are retried stays as in the program."""
    if not isinstance(value, dict):
        value = {"attempts": value}
    _known("retry", value, _RETRY)
    parts = {key: None if part == NOTHING and key in {"attempts", "max_delay"} else part for key, part in value.items()}
    if "wait" in parts:
        parts["wait"] = _wait(parts["wait"])
    return Retry.from_json(parts, base)


def _wait(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {"kind": "fixed", "seconds": value}
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in _WAITS:
        raise InvalidOption(Message("config.bad-retry-wait"))
    _known("retry wait", value, _WAITS[kind])
    if kind == "fixed" and "seconds" not in value:
        raise InvalidOption(Message("config.retry-wait-without-seconds"))
    if not isinstance(value.get("jitter", True), bool):
        raise InvalidOption(Message("config.retry-jitter-not-boolean", value=repr(value["jitter"])))
    return value


def _known(what: str, value: Mapping[str, Any], known: Iterable[str]) -> None:
    unknown = sorted(value.keys() - set(known))
    if unknown:
        raise InvalidOption(Message("config.unknown-key", what=what, unknown=unknown[0], known=sorted(known)))


def _value(task: Task, option: str) -> Any:
    value = getattr(task, option) if option in OPTIONS else task.options.get(option)
    if isinstance(value, Retry):
        return value.to_json()
    return str(value) if isinstance(value, FailedItemsLimit) else value


def _at_place(by: str, make: Callable[[], _T]) -> _T:
    try:
        return make()
    except InvalidOption as error:
        raise InvalidOption(Message("config.at-place", place=by, problem=error)) from None
