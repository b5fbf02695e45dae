"""One sentence as a code with parameters, and the compact text that the database keeps of it."""

from __future__ import annotations

import json
import re
from datetime import datetime
from enum import Enum
from typing import Any

from .catalogue import lookup
from .language import current_language

Value = Any  # str, int, float, None, Message, or a list of these: what `_plain` returns

_GROUPS = {"en": ",", "ru": "\N{NO-BREAK SPACE}"}
_MOST = 2**31 - 1  # the largest number that Fluent takes here
_STORED = re.compile(r"@([a-z]+\.[a-z0-9-]+)(?: (\{.*\}))?", re.DOTALL)


class Message:
    """A sentence of the catalogue: its code and its parameters.

    Args:
        code: Room and name, such as ``"config.unknown-setting"``. The text is ``unknown-setting`` in ``config.ftl``.
        params: What the text names. Numbers choose the plural form. A date-time is shown as given, with its zone.
            A list is shown with commas. Another message, or an error that carries one, is shown in the same language.

    Example:
        >>> str(Message("config.unknown-setting", name="slotz", known=["slots"]))
        "There is no setting 'slotz'. The settings are: slots."

    """

    __slots__ = ("code", "params")

    code: str
    params: dict[str, Value]

    def __init__(self, code: str, /, **params: Any) -> None:
        self.code = code
        self.params = {name: _plain(value) for name, value in params.items()}

    def __str__(self) -> str:
        """The text in English, for Python and for logs."""
        return render(self, "en")

    def __repr__(self) -> str:
        """Code and parameters, as they are written in the source."""
        given = "".join(f", {name}={value!r}" for name, value in self.params.items())
        return f"Message({self.code!r}{given})"

    def __eq__(self, other: object) -> bool:
        """Equal code and equal parameters."""
        return isinstance(other, Message) and (self.code, self.params) == (other.code, other.params)

    def __hash__(self) -> int:
        """By the stored form."""
        return hash(self.stored)

    def __reduce__(self) -> tuple[Any, ...]:
        """A message crosses processes inside errors."""
        return _restored, (self.code, self.params)

    @property
    def stored(self) -> str:
        """The form that a text column keeps: ``@recovery.worker-silent {"seconds":17}``. `read` is the inverse."""
        if not self.params:
            return f"@{self.code}"
        return f"@{self.code} {json.dumps(self.params, ensure_ascii=False, separators=(',', ':'), default=_nested)}"

    def to_json(self) -> dict[str, Any]:
        """``{"code": …, "params": {…}}``, as the API returns it; nested messages have the same form."""
        params = {
            name: [_json(one) for one in value] if isinstance(value, list) else _json(value)
            for name, value in self.params.items()
        }
        return {"code": self.code, "params": params}


def read(text: str) -> Message | str:
    """The message that a stored text holds. People's own words, and texts of before, are returned as they are."""
    if not text.startswith("@"):
        return text
    found = _STORED.fullmatch(text)
    if found is None:
        return text
    try:
        params = json.loads(found[2]) if found[2] else {}
    except ValueError:
        return text
    return _restored(found[1], params)


def render(value: Message | BaseException | str, language: str | None = None) -> str:
    """The text for people. Never raises: a code that the catalogue does not have is shown with its parameters.

    Args:
        value: A message; an error (its message, or what it says); a text as the database keeps it. Other words are
            returned as they are.
        language: ``"en"`` or ``"ru"``. By default the language of whoever is being answered, else English.

    """
    if isinstance(value, BaseException):
        value = value.args[0] if value.args and isinstance(value.args[0], Message) else str(value)
    if isinstance(value, str):
        value = read(value)
    if isinstance(value, str):
        return value
    wanted = language or current_language()
    for one in dict.fromkeys((wanted, "en")):
        text = lookup(value.code, _values(value.params, one), one)
        if text is not None:
            return text
    shown = ", ".join(f"{name}={_shown(one, 'en')}" for name, one in value.params.items())
    return f"{value.code} ({shown})" if shown else value.code


def tr(code: str, /, **params: Any) -> str:
    """The text of a code in the language of whoever is being answered."""
    return render(Message(code, **params))


def stored(value: Message | BaseException | str) -> str:
    """The form of a message, an error or somebody's own words that a column of type `Sentence` keeps."""
    if isinstance(value, BaseException):
        value = value.args[0] if value.args and isinstance(value.args[0], Message) else str(value)
    return value.stored if isinstance(value, Message) else value


def _values(params: dict[str, Value], language: str) -> dict[str, str | int]:
    """Parameters as Fluent takes them; each whole number is given once more as ``$name-grouped`` (1,024)."""
    values: dict[str, str | int] = {}
    for name, value in params.items():
        values[name] = _shown(value, language)
        grouped = f"{value:,}".replace(",", _GROUPS[language]) if isinstance(value, int) else values[name]
        values[f"{name}-grouped"] = grouped
    return values


def _shown(value: Value, language: str) -> str | int:
    if isinstance(value, int):
        return value if -_MOST <= value <= _MOST else str(value)
    if isinstance(value, float):
        return f"{value:.6g}".replace(".", "," if language == "ru" else ".")
    if isinstance(value, list):
        return ", ".join(str(_shown(one, language)) for one in value) or "–"
    return "" if value is None else render(value, language)


def _restored(code: str, params: dict[str, Value]) -> Message:
    message = Message(code)
    message.params = params
    return message


def _nested(value: Any) -> str:
    return value.stored if isinstance(value, Message) else str(value)


def _json(value: Any) -> Any:
    return value.to_json() if isinstance(value, Message) else value


def _plain(value: Any) -> Value:
    """A parameter as the catalogue and the database take it."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, (str, Message)) or type(value) in {int, float}:
        return value
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} {value.tzname() or ''}".rstrip()
    if isinstance(value, BaseException):
        return value.args[0] if value.args and isinstance(value.args[0], Message) else str(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    return str(value)
