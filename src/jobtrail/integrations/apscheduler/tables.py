"""The tables of the integration: APScheduler's jobs, and what became of their planned times."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, MetaData, PrimaryKeyConstraint, Table, Text

from jobtrail.database.types import Id, Moment, Sentence

aps_metadata = MetaData()

# APScheduler's own store may have a table ``apscheduler_jobs`` in the same database.
aps_jobs = Table(
    "aps_jobs",
    aps_metadata,
    Column("store", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("next_run_time", Moment),
    Column("definition", Text, nullable=False),
    # Rises with every change, so that a firing is claimed once.
    Column("version", Integer, nullable=False),
    PrimaryKeyConstraint("store", "id"),
    Index("aps_jobs_due", "store", "next_run_time"),
)

aps_slots = Table(
    "aps_slots",
    aps_metadata,
    Column("store", Text, nullable=False),
    Column("schedule", Text, nullable=False),
    Column("planned_at", Moment, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Sentence),
    Column("job_id", Id),
    Column("through", Moment),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("store", "schedule", "planned_at"),
)
