"""What is inside a job: its items, its log, its trail, its kin; in pages, and as files."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.responses import Response

from jobtrail.api.auth.guard import also, needs, routes
from jobtrail.api.models import job_detail
from jobtrail.errors import UsageError
from jobtrail.job.failure import mask_urls
from jobtrail.job.items import ItemOutcome
from jobtrail.job.masking import masked
from jobtrail.queries.base import Model, masked_text, parsed
from jobtrail.queries.csv_cell import cell
from jobtrail.store import events, items, runs

from .jobs import row_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from sqlalchemy import Connection

    from jobtrail.api.context import Desk

AT_ONCE = 1000  # items read for one piece of a file
PIECES = 300  # of a log, read at once
CSV_NAMES = ("key", "outcome", "reason", "error_type", "loop", "position", "tries", "job", "at")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_RECORD = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<level>[A-Z]+) ")
Outcome = Literal["ok", "failed", "skipped"]
Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


class Item(Model):
    """One thing inside a job, as it was last recorded."""

    key: str
    outcome: str = Field(description="ok, failed or skipped")
    reason: str | None
    error_type: str | None
    loop: str
    position: int
    tries: int
    job: str = Field(description="The job that recorded it.")
    at: datetime


class ItemPage(Model):
    """Items in the order of the input; ``next`` is the ``after`` of the following page."""

    items: list[Item]
    next: str | None


class LogRecord(Model):
    """One record of a log; ``text`` is all of it, with its time."""

    seq: int = Field(description="The piece of the log that it stands in.")
    at: datetime | None
    level: str | None
    text: str


class Log(Model):
    """A part of a log. Follow it with ``after=last``; read what came before with ``before=first``."""

    records: list[LogRecord]
    first: int | None = Field(description="The first piece that was looked at.")
    last: int | None = Field(description="The last piece that was looked at.")
    earlier: bool = Field(description="Is there more before it?")
    later: bool = Field(description="Is there more behind it?")
    dropped: int = Field(description="Lines that were left out between beginning and end, because there were too many.")
    gap_before: int | None = Field(description="The piece before which they are missing.")


class JobEvent(Model):
    """One line of the trail."""

    id: int
    at: datetime
    name: str
    from_status: str | None
    to_status: str | None
    run_no: int | None
    actor: str | None
    reason: str | None
    detail: Any


class EventPage(Model):
    """The trail, oldest first; ``next`` is the ``after`` of the following page."""

    events: list[JobEvent]
    next: int | None


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("jobs")
    _items(router, desk)
    _log(router, desk)
    _trail(router, desk)
    return router


# -- items ---------------------------------------------------------------------------------------------


def _items(router: APIRouter, desk: Desk) -> None:
    @router.get(
        "/jobs/{job_id}/items", operation_id="listItems", summary="Its items, a page of them", responses=also(404)
    )
    @needs("viewer")
    async def list_items(
        job_id: str,
        outcome: Annotated[Outcome | None, Query(description="Those of one outcome only.")] = None,
        after: Annotated[str | None, Query(max_length=2000, description="The next of the page before.", examples=["WyJpdGVtcyIsIDAsICIyMDEzLTAyIl0="])] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        own: Annotated[bool, Query(description="Only those that this job has recorded itself.")] = False,
    ) -> ItemPage:
        return await desk.search(_item_page, job_id, outcome, after, limit, own)

    @router.get(
        "/jobs/{job_id}/items.csv",
        operation_id="itemsAsCsv",
        summary="Its items as CSV",
        response_class=Response,
        responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}, **also(404)},
    )
    @needs("viewer")
    async def items_csv(job_id: str, outcome: Outcome | None = None) -> Response:
        row = await desk.search(row_of, job_id)
        return StreamingResponse(
            _csv(desk, row.ledger, outcome), media_type="text/csv; charset=utf-8", headers=_as_file(row.id, "items.csv")
        )


def _item_page(
    conn: Connection, job_id: str, outcome: str | None, after: str | None, limit: int, own: bool
) -> ItemPage:
    row = row_of(conn, job_id)
    wanted = ItemOutcome(outcome) if outcome else None
    found = items.page(
        conn, row.ledger, outcome=wanted, job_id=row.id if own else None, after=_place(after), limit=limit + 1
    )
    shown = found[:limit]
    following = _cursor(shown[-1]) if len(found) > limit else None
    return ItemPage(items=[Item(**_item(one)) for one in shown], next=following)


def _item(one: items.ItemRow) -> dict[str, Any]:
    return {
        "key": masked_text(one.key), "outcome": one.outcome.value, "reason": masked_text(one.reason), "error_type": one.error_type,
        "loop": one.loop, "position": one.position, "tries": one.tries, "job": one.job_id, "at": one.at,
    }  # fmt: skip


def _cursor(one: items.ItemRow) -> str:
    return base64.urlsafe_b64encode(json.dumps([one.loop, one.position, one.key]).encode()).decode()


def _place(cursor: str | None) -> tuple[str, int, str] | None:
    if cursor is None:
        return None
    try:
        loop, position, key = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError):
        loop, position, key = None, None, None
    good = _is_storable(loop) and _is_storable(key) and type(position) is int and abs(position) < 1 << 31
    if not good:
        message = "after must be the next of the page before"
        raise UsageError(message)
    return loop, position, key


def _is_storable(text: Any) -> bool:
    return isinstance(text, str) and not any(one == "\0" or "\ud800" <= one <= "\udfff" for one in text)


async def _csv(desk: Desk, ledger: str, outcome: str | None) -> AsyncIterator[str]:
    """Page by page, so that no number of items fills the memory."""
    yield _rows([CSV_NAMES])
    wanted = ItemOutcome(outcome) if outcome else None
    after = None
    while True:
        page = await desk.read(items.page, ledger, outcome=wanted, after=after, limit=AT_ONCE)
        yield _rows([_told(_item(one)[name]) for name in CSV_NAMES] for one in page)
        if len(page) < AT_ONCE:
            return
        after = (page[-1].loop, page[-1].position, page[-1].key)


def _told(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def _rows(rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()


def _as_file(job_id: str, name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{job_id[-8:]}-{name}"', "Cache-Control": "private, no-cache"}


# -- log -----------------------------------------------------------------------------------------------


def _log(router: APIRouter, desk: Desk) -> None:
    @router.get("/jobs/{job_id}/log", operation_id="readLog", summary="Its log, a part of it", responses=also(404))
    @needs("viewer")
    async def read_log(
        job_id: str,
        after: Annotated[int | None, Query(ge=-1, le=1 << 30, description="From behind this piece on.")] = None,
        before: Annotated[int | None, Query(ge=0, le=1 << 30, description="What stands before this piece.")] = None,
        limit: Annotated[int, Query(ge=1, le=20_000, description="About so many records, the last ones.")] = 2000,
        level: Annotated[Level | None, Query(description="This one and graver.")] = None,
        search: Annotated[str | None, Query(max_length=500, description="A text in the record, in any case.")] = None,
    ) -> Log:
        return await desk.search(_log_part, job_id, after, before, limit, _Fits(level, search))

    @router.get(
        "/jobs/{job_id}/log.txt",
        operation_id="logAsText",
        summary="Its whole log as text",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **also(404)},
    )
    @needs("viewer")
    async def log_text(job_id: str) -> Response:
        row_id, text = await desk.search(_whole_log, job_id)
        return Response(text, media_type="text/plain; charset=utf-8", headers=_as_file(row_id, "log.txt"))


class _Fits:
    """Is a record wanted?"""

    def __init__(self, level: str | None, search: str | None) -> None:
        self.least = LEVELS.index(level) if level else -1
        self.text = search.casefold() if search else None

    def __call__(self, record: LogRecord) -> bool:
        if self.least >= 0 and (record.level not in LEVELS or LEVELS.index(record.level) < self.least):
            return False
        return self.text is None or self.text in record.text.casefold()


def _log_part(
    conn: Connection, job_id: str, after: int | None, before: int | None, limit: int, fits: _Fits
) -> Log:
    """The log of a job is bounded (1 MB), so its pieces are cheap to list; of a part as many as hold ``limit`` records."""
    row = row_of(conn, job_id)
    sizes = runs.log_sizes(conn, row.id)
    chosen = [seq for seq, *_ in sizes if (after is None or seq > after) and (before is None or seq < before)]
    pieces: list[list[LogRecord]] = []
    looked: list[int] = []
    for chunk in _chunks(conn, row.id, chosen, forward=after is not None):
        looked.append(chunk.seq)
        pieces.append([one for one in _records(chunk.seq, chunk.text) if fits(one)])
        limit -= len(pieces[-1])
        if limit <= 0:
            break
    if after is None:
        pieces.reverse()
    records = [one for piece in pieces for one in piece]
    first, last = (min(looked), max(looked)) if looked else (None, None)
    return Log(
        records=records,
        first=first,
        last=last,
        earlier=bool(sizes) and (first is None or first > sizes[0][0]),
        later=last is not None and last < sizes[-1][0],
        dropped=max((one[3] for one in sizes), default=0),
        gap_before=next((two[0] for one, two in pairwise(sizes) if two[0] != one[0] + 1), None),
    )


def _chunks(conn: Connection, job_id: str, chosen: list[int], *, forward: bool) -> Iterator[runs.LogChunk]:
    """The pieces of these numbers, or the last of them first; some hundred are read at once."""
    batches = [chosen[start : start + PIECES] for start in range(0, len(chosen), PIECES)]
    for some in batches if forward else reversed(batches):
        found = runs.log_chunks(conn, job_id, after=some[0] - 1, limit=len(some))
        yield from found if forward else reversed(found)


def _records(seq: int, text: str) -> Iterator[LogRecord]:
    """What belongs to a record begins with its time; a traceback follows it on lines of its own."""
    lines: list[str] = []
    for line in text.split("\n"):
        if _RECORD.match(line) and lines:
            yield _record(seq, "\n".join(lines))
            lines = []
        lines.append(line)
    if lines and lines != [""]:
        yield _record(seq, "\n".join(lines))


def _record(seq: int, text: str) -> LogRecord:
    head = _RECORD.match(text)
    at = datetime.fromisoformat(head["at"]) if head else None
    return LogRecord(seq=seq, at=at, level=head["level"] if head else None, text=mask_urls(text))


def _whole_log(conn: Connection, job_id: str) -> tuple[str, str]:
    row = row_of(conn, job_id)
    parts = []
    for chunk in runs.log_chunks(conn, row.id, limit=100_000):
        if chunk.dropped:
            parts.append(f"… {chunk.dropped:,} lines dropped …")
        parts.append(mask_urls(chunk.text))
    return row.id, "\n".join(parts) + ("\n" if parts else "")


# -- trail and kin -------------------------------------------------------------------------------------


def _trail(router: APIRouter, desk: Desk) -> None:
    @router.get("/jobs/{job_id}/events", operation_id="listEvents", summary="Its trail", responses=also(404))
    @needs("viewer")
    async def list_events(
        job_id: str,
        after: Annotated[int, Query(ge=0, le=(1 << 63) - 1, description="Lines behind this id only.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    ) -> EventPage:
        return await desk.search(_event_page, job_id, after, limit)

    @router.get(
        "/jobs/{job_id}/lineage", operation_id="getLineage", summary="What it came from, and what came of it",
        responses=also(404),
    )  # fmt: skip
    @needs("viewer")
    async def get_lineage(job_id: str) -> job_detail.Lineage:
        return await desk.search(lambda conn: job_detail.lineage(conn, row_of(conn, job_id)))


def _event_page(conn: Connection, job_id: str, after: int, limit: int) -> EventPage:
    # From the beginning on; asked for none in particular, the store would give the newest.
    found = events.of_job(conn, row_of(conn, job_id).id, after=after or -1, limit=limit + 1)
    return EventPage(
        events=[event(one) for one in found[:limit]], next=found[limit - 1].id if len(found) > limit else None
    )


def event(one: events.Event) -> JobEvent:
    """A line of the trail without secrets."""
    detail = {key: parsed(value) if key == "error" else value for key, value in one.detail.items()}
    return JobEvent(
        id=one.id, at=one.at, name=one.name, from_status=one.from_status, to_status=one.to_status, run_no=one.run_no,
        actor=one.actor, reason=masked_text(one.reason), detail=masked(detail),
    )  # fmt: skip
