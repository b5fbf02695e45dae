"""An exception as it is kept: type, message, traceback and fingerprint, whatever the exception does.

Users' exceptions raise in ``__str__``, are 50 MB long, loop through their causes or hold a thousand others.
Each is asked for its text once, everything is bounded before it is put together, and no local variable is
ever looked at.
"""

from __future__ import annotations

import json
import linecache
import re
from asyncio import CancelledError
from dataclasses import asdict, dataclass
from hashlib import blake2b
from traceback import clear_frames
from typing import TYPE_CHECKING, Any

from jobtrail.messages import Message, render

from .json_value import safe_text
from .masking import mask_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from types import CodeType, TracebackType

ERROR_LIMIT = 65_536
MEMBERS_SHOWN = 10
_CHAIN_SHOWN = 10
_EXCEPTIONS_SHOWN = 60
_FRAMES_FIRST, _FRAMES_LAST = 10, 30
_INNER_MESSAGE = 2_000
_NOTES_SHOWN = 10
_DEPTH_SHOWN = 4
# what calls a body on the way from us to it
_MACHINERY = (
    "asyncio",
    "concurrent",
    "threading",
    "contextvars",
    "contextlib",
    "functools",
    "multiprocessing",
    "celery",
)

Frame = tuple[str, str, int, str]
"""module, file, line, function"""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed, in texts that every database stores.

    ``type`` is the class with its module (none for built-ins), ``message`` what the exception says,
    ``fingerprint`` 16 hex digits that are equal for errors of one cause, ``origin`` the last place in the
    user's code as ``module:function``, or empty. ``sentence`` is the stored form of a message of the catalogue,
    where the exception carries one, else empty.
    """

    type: str
    message: str
    traceback: str
    fingerprint: str
    origin: str
    sentence: str = ""

    def to_json(self) -> str:
        """One JSON text."""
        values = asdict(self)
        if not self.sentence:
            del values["sentence"]
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Failure:
        """What `to_json` wrote, its message in the reader's language where it is one of the catalogue.

        A text of another shape becomes the message, so that it can still be shown.
        """
        try:
            values = {name: str(value) for name, value in json.loads(text).items() if name in cls.__slots__}
            if values.get("sentence"):
                values["message"] = _cleaned(render(values["sentence"]))
            return cls(**dict.fromkeys(cls.__slots__, "") | values)
        except (ValueError, AttributeError):
            return cls("", text, "", "", "")


def describe(error: BaseException, *, limit: int = ERROR_LIMIT, skip_modules: Sequence[str] = ("jobtrail",)) -> Failure:
    """The failure that this exception is. Never raises.

    ``limit`` bounds message (a quarter of it) and traceback (the rest) in bytes of UTF-8. Frames of
    ``skip_modules``, and of the machinery that carries a call from there to the user's code, are left out
    where others remain. Secrets in its texts become ``***``.
    """
    try:
        return _describe(error, limit, tuple(skip_modules))
    except BaseException as trouble:
        name = type(error).__name__
        message = f"<unprintable {name}> (describing it raised {type(trouble).__name__})"
        return Failure(name, message, "", fingerprint(name, "", ""), "")


def forget_frames(error: BaseException) -> None:
    """Release the variables of the frames that an error passed through, those of its causes included.

    An error refers to its frames and a frame to its variables, the error often among them. Such a circle would keep all
    that a body had loaded until the garbage collector comes by.
    """
    left, seen = [error], set()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        clear_frames(one.__traceback__)
        one.__traceback__ = None
        left += [each for each in (one.__cause__, one.__context__) if each is not None]
        if isinstance(one, BaseExceptionGroup):
            left += one.exceptions


def _describe(error: BaseException, limit: int, skip: tuple[str, ...]) -> Failure:
    name = type_name(error)
    said = _message_of(error, _text_of(error))
    message = _cleaned(str(said), limit // 4)
    frames = _users_frames(error.__traceback__, skip)
    last = _last_of(frames, skip)
    origin = f"{last[0]}:{last[3]}" if last else ""
    text = _Report(error, message, frames, skip).text()
    traceback = safe_text(mask_text(text), limit - limit // 4)
    sentence = _stored(said if isinstance(said, Message) else error.args[0] if error.args else None, limit // 4)
    return Failure(name, message, traceback, fingerprint(name, message, origin), origin, sentence)


def _cleaned(text: str, limit: int = ERROR_LIMIT) -> str:
    return safe_text(mask_text(text), limit)


def _stored(message: Any, limit: int) -> str:
    """The stored form of a message of the catalogue; one that would have to be cut is not kept."""
    stored = mask_text(message.stored) if isinstance(message, Message) else ""
    return stored if stored == safe_text(stored, limit) else ""


# -- what it says ------------------------------------------------------------------------------------


def type_name(error: BaseException) -> str:
    """The class as Python's own traceback names it."""
    kind = type(error)
    module, name = kind.__module__, kind.__qualname__
    if not isinstance(module, str) or module in {"builtins", "__main__"}:
        return safe_text(name, 300)
    return safe_text(f"{module}.{name}", 300)


