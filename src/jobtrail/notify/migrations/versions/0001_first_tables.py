"""The first tables of notifications.

Written out, not taken from `jobtrail.notify.tables`: what this revision made must not change when the tables go on.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, PrimaryKeyConstraint, Text, text
from sqlalchemy.dialects.postgresql import TIMESTAMP, UUID

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = Text().with_variant(UUID(), "postgresql")
MOMENT = BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql")
NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def _partial(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    condition = text(where)
    op.create_index(name, table, columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


def upgrade() -> None:
    """Create every table."""
    _events()
    _deliveries()
    _delivery_events()
    _inbox()
    _channels()
    _positions()


def _events() -> None:
    op.create_table(
        "notify_events",
        Column("id", NUMBER, primary_key=True, autoincrement=True),
        Column("key", Text, nullable=False, unique=True),
        Column("kind", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("resolved", Boolean, nullable=False),
        Column("facts", Text, nullable=False),
        Column("at", MOMENT, nullable=False),
        Column("processed_at", MOMENT),
        Column("open", Boolean, nullable=False, server_default=text("false")),
    )
    _partial("notify_events_queue", "notify_events", ["id"], "processed_at IS NULL")
    _partial("notify_events_open", "notify_events", ["kind", "subject"], "open")
    op.create_index("notify_events_at", "notify_events", ["at"])


def _deliveries() -> None:
    op.create_table(
        "notify_deliveries",
        Column("id", ID, primary_key=True),
        Column("rule", Text, nullable=False),
        Column("channel", Text, nullable=False),
        Column("group_key", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("created_at", MOMENT, nullable=False),
        Column("due_at", MOMENT, nullable=False),
        Column("events", Integer, nullable=False, server_default="0"),
        Column("title", Text),
        Column("body", Text),
        Column("job_id", ID),
        Column("tries", Integer, nullable=False, server_default="0"),
        Column("sending_at", MOMENT),
        Column("perhaps_twice", Boolean, nullable=False, server_default=text("false")),
        Column("sent_at", MOMENT),
        Column("error", Text),
        Column("instead_of", ID),
    )
    table = "notify_deliveries"
    op.create_index("notify_deliveries_group", table, ["rule", "channel", "group_key"], unique=True)
    _partial("notify_deliveries_collecting", table, ["rule", "channel"], "state = 'collecting'", unique=True)
    _partial("notify_deliveries_due", table, ["due_at"], "state = 'collecting'")
    _partial("notify_deliveries_queued", table, ["id"], "state = 'queued'")
    op.create_index("notify_deliveries_created", table, ["created_at"])


def _delivery_events() -> None:
    op.create_table(
        "notify_delivery_events",
        Column("delivery_id", ID, nullable=False),
        Column("event_id", BigInteger, nullable=False),
        Column("rule", Text, nullable=False),
        Column("channel", Text, nullable=False),
        Column("again", Boolean, nullable=False),
        PrimaryKeyConstraint("delivery_id", "event_id"),
    )
    once = ["event_id", "rule", "channel"]
    _partial("notify_delivery_events_once", "notify_delivery_events", once, "NOT again", unique=True)


def _inbox() -> None:
    op.create_table(
        "notify_inbox",
        Column("id", ID, primary_key=True),
        Column("delivery_id", ID, unique=True),
        Column("at", MOMENT, nullable=False),
        Column("title", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("kind", Text),
        Column("subject", Text),
        Column("read_at", MOMENT),
        Column("read_by", Text),
    )
    _partial("notify_inbox_unread", "notify_inbox", ["id"], "read_at IS NULL")
    op.create_index("notify_inbox_at", "notify_inbox", ["at"])


def _channels() -> None:
    op.create_table(
        "notify_channels",
        Column("name", Text, primary_key=True),
        Column("state", Text, nullable=False),
        Column("message", Text),
        Column("failures", Integer, nullable=False, server_default="0"),
        Column("refusals", Integer, nullable=False, server_default="0"),
        Column("failing_since", MOMENT),
        Column("last_error", Text),
        Column("last_sent_at", MOMENT),
        Column("changed_at", MOMENT, nullable=False),
    )


def _positions() -> None:
    op.create_table(
        "notify_positions",
        Column("source", Text, primary_key=True),
        Column("position", BigInteger, nullable=False),
        Column("detail", Text),
        Column("at", MOMENT, nullable=False),
    )
