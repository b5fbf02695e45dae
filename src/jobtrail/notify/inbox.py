"""The inbox of the console, and deliveries as people read them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from jobtrail.errors import NotFound
from jobtrail.messages import Message
from jobtrail.queries.base import MaskedText, Model

from .tables import deliveries, inbox

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST = 500
COUNTED = 1000  # unread entries that are counted


class InboxEntry(Model):
    """One message in the inbox."""

    id: str
    at: datetime
    title: MaskedText
    body: MaskedText
    kind: str | None
    subject: MaskedText | None
    read_at: datetime | None
    read_by: str | None


class InboxPage(Model):
    """The newest messages, and how many are not read (at most 1,000 are counted)."""

    entries: list[InboxEntry]
    unread: int


class DeliveryView(Model):
    """One message of one rule to one channel.

    state: collecting (waits for more events), queued (its job sends it), sent, failed, or replaced (another channel told it).
    """

    id: str
    rule: str
    channel: str
    state: str
    created_at: datetime
    due_at: datetime
    events: int
    title: MaskedText | None
    body: MaskedText | None
    job_id: str | None
    tries: int
    perhaps_twice: bool
    sent_at: datetime | None
    error: MaskedText | None
    instead_of: str | None


def page(conn: Connection, *, unread: bool, before: str | None, limit: int) -> InboxPage:
    """The newest messages, older than the entry ``before``."""
    query = select(inbox).order_by(inbox.c.id.desc()).limit(min(max(limit, 1), MOST))
    if unread:
        query = query.where(inbox.c.read_at.is_(None))
    if before is not None:
        query = query.where(inbox.c.id < before)
    entries = [InboxEntry.model_validate({name: row[name] for name in InboxEntry.model_fields}) for row in _rows(conn, query)]
    return InboxPage(entries=entries, unread=count_unread(conn))


def count_unread(conn: Connection) -> int:
    """How many messages nobody has read, at most `COUNTED`."""
    found = select(inbox.c.id).where(inbox.c.read_at.is_(None)).limit(COUNTED).subquery()
    return int(conn.execute(select(func.count()).select_from(found)).scalar_one())


def mark_read(conn: Connection, one: str | None, actor: str, now: datetime) -> int:
    """Note that somebody has read one message, or all of them; the first reader counts.

    Returns:
        How many were not read before.

    Raises:
        NotFound: If there is no such message.
    """
    mine = update(inbox).where(inbox.c.read_at.is_(None)).values(read_at=now, read_by=actor)
    if one is None:
        return conn.execute(mine).rowcount
    if conn.execute(select(inbox.c.id).where(inbox.c.id == one)).first() is None:
        raise NotFound(Message("notify.no-entry", id=one))
    return conn.execute(mine.where(inbox.c.id == one)).rowcount


def list_deliveries(conn: Connection, *, channel: str | None, state: str | None, limit: int) -> list[DeliveryView]:
    """The newest deliveries."""
    query = select(deliveries).order_by(deliveries.c.created_at.desc(), deliveries.c.id.desc()).limit(min(max(limit, 1), MOST))
    if channel is not None:
        query = query.where(deliveries.c.channel == channel)
    if state is not None:
        query = query.where(deliveries.c.state == state)
    return [DeliveryView.model_validate({name: row[name] for name in DeliveryView.model_fields}) for row in _rows(conn, query)]


def _rows(conn: Connection, query: Any) -> list[Any]:
    return [row._mapping for row in conn.execute(query)]
