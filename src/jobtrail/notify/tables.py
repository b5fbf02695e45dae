"""The tables of notifications: announced events, deliveries and what each tells, inbox, channels, stored positions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from jobtrail.database.types import FreeText, Id, Moment, Sentence

metadata = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")


def _where(condition: str) -> dict[str, Any]:
    return {"postgresql_where": text(condition), "sqlite_where": text(condition)}


# The queue: an event without `processed_at` has not been turned into deliveries yet.
events = Table(
    "notify_events",
    metadata,
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    # Says which occurrence this is, so that what is read twice is stored once.
    Column("key", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("subject", FreeText, nullable=False),
    Column("resolved", Boolean, nullable=False),
    Column("facts", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("processed_at", Moment),
    # It is a problem that was told and is not over yet.
    Column("open", Boolean, nullable=False, server_default=text("false")),
    Index("notify_events_queue", "id", **_where("processed_at IS NULL")),
    Index("notify_events_open", "kind", "subject", **_where("open")),
    Index("notify_events_at", "at"),
)

# One message: of one rule, to one channel, about the events of one group.
deliveries = Table(
    "notify_deliveries",
    metadata,
    Column("id", Id, primary_key=True),
    Column("rule", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("group_key", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),
    Column("events", Integer, nullable=False, server_default="0"),
    Column("title", FreeText),
    Column("body", FreeText),
    Column("job_id", Id),
    Column("tries", Integer, nullable=False, server_default="0"),
    # Set before a message leaves on a channel that cannot tell whether it arrived, and taken back when it surely did not.
    Column("sending_at", Moment),
    # The process died, or the answer was lost, while it was sending: the message may have come twice.
    Column("perhaps_twice", Boolean, nullable=False, server_default=text("false")),
    Column("sent_at", Moment),
    Column("error", Sentence),
    Column("instead_of", Id),
    Index("notify_deliveries_group", "rule", "channel", "group_key", unique=True),
    Index("notify_deliveries_collecting", "rule", "channel", unique=True, **_where("state = 'collecting'")),
    Index("notify_deliveries_due", "due_at", **_where("state = 'collecting'")),
    Index("notify_deliveries_queued", "id", **_where("state = 'queued'")),
    Index("notify_deliveries_created", "created_at"),
)

# Which delivery tells which event; an event is told once by a rule on a channel, reminders aside.
delivery_events = Table(
    "notify_delivery_events",
    metadata,
    Column("delivery_id", Id, nullable=False),
    Column("event_id", BigInteger, nullable=False),
    Column("rule", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("again", Boolean, nullable=False),
    PrimaryKeyConstraint("delivery_id", "event_id"),
    Index("notify_delivery_events_once", "event_id", "rule", "channel", unique=True, **_where("NOT again")),
)

inbox = Table(
    "notify_inbox",
    metadata,
    Column("id", Id, primary_key=True),
    Column("delivery_id", Id, unique=True),
    Column("at", Moment, nullable=False),
    Column("title", FreeText, nullable=False),
    Column("body", FreeText, nullable=False),
    Column("kind", Text),
    Column("subject", FreeText),
    Column("read_at", Moment),
    Column("read_by", FreeText),
    Index("notify_inbox_unread", "id", **_where("read_at IS NULL")),
    Index("notify_inbox_at", "at"),
)

channels = Table(
    "notify_channels",
    metadata,
    Column("name", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("message", Sentence),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("refusals", Integer, nullable=False, server_default="0"),
    Column("failing_since", Moment),
    Column("last_error", Sentence),
    Column("last_sent_at", Moment),
    Column("changed_at", Moment, nullable=False),
)

# How far each source has been read.
positions = Table(
    "notify_positions",
    metadata,
    Column("source", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("detail", Text),
    Column("at", Moment, nullable=False),
)