def _text_of(error: BaseException) -> str:
    """Asked once: it may be slow, huge, or raise."""
    try:
        return str.__str__(str(error))
    except BaseException:
        return f"<unprintable {type(error).__name__}>"


def _message_of(error: BaseException, text: str) -> Message | str:
    if isinstance(error, SystemExit):
        code = error.code
        return Message("job.called-exit", status=0 if code is None else code if isinstance(code, int) else text)
    if isinstance(error, CancelledError):
        return Message("job.raised-cancelled")
    if isinstance(error, (Exception, BaseExceptionGroup)):
        return text
    name = type(error).__name__
    return Message("job.raised-and", type=name, error=text) if text else Message("job.raised", type=name)


# -- where it was ------------------------------------------------------------------------------------


def _users_frames(trace: TracebackType | None, skip: tuple[str, ...]) -> list[Frame]:
    """Outermost first; ours are left out where others remain."""
    frames = list(_frames(trace))
    outside = [frame for frame in frames if not _within(frame[0], skip)]
    if len(outside) == len(frames):
        return frames
    first = next((i for i, frame in enumerate(outside) if not _within(frame[0], _MACHINERY)), 0)
    return outside[first:] or frames


def _frames(trace: TracebackType | None) -> Iterator[Frame]:
    while trace is not None:
        frame = trace.tb_frame
        code: CodeType = frame.f_code
        yield (str(frame.f_globals.get("__name__", "?")), code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return module.partition(".")[0] in packages or module.startswith(tuple(f"{name}." for name in packages))


def _last_of(frames: list[Frame], skip: tuple[str, ...]) -> Frame | None:
    """The last place in the user's own code: libraries under site-packages and Python's own do not count."""
    own = (f for f in reversed(frames) if not _within(f[0], skip) and not _is_library(f[1]))
    return next(own, frames[-1] if frames else None)


def _is_library(file: str) -> bool:
    return "site-packages" in file or "dist-packages" in file or file.startswith(("<frozen", _STDLIB))


_STDLIB = json.__file__.rsplit("json", 1)[0]


# -- the whole story ---------------------------------------------------------------------------------


class _Report:
    """Lays out an exception with its causes and members, each once, all of it bounded."""

    def __init__(self, error: BaseException, message: str, frames: list[Frame], skip: tuple[str, ...]) -> None:
        self.error = error
        self.known = (message, frames)
        self.skip = skip
        self.seen: set[int] = set()

    def text(self) -> str:
        return "\n".join(self.chain(self.error, 0))

    def chain(self, error: BaseException, depth: int) -> list[str]:
        """The exception after those that led to it, the first cause first."""
        links = self.links(error)
        lines: list[str] = []
        for link, why in reversed(links[:_CHAIN_SHOWN]):
            lines += self.one(link, depth)
            lines += ["", why, ""] if why else []
        if len(links) > _CHAIN_SHOWN:
            return ["… earlier errors of this chain are left out …", "", *lines]
        return lines

    def links(self, error: BaseException) -> list[tuple[BaseException, str]]:
        """The exception and its causes, the last first, each with the words that lead on from it."""
        found = [(error, "")]
        self.seen.add(id(error))
        while len(found) <= _CHAIN_SHOWN:
            last = found[-1][0]
            cause, why = last.__cause__, "The above exception was the direct cause of the following exception:"
            if cause is None and not last.__suppress_context__:
                cause, why = last.__context__, "During handling of the above exception, another exception occurred:"
            if cause is None or id(cause) in self.seen:
                break
            self.seen.add(id(cause))
            found.append((cause, why))
        return found

    def one(self, error: BaseException, depth: int) -> list[str]:
        if error is self.error:
            message, frames = self.known
        else:
            message = safe_text(mask_text(_text_of(error)), _INNER_MESSAGE)
            frames = _users_frames(error.__traceback__, self.skip)
        lines = ["Traceback (most recent call last):", *_layout(frames)] if frames else []
        lines.append(f"{type_name(error)}: {message}" if message else type_name(error))
        lines += _notes_of(error)
        if isinstance(error, BaseExceptionGroup):
            lines += self.members(error, depth)
        return lines

    def members(self, group: BaseExceptionGroup[Any], depth: int) -> list[str]:
        members = group.exceptions
        lines: list[str] = []
        shown = 0
        for number, member in enumerate(members[:MEMBERS_SHOWN], 1):
            if depth >= _DEPTH_SHOWN or len(self.seen) >= _EXCEPTIONS_SHOWN or id(member) in self.seen:
                break
            lines.append(f"  [{number}]")
            lines += [f"    {line}" for part in self.chain(member, depth + 1) for line in part.splitlines()]
            shown = number
        if shown < len(members):
            lines.append(f"  … and {len(members) - shown} more")
        return lines


def _layout(frames: list[Frame]) -> list[str]:
    shown = list(frames)
    left_out = len(frames) - _FRAMES_FIRST - _FRAMES_LAST
    if left_out > 0:
        shown = frames[:_FRAMES_FIRST] + frames[-_FRAMES_LAST:]
    lines: list[str] = []
    for index, (_, file, number, function) in enumerate(shown):
        if left_out > 0 and index == _FRAMES_FIRST:
            lines.append(f"  … {left_out} frames left out …")
        lines.append(f'  File "{file}", line {number}, in {function}')
        source = linecache.getline(file, number).strip()
        if source:
            lines.append(f"    {source[:500]}")
    return lines


def _notes_of(error: BaseException) -> list[str]:
    notes = getattr(error, "__notes__", None)
    if not isinstance(notes, list):
        return []
    return [safe_text(mask_text(note), 1_000) for note in notes[:_NOTES_SHOWN] if isinstance(note, str)]


# -- which errors are one ----------------------------------------------------------------------------

_VARYING = re.compile(
    r"""(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)
    |(?P<quoted>"[^"\n]*"|(?<![^\W_])'[^'\n]*'|`[^`\n]*`)
    |(?P<path>(?:[A-Za-z]:)?[\\/][^\s'",;:()]+|\b\w+://\S+)
    |(?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{8,}\b)
    |(?P<number>[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?)""",
    re.VERBOSE,
)


def normalise(message: str) -> str:
    """The message with what varies from one occurrence to the next (ids, numbers, quoted texts, paths) left out."""
    return _VARYING.sub(lambda found: f"<{found.lastgroup}>", message[:2_000])


def fingerprint(name: str, message: str, origin: str) -> str:
    """16 hex digits that are equal for errors of one cause."""
    text = "\n".join((name, normalise(message), origin))
    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


# -- what people say of an error ---------------------------------------------------------------------

ACKNOWLEDGE, MUTE, MEND, REOPEN = "acknowledge", "mute", "mend", "reopen"
# The action and its name in the audit.
HANDLINGS = {ACKNOWLEDGE: "error_acknowledged", MUTE: "error_muted", MEND: "error_mended", REOPEN: "error_reopened"}


def error_state(action: str | None, now: datetime, *, until: datetime | None, returned: bool) -> str:
    """How an error stands: open, acknowledged, muted, mended, or returned.

    Args:
        action: What was last said of it; None for nothing.
        now: The time.
        until: The end of a mute.
        returned: Whether it was mended and a run that began afterwards has failed with it.
    """
    if action == ACKNOWLEDGE:
        return "acknowledged"
    if action == MUTE and until is not None and now < until:
        return "muted"
    if action == MEND:
        return "returned" if returned else "mended"
    return "open"


# Such errors want somebody.
UNHANDLED = ("open", "returned")
