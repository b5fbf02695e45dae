"""The words of a filter, read without a database; `search` answers them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from jobtrail.errors import InvalidFilter
from jobtrail.job.model import ACTIVE, FINAL, Outcome, Status
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

IN_SQL = ("task", "source", "status", "unit", "kind", "queue", "period", "worker", "label", "id", "outcome", "rerun_of", "group", "celery")
TIMES = ("after", "before")
ENDED = "ended"
LOOKED_AT = ("error", "file")
WORDS = (*IN_SQL, *TIMES, ENDED, *LOOKED_AT)
ARGUMENT = "args."
TEXT = "text"
TEXTS = ("args", "error", "note", "task", "source", "period", "file", "labels", "reason", "context")

NAMES = ("task", "source", "kind", "queue", "label")
LONGEST = 4000  # characters of a filter
MOST_WORDS = 200

_TOKEN = re.compile(
    r'\s*(?P<minus>-?)(?:(?P<key>[A-Za-z_][^\s:"]*):)?(?:"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<plain>[^\s"]+))(?=\s|$)'
)
_NO_VALUE = re.compile(r"[A-Za-z_][^\s:]*:")
_AGO = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
HASH = re.compile(r"[0-9a-f]{32}")
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
IDS = ("id", "worker", "rerun_of", "group")


@dataclass(frozen=True, slots=True)
class Word:
    """One value of a key; ``prefix`` is set where it ended in a star."""

    value: str
    prefix: bool = False

    def matches(self, text: str) -> bool:
        """Is the text this value, or does it begin with it?"""
        return text.startswith(self.value) if self.prefix else text == self.value


@dataclass(frozen=True, slots=True)
class Term:
    """All values of one key with one sign: any of them fits, or none may."""

    key: str
    words: tuple[Word, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that was read; all of its terms must hold."""

    terms: tuple[Term, ...] = ()

    @property
    def narrow(self) -> tuple[Term, ...]:
        """The terms that the database answers."""
        return tuple(term for term in self.terms if not _looked_at(term))

    @property
    def wide(self) -> tuple[Term, ...]:
        """The terms for which each job is looked at."""
        return tuple(term for term in self.terms if _looked_at(term))


def _looked_at(term: Term) -> bool:
    if term.key == "error":
        return not all(_FINGERPRINT.fullmatch(word.value) for word in term.words)
    return term.key in LOOKED_AT or term.key == TEXT or term.key.startswith(ARGUMENT)


def parse(text: str) -> Filter:
    """Read a filter.

    Raises: InvalidFilter, naming the word that is wrong and the words that there are.
    """
    if len(text) > LONGEST:
        raise InvalidFilter(Message("store.filter-too-long", most=LONGEST, length=len(text)))
    grouped: dict[tuple[str, bool], list[Word]] = {}
    free = 0
    for number, (key, value, quoted, negated) in enumerate(_tokens(text)):
        if number == MOST_WORDS:
            raise InvalidFilter(Message("store.filter-too-many-words", most=MOST_WORDS))
        if key is None:
            # Several free texts must all be there, so each is a term of its own.
            grouped[f"{TEXT} {free}", negated] = [Word(value.lower())]
            free += 1
            continue
        grouped.setdefault((key, negated), []).extend(_words(key, value, quoted=quoted))
    return Filter(tuple(Term(key.split(" ")[0], tuple(words), negated) for (key, negated), words in grouped.items()))


def _tokens(text: str) -> Iterator[tuple[str | None, str, bool, bool]]:
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise InvalidFilter(Message("store.filter-unreadable", rest=text[place:].strip()[:40]))
        place = found.end()
        key, quoted = found["key"], found["quoted"]
        if key is None and quoted is None and _NO_VALUE.fullmatch(found["plain"]):
            raise InvalidFilter(Message("store.filter-no-value", key=found["plain"]))
        value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else found["plain"]
        _check_key(key)
        yield key, value, quoted is not None, bool(found["minus"])


def _check_key(key: str | None) -> None:
    if key is None or key in WORDS or (key.startswith(ARGUMENT) and len(key) > len(ARGUMENT)):
        return
    raise InvalidFilter(Message("store.filter-unknown-key", key=key, known=[f"{word}:" for word in sorted(WORDS)]))


def _words(key: str, value: str, *, quoted: bool) -> list[Word]:
    if key in TIMES:
        _check_time(key, value)
        return [Word(value)]
    if key == ENDED:
        for edge in value.split("/", 1):
            _check_time(key, edge)
        return [Word(value)]
    if key == "status":
        return [Word(state) for state in _states(value)]
    if key == "outcome" and value not in {*Outcome, "none"}:
        raise InvalidFilter(Message("store.filter-no-outcome", value=value))
    star = value.endswith("*") and not quoted
    body = value[:-1] if star else value
    if "*" in body and not quoted:
        raise InvalidFilter(Message("store.filter-star", key=key, value=value))
    if key in IN_SQL and not (body.isprintable() and body.isascii()) and ("\0" in body or not _is_unicode(body)):
        raise InvalidFilter(Message("store.filter-bad-character", key=key))
    if key in NAMES:
        body = unicodedata.normalize("NFC", body)  # as `job.task.name_option` stores them
    return [Word(body.lower() if key == "error" or key in IDS else body, star)]


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _states(value: str) -> list[str]:
    groups = {"active": ACTIVE, "final": FINAL}
    if value in groups:
        return sorted(groups[value])
    if value in set(Status):
        return [value]
    raise InvalidFilter(Message("store.filter-no-status", value=value, known=list(Status)))


def _check_time(key: str, value: str) -> None:
    if moment(value, datetime(2020, 1, 1, tzinfo=UTC)) is None:
        raise InvalidFilter(Message("store.filter-no-time", key=key, value=value))


def span(value: str, now: datetime) -> tuple[datetime, datetime]:
    """The moments that ``2d`` or ``START/END`` mean: since when, and until when, by default for ever."""
    since, _, until = value.partition("/")
    return moment(since, now) or now, (moment(until, now) if until else None) or datetime.max.replace(tzinfo=UTC)


def moment(value: str, now: datetime) -> datetime | None:
    """The moment that ``2d`` (ago), a date or a time means; None where it means none."""
    ago = _AGO.fullmatch(value)
    try:
        if ago is not None:
            return now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
