"""What of a job is kept as JSON: arguments and steps strictly, results as far as they go, texts safely.

Strict values come back exactly as they went in (tuples as lists), so whatever cannot is refused with its
path. A result must never undo work that succeeded, so `encode_result` keeps what it can and says the rest.
All JSON text is ASCII: its length is its size, and no database stumbles over NUL or a lone surrogate.
"""

from __future__ import annotations

import dataclasses
import json
from base64 import b64encode
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from jobtrail.errors import InvalidArguments, TooLarge
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

ARGUMENTS_LIMIT = 262_144
PASS_A_FILE = Message("job.advice-file")
ASK_FOR_LESS = Message("job.advice-less")
RESULT_LIMIT = 1_048_576
STEP_LIMIT = 16_777_216
MAX_DEPTH = 64
# json.loads refuses longer numbers (sys.get_int_max_str_digits), so they could not be read back
MAX_INT_BITS = 14_000
_PATH_SHOWN = 200

# A place inside the value: None is the top, else (place of the parent, key or index). Rendered only in errors.
_Place = tuple[Any, Any] | None

_SCALARS = frozenset({str, int, float, bool, type(None)})
_SMALL_INT = 1 << 1024
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), check_circular=False).encode
_encode_sorted = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, separators=(",", ":"), check_circular=False, sort_keys=True
).encode


# -- strict ------------------------------------------------------------------------------------------


def encode_arguments(args: Mapping[str, Any], limit_bytes: int = ARGUMENTS_LIMIT) -> str:
    """The arguments of a job as compact ASCII JSON.

    Accepted: dict with str keys, list, tuple (comes back as a list), str, int, finite float, bool, None.

    Raises: InvalidArguments naming the path (``$.rows[3].price``) and the type of what is no JSON value;
    TooLarge with the actual and the allowed size in bytes.
    """
    if type(args) is not dict:
        args = dict(args)
    for key, value in args.items():
        if type(key) is not str or type(value) not in _SCALARS:
            break
    else:
        try:
            text = _encode(args)
        except ValueError:  # NaN, infinity or a number of thousands of digits: the walk below finds the place
            pass
        else:
            return text if len(text) <= limit_bytes else _refuse_size(Message("job.arguments"), len(text), limit_bytes)
    return _encode_strictly(args, Message("job.arguments"), limit_bytes)


def encode_step(value: Any, limit_bytes: int = STEP_LIMIT) -> str:
    """The result of a step as JSON, as strict as arguments: it has to be given back to the body.

    Raises: InvalidArguments with the path of what is no JSON value; TooLarge.
    """
    return _encode_strictly(value, Message("job.a-steps-result"), limit_bytes)


def canonical(value: Any) -> str:
    """Equal values give equal texts: JSON with sorted keys.

    Raises: InvalidArguments with the path of what is no JSON value.
    """
    _Check(None).check(value, None, 0)
    return _encode_sorted(value)


