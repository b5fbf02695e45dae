"""Announced events: whoever changes something writes one row in the transaction of the change; the row is the queue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from jobtrail.errors import InvalidOption
from jobtrail.job.masking import masked
from jobtrail.job.model import new_id
from jobtrail.messages import Message

from .tables import events

if TYPE_CHECKING:
    from sqlalchemy import Connection

KIND = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
SUBJECT = 200  # characters


@dataclass(frozen=True, slots=True)
class Announcement:
    """Something that happened and that rules may tell people about.

    Args:
        kind: What happened, in dotted lower-case words such as ``module.error``.
        subject: To what it happened, such as the name of a module or the id of a job.
        facts: JSON values that texts may name; secrets in them are masked before they are stored.
        at: When it happened, an aware datetime.
        resolved: True if what was announced before under this kind and subject is over.
        key: Which occurrence this is: a key that is there already is not announced again. Default: a new one.

    Raises:
        InvalidOption: If kind, subject or time is not valid.
    """

    kind: str
    subject: str
    facts: Mapping[str, Any]
    at: datetime
    resolved: bool = False
    key: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        """Check before anything is stored."""
        if not isinstance(self.kind, str) or not KIND.fullmatch(self.kind):
            raise InvalidOption(Message("notify.bad-kind", kind=repr(self.kind)))
        if not isinstance(self.subject, str) or not 0 < len(self.subject) <= SUBJECT:
            raise InvalidOption(Message("notify.bad-subject", subject=f"{self.subject!r:.100}", most=SUBJECT))
        if not isinstance(self.at, datetime) or self.at.tzinfo is None:
            raise InvalidOption(Message("notify.bad-moment", value=repr(self.at)))


def announce(
    conn: Connection,
    kind: str,
    subject: str,
    facts: Mapping[str, Any],
    at: datetime,
    *,
    resolved: bool = False,
    key: str | None = None,
) -> None:
    """Write one event in the caller's transaction; it is told if that commits, and never was if not.

    Args:
        conn: The transaction of the change.
        kind: What happened, such as ``module.error``. The default rule tells ``module.error`` and
            ``module.flapping`` to the administrators.
        subject: To what it happened, such as the name of a module.
        facts: JSON values that texts may name, such as ``{"message": "no file since 06:00"}``; secrets are masked.
        at: When it happened, by the store's clock.
        resolved: True if what was announced under this kind and subject is over, such as a module that is ``ok`` again.
        key: Which occurrence this is; a key that is there already is not announced again.

    Raises:
        InvalidOption: If kind, subject or time is not valid.
    """
    one = Announcement(kind, subject, facts, at, resolved, key or new_id())
    announce_all(conn, [one])


def announce_all(conn: Connection, announcements: Iterable[Announcement]) -> None:
    """Write many events in the caller's transaction, by one statement.

    Args:
        conn: The transaction of the change.
        announcements: The events, in the order in which they are to be told.
    """
    rows = [
        {
            "key": one.key,
            "kind": one.kind,
            "subject": one.subject,
            "resolved": one.resolved,
            "facts": dumps(masked(loads(dumps(dict(one.facts), default=str)))),
            "at": one.at,
        }
        for one in announcements
    ]
    if rows:
        conn.execute(_unless_there(conn), rows)


def _unless_there(conn: Connection) -> Any:
    """An insert that leaves out what is there already."""
    if conn.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as pg_insert

        return pg_insert(events).on_conflict_do_nothing(index_elements=["key"])
    return insert(events).prefix_with("OR IGNORE")
