"""The items of a job as it left them: pages in the order of the input, CSV, and the history of one item."""

from __future__ import annotations

import base64
import csv
import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.errors import NotFound, UsageError
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Status
from jobtrail.messages import Message
from jobtrail.queries.base import MaskedText, Model
from jobtrail.queries.csv_cell import cell
from jobtrail.store import events, items, jobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from jobtrail.job.model import JobRow

LOOP = "items"  # the name of a loop that was given none
CSV_PAGE = 1000  # items in one piece of a file
CSV_COLUMNS = ("key", "outcome", "reason", "error_type", "loop", "position", "tries", "job", "at", "since_outcome", "since_job")


class ItemSince(Model):
    """What became of an item in a later job."""

    outcome: str = Field(description="ok, failed or skipped")
    job: str = Field(validation_alias="job_id", description="The job that recorded it.")
    at: datetime


class JobItem(Model):
    """One thing inside a job, as the job left it."""

    key: MaskedText
    outcome: str = Field(description="ok, failed or skipped")
    reason: MaskedText | None
    error_type: str | None
    loop: str
    position: int
    tries: int
    job: str = Field(validation_alias="job_id", description="The job that recorded it.")
    at: datetime
    since: ItemSince | None = Field(None, description="What it is now, where a later job has recorded it again.")


class ItemPage(Model):
    """Items in the order of the input; ``next`` is the ``after`` of the following page."""

    items: list[JobItem]
    next: str | None


class ItemRecord(Model):
    """An outcome that an item has, or had before it was recorded again."""

    outcome: str = Field(description="ok, failed or skipped")
    reason: MaskedText | None
    error_type: str | None
    job: str = Field(description="The job that recorded it.")
    run_no: int
    attempt: int | None = Field(description="The attempt of the job; null where its trail does not tell it.")
    at: datetime


class ItemHistory(Model):
    """Every outcome that one item of a generation has had, oldest first; the last one is what it is now."""

    key: MaskedText
    loop: str
    records: list[ItemRecord]


def read_page(
    conn: Connection,
    job_id: str,
    *,
    outcome: str | None = None,
    after: str | None = None,
    limit: int = 100,
    generation: bool = False,
) -> ItemPage:
    """Read a page of the items of a job, as the job left them.

    Args:
        conn: An open connection.
        job_id: The job's id, or a unique ending of it.
        outcome: Only items of this outcome: ok, failed or skipped.
        after: The ``next`` of the page before.
        limit: The size of the page.
        generation: All items of the job's generation as they stand now, whichever job recorded them.

    Raises:
        NotFound: if there is no such job.
        UsageError: if ``after`` is not the ``next`` of a page.
    """
    row = jobs.resolve(conn, job_id)
    wanted = ItemOutcome(outcome) if outcome else None
    position = _position(after)
    own = None if generation else row.id
    found = items.page(conn, row.ledger, outcome=wanted, job_id=own, after=position, limit=limit + 1)
    shown = found[:limit]
    following = _cursor(shown[-1]) if len(found) > limit else None
    return ItemPage(items=_with_since(conn, row, shown), next=following)


def _with_since(conn: Connection, row: JobRow, shown: Sequence[items.ItemRow]) -> list[JobItem]:
    """The items, those that a later job has recorded again with what they are now."""
    left = items.left_any(conn, row.ledger, row.id)
    now = items.standing(conn, row.ledger, [(one.loop, one.key) for one in shown]) if left else {}
    page = []
    for one in shown:
        item, newest = JobItem.model_validate(one), now.get((one.loop, one.key))
        if newest is not None and newest.job_id != one.job_id:
            item.since = ItemSince.model_validate(newest)
        page.append(item)
    return page


def read_history(conn: Connection, job_id: str, key: str, loop: str = LOOP) -> ItemHistory:
    """Read every outcome that an item of a job's generation has had.

    Args:
        conn: An open connection.
        job_id: The job's id, or a unique ending of it.
        key: The item's key.
        loop: The name of its loop.

    Raises:
        NotFound: if there is no such job, or no such item in its generation.
    """
    row = jobs.resolve(conn, job_id)
    found = items.history(conn, row.ledger, loop, key) if _is_storable(key) and _is_storable(loop) else []
    if not found:
        raise NotFound(Message("queries.no-item", job=row.id, key=repr(key), loop=loop))
    numbers = _attempts(conn, {(one.job_id, one.run_no) for one in found})
    return ItemHistory(key=key, loop=loop, records=[_record(one, numbers) for one in found])


def _record(one: items.ItemRow, numbers: dict[tuple[str, int], int]) -> ItemRecord:
    return ItemRecord(
        outcome=one.outcome.value, reason=one.reason, error_type=one.error_type, job=one.job_id, run_no=one.run_no,
        attempt=numbers.get((one.job_id, one.run_no)), at=one.at,
    )  # fmt: skip


def _attempts(conn: Connection, runs: set[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """The number of the attempt of each run, as far as the jobs' own rows and their trail tell it."""
    found: dict[tuple[str, int], int] = {}
    for job_id in {job for job, _ in runs}:
        for line in events.of_job(conn, job_id):
            if line.run_no is not None and "attempt" in line.detail:
                found[job_id, line.run_no] = int(line.detail["attempt"])
        row = jobs.get(conn, job_id)
        if row is not None and row.status is not Status.PENDING:
            found.setdefault((job_id, row.run_no), row.attempt)
    return found


def csv_head() -> str:
    """The first line of a CSV file of items."""
    return _csv([CSV_COLUMNS])


def csv_lines(page: ItemPage) -> str:
    """A page of items as lines of a CSV file, safe to open in a spreadsheet."""
    return _csv(_cells(one) for one in page.items)


def _cells(one: JobItem) -> list[Any]:
    values = one.model_dump(mode="json")
    since = values["since"] or {}
    return [values[name] for name in CSV_COLUMNS[:-2]] + [since.get("outcome"), since.get("job")]


def _csv(rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cursor(one: items.ItemRow) -> str:
    return base64.urlsafe_b64encode(json.dumps([one.loop, one.position, one.key]).encode()).decode()


def _position(cursor: str | None) -> tuple[str, int, str] | None:
    if cursor is None:
        return None
    try:
        loop, position, key = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError):
        loop, position, key = None, None, None
    good = _is_storable(loop) and _is_storable(key) and type(position) is int and abs(position) < 1 << 31
    if not good:
        raise UsageError(Message("queries.bad-items-cursor"))
    return loop, position, key


def _is_storable(text: Any) -> bool:
    return isinstance(text, str) and not any(one == "\0" or "\ud800" <= one <= "\udfff" for one in text)
