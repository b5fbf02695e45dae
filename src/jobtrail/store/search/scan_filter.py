"""The words of a filter that no index answers: the newest jobs are looked at one by one.

What a word surely is not in, the database leaves out before a row comes here; the row itself then decides.
"""

from __future__ import annotations

import re
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, or_, select

from jobtrail.database.tables import jobs
from jobtrail.job.model import file_name

from .grammar import ARGUMENT, TEXT, TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection

    from .grammar import Term, Word
    from .masked_view import MaskedView

NEWEST = 20_000
FIRST = 1000  # jobs that are looked at first; then twice as many each time
# Stored JSON has such a word as it is; other words may stand there escaped, or as another spelling of a number.
_AS_IT_IS = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*|[0-9]+")


class Looking:
    """Walks through the newest jobs that the other words leave, and yields those that fit: the id and the ``also`` named columns.

    With ``oldest`` it begins at the other end. searched: how many were looked at so far; ``stopped``: there are more,
    ``last`` is the one after which they come.
    """

    def __init__(
        self,
        conn: Connection,
        terms: Sequence[Term],
        conditions: Sequence[ColumnElement[bool]],
        *also: str,
        view: MaskedView | None = None,
        oldest: bool = False,
    ) -> None:
        self.oldest = oldest
        self.turn = jobs.c.id.asc() if oldest else jobs.c.id.desc()
        self.searched = 0
        self.stopped = False
        self.last: str | None = None
        self._conn = conn
        self._conditions = conditions
        self._view = view
        self._fits = _seen(terms)
        self._columns = [jobs.c[name] for name in sorted({"id", "task", *also}.union(*(_columns(term) for term in terms)))]
        self._maybe = [one for term in terms if (one := _maybe(term, sqlite=conn.dialect.name == "sqlite")) is not None]

    def __iter__(self) -> Iterator[Any]:
        """In the order of `turn`."""
        size = FIRST
        while self.searched < NEWEST:
            size = min(size, NEWEST - self.searched)
            here = [*self._conditions] if self.last is None else [*self._conditions, self._beyond(self.last)]
            ids = select(jobs.c.id).where(*here).order_by(self.turn)
            edge = self._conn.execute(ids.offset(size - 1).limit(1)).scalar()
            if edge is None:
                self.searched += self._conn.execute(select(func.count()).select_from(ids.subquery())).scalar_one()
                yield from self._of(here)
                return
            self.searched += size
            yield from self._of([*here, jobs.c.id <= edge if self.oldest else jobs.c.id >= edge])
            self.last = edge
            size *= 2
        self.stopped = True

    def _beyond(self, job_id: str) -> ColumnElement[bool]:
        return jobs.c.id > job_id if self.oldest else jobs.c.id < job_id

    def _of(self, conditions: Sequence[ColumnElement[bool]]) -> Iterator[Any]:
        query = select(*self._columns).where(*conditions, *self._maybe).order_by(self.turn)
        for row in self._conn.execute(query):
            if self._fits(row if self._view is None else self._view.row(row)):
                yield row


def _columns(term: Term) -> tuple[str, ...]:
    if term.key == TEXT:
        return TEXTS
    if term.key == "error":
        return ("error", "fingerprint")
    return ("file",) if term.key == "file" else ("args",)


def _maybe(term: Term, *, sqlite: bool) -> ColumnElement[bool] | None:
    """What holds for every job that the term fits, and for few others; None where nothing can be said."""
    if term.negated or not all(_AS_IT_IS.fullmatch(word.value) for word in term.words):
        return None
    return or_(*(_has(jobs.c[name], word.value, sqlite=sqlite) for name in _columns(term) for word in term.words))


def _has(column: Any, word: str, *, sqlite: bool) -> ColumnElement[bool]:
    pattern = "%" + word.replace("_", "\\_") + "%"
    # Both ignore the case of plain letters only, whatever the database's language.
    found = column.like(pattern, escape="\\") if sqlite else column.collate("C").ilike(pattern, escape="\\")
    return and_(column.is_not(None), found)


def _seen(terms: Sequence[Term]) -> Callable[[Any], bool]:
    checks = [(_check_of(term.key), term) for term in terms]

    def fits(row: Any) -> bool:
        return all(any(check(row, word) for word in term.words) is not term.negated for check, term in checks)

    return fits


def _check_of(key: str) -> Callable[[Any, Word], bool]:
    if key == TEXT:
        return _has_text
    if key == "file":
        return lambda row, word: word.matches(file_name(row.file) or "") if row.file else False
    if key == "error":
        return _has_error
    path = key.removeprefix(ARGUMENT).split(".")
    return lambda row, word: _has_argument(row.args, path, word)


def _has_text(row: Any, word: Word) -> bool:
    texts = [getattr(row, name) for name in TEXTS]
    if any(word.value in text.lower() for text in texts if text):
        return True
    # Stored JSON escapes what is not plain; what a person types does not.
    return any("\\" in text and word.value in _readable(text).lower() for text in (row.args, row.error) if text)


def _readable(text: str) -> str:
    return "\n".join(_leaves(decoded(text)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield _as_text(value)


def _has_error(row: Any, word: Word) -> bool:
    if row.fingerprint is not None and word.matches(row.fingerprint):
        return True
    return row.error is not None and word.value in row.error.lower()


def _has_argument(args: str, path: Sequence[str], word: Word) -> bool:
    value = decoded(args)
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return word.matches(_as_text(value)) or (isinstance(value, list) and any(word.matches(_as_text(v)) for v in value))


def decoded(text: str) -> Any:
    """What JSON says; None where it is none."""
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False)