def digest(text: str) -> str:
    """SHA-256 of the text, 64 hex digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def decode(text: str | None) -> Any:
    """The value of a stored JSON text; no text is None.

    Raises: ValueError where the text is no JSON.
    """
    return None if text is None else json.loads(text)


def _encode_strictly(value: Any, what: Message, limit: int, advice: Message = PASS_A_FILE) -> str:
    try:
        _Check(4 * limit).check(value, None, 0)
    except _TooMuchError:
        raise TooLarge(Message("job.far-too-large", what=what, limit=size(limit), advice=advice)) from None
    text = _encode(value)
    return text if len(text) <= limit else _refuse_size(what, len(text), limit, advice)


def _refuse_size(what: Message, actual: int, limit: int, advice: Message = PASS_A_FILE) -> str:
    message = Message(
        "job.too-large", what=what, size=size(actual), bytes=actual, limit=size(limit), allowed=limit, advice=advice
    )
    raise TooLarge(message)


class _TooMuchError(Exception):
    """The walk has seen more than could ever fit."""


class _Check:
    """The walk over a strict value; ``left`` bounds it, because a few shared lists can stand for 2**64 values."""

    __slots__ = ("left", "within")

    def __init__(self, left: int | None) -> None:
        self.left = float("inf") if left is None else left
        self.within: set[int] = set()

    def check(self, value: Any, place: _Place, depth: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooMuchError
        kind = type(value)
        if kind is str:
            self.left -= len(value) >> 6
        elif kind is dict or kind is list or kind is tuple:
            self.enter(value, place, depth)
        elif kind is float or kind is int:
            _check_number(value, place)
        elif kind is not bool and value is not None:
            self.check_subclass(value, place, depth)

    def enter(self, value: Any, place: _Place, depth: int) -> None:
        if id(value) in self.within:
            _refuse(place, Message("job.value-contains-itself"))
        if depth >= MAX_DEPTH:
            _refuse(place, Message("job.value-too-deep", most=MAX_DEPTH))
        self.within.add(id(value))
        if isinstance(value, dict):
            self.check_dict(value, place, depth + 1)
        else:
            for index, member in enumerate(value):
                self.check(member, (place, index), depth + 1)
        self.within.discard(id(value))

    def check_dict(self, value: dict[Any, Any], place: _Place, depth: int) -> None:
        for key, member in value.items():
            if type(key) is not str:
                _refuse(place, Message("job.key-not-text", type=type(key).__name__))
            self.left -= len(key) >> 6
            self.check(member, (place, key), depth)

    def check_subclass(self, value: Any, place: _Place, depth: int) -> None:
        """Named tuples, ordered dicts and the like pass as what they are; an enum would lose its class."""
        if isinstance(value, Enum) or not isinstance(value, (str, int, float, dict, list, tuple)):
            _refuse(place, Message("job.value-not-json", type=type(value).__name__, hint=_hint(value)))
        if isinstance(value, (dict, list, tuple)):
            self.enter(value, place, depth)
        elif not isinstance(value, str):
            _check_number(value, place)


def _check_number(value: float, place: _Place) -> None:
    if isinstance(value, float):
        if not isfinite(value):
            _refuse(place, Message("job.float-not-json", value=repr(value)))
    elif not -_SMALL_INT < value < _SMALL_INT and value.bit_length() > MAX_INT_BITS:
        _refuse(place, Message("job.int-too-long"))


def _refuse(place: _Place, problem: Message) -> None:
    path = render(place)
    raise InvalidArguments(Message("job.at-path", path=path, problem=problem), path)


def render(place: _Place) -> str:
    """``$.rows[3].price``; a long path keeps its end."""
    parts: list[str] = []
    while place is not None:
        place, key = place
        if isinstance(key, int):
            parts.append(f"[{key}]")
        else:
            name = key[:_PATH_SHOWN]
            parts.append(f".{name}" if name.isidentifier() else f"[{json.dumps(name)}]")
    path = "".join(reversed(parts))
    return f"${path}" if len(path) <= _PATH_SHOWN else f"$…{path[-_PATH_SHOWN:]}"


_HINTS: tuple[tuple[tuple[type, ...], Message], ...] = (
    ((datetime, date, time), Message("job.hint", call=".isoformat()")),
    ((Enum,), Message("job.hint", call=".value")),
    ((Decimal, UUID, PurePath), Message("job.hint", call="str()")),
    ((timedelta,), Message("job.hint", call=".total_seconds()")),
    ((bytes, bytearray, memoryview), Message("job.hint", call=".decode() or base64")),
    ((set, frozenset), Message("job.hint", call="sorted() or list()")),
)


def _hint(value: Any) -> Message | str:
    for kinds, hint in _HINTS:
        if isinstance(value, kinds):
            return hint
    if callable(getattr(type(value), "model_dump", None)):
        return Message("job.hint", call='.model_dump(mode="json")')
    if dataclasses.is_dataclass(value):
        return Message("job.hint", call="dataclasses.asdict()")
    if callable(getattr(type(value), "tolist", None)):
        return Message("job.hint", call=".tolist()")
    return ""


# -- as far as it goes -------------------------------------------------------------------------------


def encode_result(value: Any, limit_bytes: int = RESULT_LIMIT) -> tuple[str | None, str | None]:
    """The result of a job: its JSON text, and a note about what could not be kept. Never raises.

    No result (None) has no text. Date and time become ISO text; Decimal, UUID and path become text; enum,
    dataclass, pydantic model and numpy values become what they hold; keys become text. With a note: NaN and
    infinity become null, a set becomes a list, bytes become text (UTF-8, else base64), and what is no value,
    contains itself or lies deeper than 64 levels becomes null. Above the limit nothing is kept.
    """
    if value is None:
        return None, None
    try:
        return _encode_leniently(value, limit_bytes)
    except _TooMuchError:
        return None, Message("job.result-too-large", limit=size(limit_bytes)).stored
    except BaseException as error:
        return None, Message("job.result-not-storable", type=type(error).__name__).stored


def _encode_leniently(value: Any, limit: int) -> tuple[str | None, str | None]:
    copy = _Copy(4 * limit)
    kind = type(value)
    if kind is not str and kind is not int:
        value = copy.copy(value, None, 0)
    elif kind is int and value.bit_length() > MAX_INT_BITS:
        value = copy.lost(None, Message("job.lost-int"))
    text = _encode(value)
    if len(text) > limit:
        return None, Message("job.result-of-size-too-large", size=size(len(text)), limit=size(limit)).stored
    return text, copy.note()


class _Copy:
    """Builds a JSON value beside the original and remembers where it had to change it."""

    __slots__ = ("left", "path", "places", "what", "within")

    def __init__(self, left: int) -> None:
        self.left = left
        self.within: set[int] = set()
        self.path = ""
        self.what: Message | str = ""
        self.places = 0

    def note(self) -> str | None:
        if not self.places:
            return None
        more = Message("job.and-more", count=self.places - 1) if self.places > 1 else ""
        return Message("job.result-not-json", more=more, path=self.path, what=self.what).stored

    def lost(self, place: _Place, what: Message | str) -> Any:
        """Remember a place; None stands there unless the caller has better."""
        if not self.places:
            self.path, self.what = render(place), what
        self.places += 1
        return None

    def copy(self, value: Any, place: _Place, depth: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise _TooMuchError
        kind = type(value)
        if kind is str:
            self.left -= len(value) >> 6
            return value
        if value is None or kind is bool or (kind is int and -_SMALL_INT < value < _SMALL_INT):
            return value
        if kind is float and isfinite(value):
            return value
        try:
            return self.unfold(value, place, depth)
        except _TooMuchError:
            raise
        except BaseException:
            return self.lost(place, kind.__name__)

    def unfold(self, value: Any, place: _Place, depth: int) -> Any:
        """Containers and foreign objects."""
        simple = _plain(value)
        if simple is not value:
            return self.nested(value, simple, place, depth)
        if isinstance(value, float):
            return self.lost(place, repr(float(value)))
        if isinstance(value, int):
            return value if value.bit_length() <= MAX_INT_BITS else self.lost(place, Message("job.lost-int"))
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            self.left -= len(value) >> 6
            self.lost(place, type(value).__name__)
            return _text_of_bytes(bytes(value))
        if isinstance(value, (set, frozenset)):
            self.lost(place, type(value).__name__)
            return self.nested(value, _ordered(value), place, depth)
        if isinstance(value, (Mapping, list, tuple)):
            return self.nested(value, value, place, depth)
        return self.lost(place, type(value).__name__)

    def nested(self, original: Any, value: Any, place: _Place, depth: int) -> Any:
        if id(original) in self.within:
            return self.lost(place, Message("job.lost-cycle"))
        if depth >= MAX_DEPTH:
            return self.lost(place, Message("job.lost-depth", most=MAX_DEPTH))
        self.within.add(id(original))
        try:
            if isinstance(value, Mapping):
                return self.copy_mapping(value, place, depth + 1)
            if isinstance(value, (list, tuple)):
                return [self.copy(member, (place, index), depth + 1) for index, member in enumerate(value)]
            return self.copy(value, place, depth + 1)
        finally:
            self.within.discard(id(original))

    def copy_mapping(self, value: Mapping[Any, Any], place: _Place, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, member in value.items():
            name = key if type(key) is str else _key_text(key)
            if name in found:
                self.lost((place, name), Message("job.lost-key"))
            self.left -= len(name) >> 6
            found[name] = self.copy(member, (place, name), depth)
        return found


def _plain(value: Any) -> Any:
    """What a foreign object holds, or the object itself where nothing is known about it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID, PurePath, timedelta)):
        return str(value)
    if isinstance(value, (str, int, float, list, tuple, Mapping, type)):
        return _number(value)
    if callable(getattr(type(value), "model_dump", None)):
        return value.model_dump()
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(getattr(type(value), "tolist", None)) and not isinstance(value, memoryview):
        return value.tolist()
    if callable(getattr(type(value), "item", None)):
        return value.item()
    return value


