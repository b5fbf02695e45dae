"""The tables of Office. Limits are seconds; JSON is kept as text, as in the core's tables."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from jobtrail.database.types import FreeText, Moment

office_metadata = MetaData()

module_status = Table(
    "office_module_status",
    office_metadata,
    Column("module", Text, primary_key=True),
    Column("status", Text, nullable=False),
    Column("last_activity", Moment),
    # When silence turns it to warning and to error. Exact, and moved by every beat, so without an index.
    Column("warn_at", Moment),
    Column("error_at", Moment),
    Column("since", Moment, nullable=False),
    Column("message", FreeText),
    Column("metrics", Text),
    # When to look at it next: never later than the due time, but perhaps earlier. A beat leaves it alone, so that no index changes.
    Column("due_at", Moment),
    Column("registered_at", Moment, nullable=False),
    Column("counts_from", Moment, nullable=False),
    Column("warn_after", Float, nullable=False),
    Column("error_after", Float, nullable=False),
    Column("recovery_beats", Integer, nullable=False),
    Column("quiet_hours", Text, nullable=False, server_default=""),
    # Somebody gave it limits of its own, so that those of the settings do not count.
    Column("own_limits", Boolean, nullable=False, server_default=text("false")),
    Column("declared", Boolean, nullable=False, server_default=text("false")),
    Column("paused_until", Moment),
    Column("pause_reason", FreeText),
    Column("pause_actor", FreeText),
    Column("before_pause", Text),
    Column("reported", Text),
    Column("worst", Text),
    Column("streak", Integer, nullable=False, server_default="0"),
    Column("beats", BigInteger, nullable=False, server_default="0"),
    Column("ahead", Float, nullable=False, server_default="0"),
    Column("version", Integer, nullable=False, server_default="0"),
    postgresql_with={"fillfactor": 40},  # room in each page for the next version of a row
)
status_due = Index("ix_office_module_status_due_at", module_status.c.due_at)

status_history = Table(
    "office_module_status_history",
    office_metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("recorded_at", Moment, nullable=False),
    Column("module", Text, nullable=False),
    Column("from", Text),
    Column("to", Text, nullable=False),
    Column("reason", Text),
    Column("actor", FreeText),
)
history_by_module = Index("ix_office_module_status_history_module", status_history.c.module, status_history.c.recorded_at)
history_by_time = Index("ix_office_module_status_history_recorded_at", status_history.c.recorded_at)

metrics_hourly = Table(
    "office_module_metrics_hourly",
    office_metadata,
    Column("module", Text, nullable=False),
    Column("hour", Moment, nullable=False),
    Column("measure", Text, nullable=False),
    Column("value", Float, nullable=False),
    Column("least", Float),
    Column("most", Float),
    Column("weight", Float, nullable=False),
    PrimaryKeyConstraint("module", "hour", "measure"),
)
metrics_by_hour = Index("ix_office_module_metrics_hourly_hour", metrics_hourly.c.hour)

# What the beats of an hour add up to, before it is aggregated: the measure "" is the beats themselves.
module_samples = Table(
    "office_module_samples",
    office_metadata,
    Column("module", Text, nullable=False),
    Column("hour", Moment, nullable=False),
    Column("measure", Text, nullable=False),
    Column("weight", Float, nullable=False),
    Column("total", Float, nullable=False),
    Column("least", Float),
    Column("most", Float),
    Column("first_at", Moment),
    Column("last_at", Moment),
    Column("gap", Float),
    PrimaryKeyConstraint("module", "hour", "measure"),
    postgresql_with={"fillfactor": 50},
)
samples_by_hour = Index("ix_office_module_samples_hour", module_samples.c.hour)

# One row: when somebody looked last, and until when the next look is expected.
office_watch = Table(
    "office_watch",
    office_metadata,
    Column("name", Text, primary_key=True),
    Column("looked_at", Moment, nullable=False),
    Column("look_by", Moment, nullable=False),
    Column("cadence", Float, nullable=False),
    Column("back_at", Moment),
    Column("aggregated_until", Moment),
    Column("cleaned_at", Moment),
)
