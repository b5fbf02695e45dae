"""Check arguments against annotations by pydantic: what is submitted becomes plain JSON, what arrives what is annotated."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import cached_property, partial
from math import isfinite
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_type_hints

from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import TypeAdapter

_JUDGED = (str, int, float, date, Decimal, Enum, type(None), list, tuple, dict)  # by pydantic
_PLAIN = frozenset({str, int, bool})  # a value of just this type is what it shall be, and is JSON


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter with an annotation that pydantic knows."""

    adapter: TypeAdapter[Any]
    plain: type | None  # the annotation, if its values need no work
    shown: str
    may_be_none: bool  # it has None as default, whatever its annotation says

    def needs_no_work(self, value: Any) -> bool:
        if self.plain is not None and not isinstance(value, _JUDGED):
            return True  # bytes are no text, whatever pydantic makes of them: they are refused where they are encoded
        return (self.plain is not None and type(value) is self.plain) or (value is None and self.may_be_none)


class ArgumentChecker:
    """The annotated parameters of one function. Annotations are read at the first use, when every module is imported.

    Args:
        function: The function of the task.
        names: Names of its parameters, without the context.
        nullable: Names of those whose default is None.
    """

    def __init__(self, function: Callable[..., Any], names: Iterable[str], nullable: Iterable[str]) -> None:
        self._function = function
        self._names = frozenset(names)
        self._nullable = frozenset(nullable)

    @cached_property
    def _parameters(self) -> dict[str, _Parameter]:
        found = {}
        for name, annotation in _annotations(self._function).items():
            adapter = _adapter(annotation) if name in self._names else None
            if adapter is not None:
                plain = annotation if annotation in _PLAIN else None
                shown = annotation.__name__ if isinstance(annotation, type) else str(annotation)
                found[name] = _Parameter(adapter, plain, shown, name in self._nullable)
        return found

    def plain(self, arguments: Mapping[str, Any], unchecked: Iterable[str] = ()) -> dict[str, Any]:
        """Check what is submitted, and return it as values that JSON has.

        Args:
            arguments: The arguments by name.
            unchecked: Names of arguments whose value is not known yet.

        Raises:
            Mismatch: If a value does not fit.
        """
        found = dict(arguments)
        for name, parameter in self._parameters.items():
            if name in found and name not in unchecked and not parameter.needs_no_work(found[name]):
                found[name] = _dumped(parameter, _validated(name, parameter, found[name]), found[name])
        return found

    def arrived(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments as a body gets them: dates, models and so on, as they are annotated.

        Args:
            arguments: The arguments by name, from JSON.

        Raises:
            Mismatch: If a value does not fit.
        """
        found = dict(arguments)
        for name, parameter in self._parameters.items():
            if name in found and not parameter.needs_no_work(found[name]):
                found[name] = _validated(name, parameter, found[name])
        return found


class Mismatch(ValueError):
    """An argument does not fit its annotation.

    Attributes:
        problem: Where and why.
    """

    def __init__(self, problem: Message) -> None:
        super().__init__(str(problem))
        self.problem = problem


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The evaluated annotations; those that name what cannot be found are left out."""
    while isinstance(function, partial):
        function = function.func
    target: Any = function if inspect.isroutine(function) else type(function).__call__
    target = inspect.unwrap(target)
    try:
        return get_type_hints(target, include_extras=True)
    except Exception:
        found: dict[str, Any] = {}
        for name, annotation in getattr(target, "__annotations__", {}).items():
            one = SimpleNamespace(__annotations__={name: annotation})
            try:
                found |= get_type_hints(one, globalns=getattr(target, "__globals__", {}), include_extras=True)
            except Exception:  # noqa: S112 - imported for type checkers only, or made in a function
                continue
        return found


def _adapter(annotation: Any) -> TypeAdapter[Any] | None:
    """What pydantic makes of an annotation; None if it does not know it, or if it says nothing."""
    from pydantic import TypeAdapter

    if annotation in (Any, object, inspect.Parameter.empty):
        return None
    try:
        return TypeAdapter(annotation)
    except Exception:
        return None


def _validated(name: str, parameter: _Parameter, value: Any) -> Any:
    from pydantic import ValidationError

    try:
        return parameter.adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        problem = Message(
            "job.argument-does-not-fit", path=f"$.{name}{path}", annotation=parameter.shown, reason=first["msg"]
        )
        raise Mismatch(problem) from None


def _dumped(parameter: _Parameter, value: Any, given: Any) -> Any:
    """As JSON values; what JSON cannot say stays what was given, and is refused where it is encoded."""
    dump = partial(parameter.adapter.dump_python, value, by_alias=True, warnings=False)
    try:
        found = dump(mode="json")
        if _any(found, lambda one: one is None):  # pydantic writes so what is no number
            plain = dump()
            return plain if _any(plain, lambda one: isinstance(one, float) and not isfinite(one)) else found
    except Exception:
        return given
    return found


def _any(value: Any, holds: Callable[[Any], bool]) -> bool:
    """Whether something holds for a value, or for one that is in it."""
    if isinstance(value, dict):
        return any(_any(one, holds) for one in value.values())
    if isinstance(value, (list, tuple)):
        return any(_any(one, holds) for one in value)
    return holds(value)
