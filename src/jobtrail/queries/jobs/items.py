"""The items of a job: pages in the order of the input, and CSV."""

from __future__ import annotations

import base64
import csv
import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from jobtrail.errors import UsageError
from jobtrail.job.items import ItemOutcome
from jobtrail.messages import Message
from jobtrail.queries.base import MaskedText, Model
from jobtrail.queries.csv_cell import cell
from jobtrail.store import items, jobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

CSV_PAGE = 1000  # items in one piece of a file
CSV_COLUMNS = ("key", "outcome", "reason", "error_type", "loop", "position", "tries", "job", "at")


class JobItem(Model):
    """One thing inside a job, as it was last recorded."""

    key: MaskedText
    outcome: str = Field(description="ok, failed or skipped")
    reason: MaskedText | None
    error_type: str | None
    loop: str
    position: int
    tries: int
    job: str = Field(validation_alias="job_id", description="The job that recorded it.")
    at: datetime


class ItemPage(Model):
    """Items in the order of the input; ``next`` is the ``after`` of the following page."""

    items: list[JobItem]
    next: str | None


def read_page(
    conn: Connection,
    job_id: str,
    *,
    outcome: str | None = None,
    after: str | None = None,
    limit: int = 100,
    own: bool = False,
) -> ItemPage:
    """Read a page of the items of a job's generation.

    Args:
        conn: An open connection.
        job_id: The job's id, or a unique ending of it.
        outcome: Only items of this outcome: ok, failed or skipped.
        after: The ``next`` of the page before.
        limit: The size of the page.
        own: Only items that this job has recorded itself.

    Raises:
        NotFound: if there is no such job.
        UsageError: if ``after`` is not the ``next`` of a page.
    """
    row = jobs.resolve(conn, job_id)
    wanted = ItemOutcome(outcome) if outcome else None
    position = _position(after)
    found = items.page(
        conn, row.ledger, outcome=wanted, job_id=row.id if own else None, after=position, limit=limit + 1
    )
    shown = found[:limit]
    following = _cursor(shown[-1]) if len(found) > limit else None
    return ItemPage(items=[JobItem.model_validate(one) for one in shown], next=following)


def csv_head() -> str:
    """The first line of a CSV file of items."""
    return _csv([CSV_COLUMNS])


def csv_lines(page: ItemPage) -> str:
    """A page of items as lines of a CSV file, safe to open in a spreadsheet."""
    rows = (one.model_dump(mode="json") for one in page.items)
    return _csv([row[name] for name in CSV_COLUMNS] for row in rows)


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
