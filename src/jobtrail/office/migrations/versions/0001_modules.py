"""Modules, their history, their hours, and the watch."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Float, Integer, PrimaryKeyConstraint, Text, text
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MOMENT = BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql")
NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    _status()
    _history()
    _hours()
    _watch()


def _status() -> None:
    op.create_table(
        "office_module_status",
        Column("module", Text, primary_key=True),
        Column("status", Text, nullable=False),
        Column("last_activity", MOMENT),
        Column("warn_at", MOMENT),
        Column("error_at", MOMENT),
        Column("since", MOMENT, nullable=False),
        Column("message", Text),
        Column("metrics", Text),
        Column("due_at", MOMENT),
        Column("registered_at", MOMENT, nullable=False),
        Column("counts_from", MOMENT, nullable=False),
        Column("warn_after", Float, nullable=False),
        Column("error_after", Float, nullable=False),
        Column("recovery_beats", Integer, nullable=False),
        Column("quiet_hours", Text, nullable=False, server_default=""),
        Column("own_limits", Boolean, nullable=False, server_default=text("false")),
        Column("declared", Boolean, nullable=False, server_default=text("false")),
        Column("paused_until", MOMENT),
        Column("pause_reason", Text),
        Column("pause_actor", Text),
        Column("before_pause", Text),
        Column("reported", Text),
        Column("worst", Text),
        Column("streak", Integer, nullable=False, server_default="0"),
        Column("beats", BigInteger, nullable=False, server_default="0"),
        Column("ahead", Float, nullable=False, server_default="0"),
        Column("version", Integer, nullable=False, server_default="0"),
        postgresql_with={"fillfactor": 40},
    )
    op.create_index("ix_office_module_status_due_at", "office_module_status", ["due_at"])


def _history() -> None:
    op.create_table(
        "office_module_status_history",
        Column("id", NUMBER, primary_key=True, autoincrement=True),
        Column("recorded_at", MOMENT, nullable=False),
        Column("module", Text, nullable=False),
        Column("from", Text),
        Column("to", Text, nullable=False),
        Column("reason", Text),
        Column("actor", Text),
    )
    name = "office_module_status_history"
    op.create_index(f"ix_{name}_module", name, ["module", "recorded_at"])
    op.create_index(f"ix_{name}_recorded_at", name, ["recorded_at"])


def _hours() -> None:
    op.create_table(
        "office_module_metrics_hourly",
        Column("module", Text, nullable=False),
        Column("hour", MOMENT, nullable=False),
        Column("measure", Text, nullable=False),
        Column("value", Float, nullable=False),
        Column("least", Float),
        Column("most", Float),
        Column("weight", Float, nullable=False),
        PrimaryKeyConstraint("module", "hour", "measure"),
    )
    op.create_index("ix_office_module_metrics_hourly_hour", "office_module_metrics_hourly", ["hour"])
    op.create_table(
        "office_module_samples",
        Column("module", Text, nullable=False),
        Column("hour", MOMENT, nullable=False),
        Column("measure", Text, nullable=False),
        Column("weight", Float, nullable=False),
        Column("total", Float, nullable=False),
        Column("least", Float),
        Column("most", Float),
        Column("first_at", MOMENT),
        Column("last_at", MOMENT),
        Column("gap", Float),
        PrimaryKeyConstraint("module", "hour", "measure"),
        postgresql_with={"fillfactor": 50},
    )
    op.create_index("ix_office_module_samples_hour", "office_module_samples", ["hour"])


def _watch() -> None:
    op.create_table(
        "office_watch",
        Column("name", Text, primary_key=True),
        Column("looked_at", MOMENT, nullable=False),
        Column("look_by", MOMENT, nullable=False),
        Column("cadence", Float, nullable=False),
        Column("back_at", MOMENT),
        Column("aggregated_until", MOMENT),
        Column("cleaned_at", MOMENT),
    )
