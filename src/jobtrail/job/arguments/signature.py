"""The signature of a task's function: what its arguments may be called, and the check of given ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidArguments, InvalidOption
from jobtrail.messages import Message

from .checker import ArgumentChecker, Mismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

CONTEXT_NAMES = ("Context", "AsyncContext")


@dataclass(frozen=True)
class Signature:
    """What a task's arguments may be called; the context, where there is one, is not among them."""

    text: str
    context: str | None
    names: frozenset[str]
    required: frozenset[str]
    positional: tuple[str, ...]
    open_ended: bool
    defaults: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, bool] = field(default_factory=dict)  # typed as text: whether None is a value too
    checker: ArgumentChecker | None = field(default=None, compare=False)

    @classmethod
    def of(cls, function: Callable[..., Any], *, validate: bool = True) -> Signature:
        """Read a function's signature; with ``validate`` arguments are checked against its annotations."""
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        context = parameters[0].name if parameters and _is_context(parameters[0]) else None
        own = [p for p in parameters if p.name != context]
        if any(p.kind in {p.VAR_POSITIONAL, p.POSITIONAL_ONLY} for p in own):
            name = getattr(function, "__name__", type(function).__name__)
            raise InvalidOption(Message("job.unnamed-parameters", function=f"{name}{signature}"))
        named = [p for p in own if p.kind is not p.VAR_KEYWORD]
        return cls(
            text=_readable(own),
            context=context,
            names=frozenset(p.name for p in named),
            required=frozenset(p.name for p in named if p.default is p.empty),
            positional=tuple(p.name for p in named if p.kind is p.POSITIONAL_OR_KEYWORD),
            open_ended=any(p.kind is p.VAR_KEYWORD for p in own),
            defaults={p.name: p.default for p in named if p.default is not p.empty},
            checker=_checker(function, named) if validate else None,
            texts={p.name: _TEXTS[kind] for p in named if (kind := _kind(p.annotation)) in _TEXTS},
        )

    def bind(self, task: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name.

        Raises: InvalidArguments naming the argument that is wrong, missing or given twice.
        """
        bound = dict(kwargs)
        if args:
            if len(args) > len(self.positional):
                self._refuse(task, Message("job.arguments-unnamed", positional=len(self.positional), given=len(args)))
            for name, value in zip(self.positional, args, strict=False):
                if name in bound:
                    self._refuse(task, Message("job.argument-twice", name=name))
                bound[name] = value
        given = bound.keys()
        if not self.open_ended and not given <= self.names:
            unknown = ", ".join(sorted(f"'{name}'" for name in given - self.names))
            self._refuse(task, Message("job.argument-unknown", unknown=unknown))
        if self.context in given:
            self._refuse(task, Message("job.argument-is-context", name=self.context))
        if not self.required <= given:
            missing = ", ".join(sorted(f"'{name}'" for name in self.required - given))
            self._refuse(task, Message("job.argument-missing", missing=missing))
        return bound

    def accept(
        self, task: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, unchecked: Iterable[str] = ()
    ) -> dict[str, Any]:
        """`bind`, and check the values against the annotations: what a submission stores.

        Raises: InvalidArguments as `bind`, or naming the path of a value that does not fit, and why.
        """
        bound = self.bind(task, args, kwargs)
        return bound if self.checker is None else self._checked(task, lambda one: one.plain(bound, unchecked))

    def arrived(self, task: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Stored arguments as the function is annotated to get them.

        Raises: InvalidArguments naming the path of a value that does not fit, and why.
        """
        return arguments if self.checker is None else self._checked(task, lambda one: one.arrived(arguments))

    def _checked(self, task: str, check: Callable[[ArgumentChecker], dict[str, Any]]) -> dict[str, Any]:
        if self.checker is None:
            return {}
        try:
            return check(self.checker)
        except Mismatch as wrong:
            raise self._refused(task, wrong.problem) from None

    def _refused(self, task: str, what: Message) -> InvalidArguments:
        return InvalidArguments(Message("job.arguments-refused", task=f"{task}{self.text}", problem=what))

    def _refuse(self, task: str, what: Message) -> None:
        raise self._refused(task, what)


def _checker(function: Callable[..., Any], named: list[inspect.Parameter]) -> ArgumentChecker | None:
    annotated = [p.name for p in named if p.annotation is not p.empty]
    return ArgumentChecker(function, annotated, (p.name for p in named if p.default is None)) if annotated else None


def _is_context(parameter: inspect.Parameter) -> bool:
    if parameter.name == "ctx":
        return True
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.rsplit(".", 1)[-1] in CONTEXT_NAMES


def _readable(parameters: list[inspect.Parameter]) -> str:
    parts = []
    for p in parameters:
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}")
            continue
        kind = "" if p.annotation is p.empty else f": {_annotation(p.annotation)}"
        default = "" if p.default is p.empty else f" = {p.default!r}"
        parts.append(f"{p.name}{kind}{default}")
    return f"({', '.join(parts)})"


# What a person types for these is a text, whatever it looks like as JSON: 1.10 of a Decimal keeps its digits.
_TYPED = ("str", "Decimal", "UUID", "Path", "date", "datetime")
_TEXTS = dict.fromkeys(_TYPED, False) | {
    shown.format(one): True
    for one in _TYPED
    for shown in ("{} | None", "None | {}", "Optional[{}]", "typing.Optional[{}]")
}


def _kind(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _annotation(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