def _number(value: Any) -> Any:
    """A finite number of a subclass (such as numpy.float64) as the number it is."""
    if isinstance(value, float) and isfinite(value):
        return float.__float__(value)
    return value


def _key_text(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, Enum):
        return _key_text(key.value)
    if isinstance(key, (datetime, date, time)):
        return key.isoformat()
    return str.__str__(str(key))


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return b64encode(value).decode()


def _ordered(members: Iterable[Any]) -> list[Any]:
    listed = list(members)
    try:
        return sorted(listed)
    except TypeError:
        return listed


# -- texts -------------------------------------------------------------------------------------------


def size(count: int) -> str:
    """A number of bytes as people read it: ``300 bytes``, ``256 kB``, ``5.2 MB``."""
    if count < 1024:
        return f"{count} bytes"
    for unit, step in (("kB", 1024), ("MB", 1024**2), ("GB", 1024**3)):
        if count < step * 1024 or unit == "GB":
            return f"{count / step:.1f}".removesuffix(".0") + f" {unit}"
    raise AssertionError


def safe_text(text: str, limit: int) -> str:
    r"""A text that every database stores, of at most ``limit`` bytes of UTF-8.

    NUL and lone surrogates are spelled out (``\x00``, ``\udc80``). A longer text keeps its beginning and its
    end, with ``… n characters left out …`` between them; below 100 bytes only its beginning.
    """
    if len(text) <= limit and text.isascii() and "\x00" not in text:
        return text
    return _cut(text, max(limit, 0))


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        whole = _spell(text)
        if len(whole) <= limit:
            return whole.decode()
    room = limit - len(_left_out(len(text)).encode())
    if limit < 100 or room <= 0:
        return _spell(text[: _fitting(text[:limit], limit)]).decode()
    half = room // 2
    head = _fitting(text[:half], half)
    tail = _fitting(text[-half:][::-1], half)
    end = _spell(text[len(text) - tail :]).decode()
    return _spell(text[:head]).decode() + _left_out(len(text) - head - tail) + end


def _left_out(count: int) -> str:
    return f"\n… {count:,} characters left out …\n"


def _fitting(text: str, room: int) -> int:
    """How many characters of the beginning fit into ``room`` bytes once they are spelled out."""
    low, high = 0, len(text)
    if len(_spell(text)) <= room:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if len(_spell(text[:middle])) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _spell(text: str) -> bytes:
    if "\x00" in text:
        text = text.replace("\x00", "\\x00")
    return text.encode("utf-8", "backslashreplace")
