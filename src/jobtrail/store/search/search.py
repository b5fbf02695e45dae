"""Finding jobs: the filter grammar, pages newest first, and counts that say where they stop.

A filter is words: ``status:failed task:sync_weather source:weather/* period:2013-02 after:2d error:timeout
args.airport:EWR label:tenant=acme "free text"``. One key given twice means either, different keys mean both, a
leading ``-`` means not, ``*`` at the end stands for any rest.

What has an index is answered by the database over all jobs. Arguments, free text, the file's name and the
text of an error have none: for them the newest 20,000 jobs that the other words leave are looked at, and the
page says so.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Text, and_, bindparam, cast, false, func, not_, or_, select, union_all
from sqlalchemy import text as sql

from jobtrail.database.tables import DUE, HANDED, LIMITED, group_members, job_labels, jobs, units
from jobtrail.errors import InvalidFilter
from jobtrail.job.masking import is_secret
from jobtrail.job.model import FINAL, Outcome, Status, file_name
from jobtrail.messages import Message
from jobtrail.store.totals import ends

from .grammar import ENDED, HASH, ID, IDS, TIMES, Filter, Term, Word, moment, parse, span
from .scan_filter import NEWEST, Looking, decoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement, Connection, TextClause

    from .masked_view import MaskedView

COUNT_CAP = 10_000
NEWEST_FIRST, OLDEST_FIRST = ORDERS = ("newest", "oldest")
PAGE = 1000
SUMMARY = 200  # characters of an error's message in a list

# What the partial indexes of a status say in their condition; a query must say it too.
OPEN = "status NOT IN ('pending', 'running', 'completed')"
_SUSPECT = "suspect AND status IN ('pending', 'running', 'cancelling')"
_BEHIND = "status = 'pending' AND waits_for IS NOT NULL"
_HELD = "status IN ('running', 'cancelling')"
_TICKET_ID = re.compile(rf"(?P<job>{ID.pattern})-\d*")  # of a job that is handed over to Celery: its id and the number of the run
_FINAL = sorted(status.value for status in FINAL)
FEW = 5000  # jobs; up to so many of a status are found through its index first


# -- what the database answers -----------------------------------------------------------------------


def smallest_id(moment: datetime) -> str:
    """The smallest id that can have been made at this moment; ids begin with their time in milliseconds."""
    millis = min(max(int(moment.timestamp() * 1000), 0), (1 << 48) - 1)
    digits = f"{millis:012x}"
    return f"{digits[:8]}-{digits[8:]}-0000-0000-000000000000"


class _Ask(NamedTuple):
    """What turning a term into SQL needs to know."""

    conn: Connection
    now: datetime
    view: MaskedView | None = None

    @property
    def sqlite(self) -> bool:
        return self.conn.dialect.name == "sqlite"


def _conditions(found: Filter, ask: _Ask) -> list[ColumnElement[bool]]:
    return [_condition(term, ask) for term in found.narrow]


def _condition(term: Term, ask: _Ask) -> ColumnElement[bool]:
    if term.key == "status" and not term.negated:
        return _of_status({word.value for word in term.words}, ask)
    if term.key == ENDED and not term.negated:
        return or_(*(_ended(word, ask, through_totals=len(term.words) == 1) for word in term.words))
    condition = or_(*(_one(term.key, word, ask) for word in term.words))
    # NULL is not the value either, so "not" must not lose it.
    return not_(func.coalesce(condition, false())) if term.negated else condition


def _one(key: str, word: Word, ask: _Ask) -> ColumnElement[bool]:
    if key in TIMES:
        edge = smallest_id(moment(word.value, ask.now) or ask.now)
        return jobs.c.id >= edge if key == "after" else jobs.c.id < edge
    if key == ENDED:
        return _ended(word, ask)
    if key == "label":
        return _label(word, ask)
    if key == "celery":
        labelled = _label(Word(f"celery={word.value}", word.prefix), ask)
        of_message = _TICKET_ID.fullmatch(word.value)
        return labelled if of_message is None else or_(labelled, jobs.c.id == of_message["job"])
    if key == "unit" and not HASH.fullmatch(word.value):
        return jobs.c.unit.in_(select(units.c.unit).where(_same_shown(units.c.text, word, ask)))
    if key == "outcome" and word.value == "none":
        return jobs.c.outcome.is_(None)
    if key == "error":
        return jobs.c.fingerprint == word.value
    if key == "group":
        return jobs.c.id.in_(select(group_members.c.job_id).where(_same_id(group_members.c.group_id, word)))
    if key in IDS:
        return _same_id(jobs.c[key], word)
    return (_same_shown if key == "source" else _same)(jobs.c[key], word, ask)


def _ended(word: Word, ask: _Ask, *, through_totals: bool = False) -> ColumnElement[bool]:
    """Ends have no index: the totals know between which ids the jobs lie that ended within a time."""
    since, until = span(word.value, ask.now)
    found = and_(jobs.c.status.in_(_FINAL), jobs.c.finished_at >= since, jobs.c.finished_at < until)
    if not through_totals:
        return found
    ids = ends.ids_between(ask.conn, since, until)
    return false() if ids is None else and_(found, jobs.c.id.between(*ids))


def _of_status(states: set[str], ask: _Ask) -> ColumnElement[bool]:
    """Few jobs of these states are found through their index; of many, the newest are soon met anyway."""
    plain = jobs.c.status.in_(sorted(states))
    parts = _through_indexes(states)
    if parts is None:
        return plain
    few = union_all(*parts).limit(FEW + 1).subquery()
    number = ask.conn.execute(select(func.count()).select_from(few)).scalar_one()
    return plain if number > FEW else and_(plain, jobs.c.id.in_(union_all(*parts)))


def _through_indexes(states: set[str]) -> list[Any] | None:
    if Status.COMPLETED.value in states:
        return None
    conditions: list[ColumnElement[bool] | TextClause] = []
    if Status.PENDING.value in states:
        conditions += [
            sql(DUE),
            sql(LIMITED),
            sql(HANDED),
            sql(_BEHIND),
            and_(
                sql(_SUSPECT), jobs.c.status == Status.PENDING.value, jobs.c.waits_for.is_(None), jobs.c.executor.is_(None)
            ),
        ]
    if states & {Status.RUNNING.value, Status.CANCELLING.value}:
        conditions.append(sql(_HELD))
    rest = sorted(states - {Status.PENDING.value, Status.RUNNING.value})
    if rest:
        conditions.append(and_(sql(OPEN), jobs.c.status.in_(rest)))
    return [select(jobs.c.id).where(condition) for condition in conditions]


def _same(column: Any, word: Word, ask: _Ask) -> ColumnElement[bool]:
    if not word.prefix:
        return column == word.value  # type: ignore[no-any-return]
    if not word.value:
        return column.is_not(None)  # type: ignore[no-any-return]
    # By code points on both databases: LIKE ignores case on SQLite, and a language's order is no prefix order.
    if not ask.sqlite:
        return _within(column.collate("C"), word.value)
    # SQLite would sort all that an index finds; of many, the newest are soon met without it.
    many = select(column).where(_within(column, word.value)).limit(FEW + 1).subquery()
    number = ask.conn.execute(select(func.count()).select_from(many)).scalar_one()
    return _within(column.concat("") if number > FEW else column, word.value)


def _same_shown(column: Any, word: Word, ask: _Ask) -> ColumnElement[bool]:
    """`_same` for a column that may hold a secret: who sees masked values finds the rows only that are shown as they are."""
    found = _same(column, word, ask)
    return found if ask.view is None else and_(found, ask.view.shown_as_stored(column))


def _within(column: Any, beginning: str) -> ColumnElement[bool]:
    return and_(column >= beginning, column < beginning + "\U0010ffff")


def _same_id(column: Any, word: Word) -> ColumnElement[bool]:
    if ID.fullmatch(word.value) and not word.prefix:
        return column == word.value  # type: ignore[no-any-return]
    if word.prefix:
        edges = _id_edge(word.value, "0"), _id_edge(word.value, "f")
        return false() if None in edges else column.between(*edges)
    # Its ending, as people copy it.
    return cast(column, Text).like("%" + _escaped(word.value), escape="\\")


def _id_edge(beginning: str, filler: str) -> str | None:
    template = "00000000-0000-0000-0000-000000000000"
    fits = len(beginning) <= len(template) and all(
        (given == "-") if place == "-" else given in "0123456789abcdef"
        for given, place in zip(beginning, template, strict=False)
    )
    return beginning + template[len(beginning) :].replace("0", filler) if fits else None


def _label(word: Word, ask: _Ask) -> ColumnElement[bool]:
    key, equals, value = word.value.partition("=")
    if not equals:
        found = [_same(job_labels.c.key, Word(key, word.prefix), ask)]
    else:
        if ask.view is not None and is_secret(key, ask.view.names):
            return false()
        found = [job_labels.c.key == key, _same_shown(job_labels.c.value, Word(value, word.prefix), ask)]
    return jobs.c.id.in_(select(job_labels.c.job_id).where(*found))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


# -- pages and counts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListRow:
    """A job as a list shows it; arguments, result and traceback stay in the store."""

    id: str
    task: str
    kind: str | None
    queue: str
    priority: int
    status: Status
    outcome: Outcome | None
    run_no: int
    attempt: int
    max_attempts: int | None
    run_at: datetime | None
    source: str | None
    period: str | None
    unit: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    actor: str | None
    note: str | None
    retry_reason: str | None
    items_ok: int | None
    items_failed: int | None
    items_skipped: int | None
    rerun_of: str | None
    fingerprint: str | None
    put_backs: int
    suspect: bool
    executor: str | None
    handed_at: datetime | None
    handed_run: int | None
    limits: str | None
    file: str | None = None
    error: str | None = None

    @property
    def item_counts(self) -> dict[str, int | None]:
        """How many items have each outcome; None where none were recorded."""
        return {"ok": self.items_ok, "failed": self.items_failed, "skipped": self.items_skipped}

    @property
    def handed_over(self) -> datetime | None:
        """When the ticket of the next run was sent to the executor; None if it was not, or the job is not handed over."""
        return self.handed_at if self.executor is not None and self.handed_run == self.run_no else None


@dataclass(frozen=True, slots=True)
class Page:
    """Jobs in the order that was asked for.

    ``next`` is where the following page begins (``before=``, or ``after=`` with the oldest first), None at the end; ``searched`` how many jobs were
    looked at one by one, and ``note`` what the page does not tell.
    """

    rows: list[ListRow] = field(default_factory=list)
    next: str | None = None
    searched: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """How many; ``more`` is set where there are, or may be, more than that."""

    number: int
    more: bool = False


_PLAIN = tuple(f.name for f in fields(ListRow) if f.name not in {"file", "error"})
_LIGHT = [*(jobs.c[name] for name in _PLAIN), jobs.c.file, func.substr(jobs.c.error, 1, 8 * SUMMARY).label("error")]


def find(
    conn: Connection,
    text: str,
    *,
    now: datetime,
    limit: int = 100,
    before: str | None = None,
    after: str | None = None,
    order: str = NEWEST_FIRST,
    view: MaskedView | None = None,
) -> Page:
    """The jobs that a filter names, those made before the job ``before`` and after the job ``after`` only.

    With a ``view``, here and below, the filter is compared with masked values.

    Raises: InvalidFilter.
    """
    found = parse(text)
    limit = min(max(limit, 1), PAGE)
    conditions = _conditions(found, _Ask(conn, now, view))
    if before is not None:
        conditions.append(jobs.c.id < _whole_id(before))
    if after is not None:
        conditions.append(jobs.c.id > _whole_id(after))
    oldest = order == OLDEST_FIRST
    if found.wide:
        return _look(conn, Looking(conn, found.wide, conditions, view=view, oldest=oldest), limit)
    turn = jobs.c.id.asc() if oldest else jobs.c.id.desc()
    rows = conn.execute(select(*_LIGHT).where(*conditions).order_by(turn).limit(limit + 1)).all()
    return Page([_read(row) for row in rows[:limit]], rows[limit - 1].id if len(rows) > limit else None)


def line(conn: Connection, job_id: str) -> ListRow | None:
    """One job as a list shows it."""
    row = conn.execute(select(*_LIGHT).where(jobs.c.id == job_id)).first()
    return None if row is None else _read(row)


def newest_ids(
    conn: Connection, text: str, *, now: datetime, limit: int, view: MaskedView | None = None
) -> tuple[list[str], bool]:
    """The ids of the newest ``limit`` jobs that a filter names, and whether there are, or may be, more.

    Raises: InvalidFilter.
    """
    found = parse(text)
    conditions = _conditions(found, _Ask(conn, now, view))
    if found.wide:
        looking = Looking(conn, found.wide, conditions, view=view)
        ids = [row.id for row in islice(looking, limit + 1)]
        return ids[:limit], len(ids) > limit or looking.stopped
    query = select(jobs.c.id).where(*conditions).order_by(jobs.c.id.desc()).limit(limit + 1)
    ids = list(conn.execute(query).scalars())
    return ids[:limit], len(ids) > limit


def among(conn: Connection, text: str, ids: Iterable[str], *, now: datetime) -> set[str]:
    """Those of these jobs that a filter names.

    Raises: InvalidFilter.
    """
    found = parse(text)
    conditions = [*_conditions(found, _Ask(conn, now)), jobs.c.id.in_(sorted(ids))]
    if found.wide:
        return {row.id for row in Looking(conn, found.wide, conditions)}
    return set(conn.execute(select(jobs.c.id).where(*conditions)).scalars())


def count(
    conn: Connection, text: str, *, now: datetime, cap: int = COUNT_CAP, view: MaskedView | None = None
) -> Counted:
    """How many jobs a filter names, exact up to ``cap``.

    Raises: InvalidFilter.
    """
    found = parse(text)
    conditions = _conditions(found, _Ask(conn, now, view))
    if not found.wide:
        return _counted(conn, select(jobs.c.id).where(*conditions), cap)
    number = 0
    looking = Looking(conn, found.wide, conditions, view=view)
    for _ in looking:
        if number == cap:
            return Counted(cap, more=True)
        number += 1
    return Counted(number, more=looking.stopped)


def _standing_in(status: Status) -> Any:
    parts = _through_indexes({status.value}) or [select(jobs.c.id)]
    found = union_all(*(part.where(jobs.c.status == status.value) for part in parts))
    return select(func.count()).select_from(found.limit(bindparam("cap")).subquery())


_BY_STATUS = {status: _standing_in(status) for status in Status}


def status_counts(conn: Connection, cap: int = COUNT_CAP) -> dict[str, Counted]:
    """How many jobs stand in each status, exact up to ``cap``."""
    return {status.value: in_status(conn, status, cap) for status in Status}


def in_status(conn: Connection, status: Status, cap: int = COUNT_CAP) -> Counted:
    """How many jobs stand in a status, exact up to ``cap``."""
    number = conn.execute(_BY_STATUS[status], {"cap": cap + 1}).scalar_one()
    return Counted(min(number, cap), more=number > cap)


def asks_for_all(text: str) -> bool:
    """Does this filter say nothing but of the status?

    Raises: InvalidFilter.
    """
    return all(term.key == "status" and not term.negated for term in parse(text).terms)


def by_status(
    conn: Connection, text: str, *, now: datetime, cap: int = COUNT_CAP, view: MaskedView | None = None
) -> dict[str, Counted]:
    """How many of the jobs that a filter names stand in each status, exact up to ``cap``; what it says of the status is left out.

    Raises: InvalidFilter.
    """
    found = Filter(tuple(term for term in parse(text).terms if term.key != "status" or term.negated))
    if not found.terms:
        return status_counts(conn, cap)
    ask = _Ask(conn, now, view)
    conditions = _conditions(found, ask)
    if found.wide:
        looking = Looking(conn, found.wide, conditions, "status", view=view)
        numbers = Counter(row.status for row in looking)
        return {status.value: Counted(numbers[status.value], more=looking.stopped) for status in Status}
    within = select(jobs.c.id).where(*conditions)
    return {status.value: _counted(conn, within.where(_of_status({status.value}, ask)), cap) for status in Status}


def together(counted: Iterable[Counted], cap: int = COUNT_CAP) -> Counted:
    """The sum, exact up to ``cap`` where each of them is."""
    found = list(counted)
    number = sum(one.number for one in found)
    return Counted(min(number, cap), more=number > cap or any(one.more for one in found))


def _counted(conn: Connection, query: Any, cap: int) -> Counted:
    number = conn.execute(select(func.count()).select_from(query.limit(cap + 1).subquery())).scalar_one()
    return Counted(min(number, cap), more=number > cap)


def _whole_id(before: str) -> str:
    if not ID.fullmatch(before):
        raise InvalidFilter(Message("store.page-not-id", before=before))
    return before


def _look(conn: Connection, looking: Looking, limit: int) -> Page:
    ids: list[str] = []
    full = False
    for row in looking:
        if len(ids) == limit:
            full = True
            break
        ids.append(row.id)
    rows = conn.execute(select(*_LIGHT).where(jobs.c.id.in_(ids)).order_by(looking.turn)).all() if ids else []
    following = ids[-1] if full else (looking.last if looking.stopped else None)
    code = "store.oldest-searched" if looking.oldest else "store.newest-searched"
    note = Message(code, number=NEWEST).stored if looking.stopped else None
    return Page([_read(row) for row in rows], following, looking.searched, note)


def _read(row: Any) -> ListRow:
    values = {name: getattr(row, name) for name in _PLAIN}
    values["status"] = Status(row.status)
    values["outcome"] = Outcome(row.outcome) if row.outcome else None
    return ListRow(**values, file=file_name(row.file), error=summary(row.error))


_MESSAGE = re.compile(r'\{"type":\s*"(?P<type>(?:\\.|[^"\\])*)",\s*"message":\s*"(?P<message>(?:\\.|[^"\\])*)')


def summary(error: str | None) -> str | None:
    """Type and the beginning of the message, out of the first part of an error's JSON."""
    found = _MESSAGE.match(error) if error else None
    if error is None or found is None:
        return error and error[:SUMMARY]
    kind, message = (_unescaped(found[name]) for name in ("type", "message"))
    return f"{kind}: {message[:SUMMARY]}" if kind and message else (kind or message[:SUMMARY])


def _unescaped(text: str) -> str:
    # The last escape may have been cut through.
    return str(decoded(f'"{text}"') or decoded(f'"{text.rpartition(chr(92))[0]}"') or text)
