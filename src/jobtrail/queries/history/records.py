"""Ended jobs as records, in the shape that the import reads; secrets are masked unless they are asked for."""

from __future__ import annotations

from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from jobtrail.database.tables import events, item_history, items, jobs, logs, questions, steps
from jobtrail.job.history.ended_job import JOB, PARTS
from jobtrail.job.masking import mask_text, masked
from jobtrail.job.model import FINAL
from jobtrail.store.history.insert import IMPORTED
from jobtrail.store.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Table

    from jobtrail.queries.context import QueryContext

PAGE = 200  # jobs that are read together
_JSON = frozenset({"args", "options", "limits", "context", "labels", "result", "error", "file", "detail", "schema", "default", "answer"})
_COLUMNS = [jobs.c[name] for name in JOB if name in jobs.c]
_FINAL = sorted(status.value for status in FINAL)
_PARTS: dict[str, tuple[Table, tuple[Any, ...]]] = {
    "items": (items, (items.c.loop, items.c.position, items.c.key)),
    "item_history": (item_history, (item_history.c.loop, item_history.c.position, item_history.c.key, item_history.c.run_no)),
    "steps": (steps, (steps.c.at, steps.c.name, steps.c.digest)),
    "questions": (questions, (questions.c.id,)),
    "trail": (events, (events.c.id,)),
    "log": (logs, (logs.c.seq,)),
}  # fmt: skip


def records(context: QueryContext, text: str, *, secrets: bool = False) -> Iterator[dict[str, Any]]:
    """Read the ended jobs that a filter names, newest first, as they may be imported elsewhere.

    Args:
        context: The application.
        text: The filter; empty for all.
        secrets: Give values as they are stored, so that a job can run again where it is imported.

    Raises:
        InvalidFilter: If the filter is not valid.
    """
    before: str | None = None
    while True:
        with context.service.store.read() as conn:
            page = search.find(conn, text, now=context.now(), limit=PAGE, before=before)
            found = of_jobs(conn, context, [row.id for row in page.rows], secrets=secrets)
        yield from found
        if page.next is None:
            return
        before = page.next


def of_jobs(
    conn: Connection, context: QueryContext, ids: Sequence[str], *, secrets: bool = False
) -> list[dict[str, Any]]:
    """The records of those of these jobs that have ended, newest first."""
    query = select(*_COLUMNS).where(jobs.c.id.in_(ids), jobs.c.status.in_(_FINAL)).order_by(jobs.c.id.desc())
    rows = conn.execute(query).all()
    ids, ledgers = [row.id for row in rows], sorted({row.generation or row.id for row in rows})
    parts = {name: _part(conn, name, ids, ledgers) for name in _PARTS} if rows else {}
    return [
        _record(row, {name: of.get(row.id) for name, of in parts.items()}, None if secrets else context.marked(row.task))
        for row in rows
    ]


def _part(conn: Connection, name: str, ids: Sequence[str], ledgers: Sequence[str]) -> dict[str, list[Any]]:
    table, order = _PARTS[name]
    query = select(table.c.job_id, *(table.c[column] for column in PARTS[name])).where(table.c.job_id.in_(ids))
    if name in {"items", "steps"}:  # their index begins with the generation
        query = query.where(table.c.generation.in_(ledgers))
    if name == "trail":
        query = query.where(events.c.name != IMPORTED)
    found: dict[str, list[Any]] = {}
    for row in conn.execute(query.order_by(*order)):
        found.setdefault(row.job_id, []).append(row)
    return found


def _record(row: Any, parts: dict[str, list[Any] | None], marked: frozenset[str] | None) -> dict[str, Any]:
    record = _plain(row, list(JOB), marked)
    for name, rows in parts.items():
        if rows:
            record[name] = [_plain(one, list(PARTS[name]), marked) for one in rows]
    return record


def _plain(row: Any, names: Sequence[str], marked: frozenset[str] | None) -> dict[str, Any]:
    """The columns of a row that have a value, in the order of ``names``."""
    found: dict[str, Any] = {}
    for name in names:
        value = getattr(row, name, None)
        if value is not None:
            found[name] = _value(name, value, marked)
    return found


def _value(name: str, value: Any, marked: frozenset[str] | None) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if name in _JSON:
        parsed = loads(value)
        return parsed if marked is None else masked(parsed, marked)
    return mask_text(value, marked) if marked is not None and isinstance(value, str) and name not in _KEYS else value


_KEYS = frozenset({"id", "task", "status", "generation", "rerun_of", "parent", "root", "digest", "period", "mode", "queue"})
