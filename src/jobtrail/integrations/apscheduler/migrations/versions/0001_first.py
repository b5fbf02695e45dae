"""APScheduler's jobs and their planned times."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, Text
from sqlalchemy.dialects.postgresql import TIMESTAMP, UUID

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MOMENT = BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql")
IDENTITY = Text().with_variant(UUID(), "postgresql")


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "aps_jobs",
        Column("store", Text, nullable=False),
        Column("id", Text, nullable=False),
        Column("next_run_time", MOMENT),
        Column("definition", Text, nullable=False),
        Column("version", Integer, nullable=False),
        PrimaryKeyConstraint("store", "id"),
    )
    op.create_index("aps_jobs_due", "aps_jobs", ["store", "next_run_time"])
    op.create_table(
        "aps_slots",
        Column("store", Text, nullable=False),
        Column("schedule", Text, nullable=False),
        Column("planned_at", MOMENT, nullable=False),
        Column("state", Text, nullable=False),
        Column("reason", Text),
        Column("job_id", IDENTITY),
        Column("through", MOMENT),
        Column("at", MOMENT, nullable=False),
        PrimaryKeyConstraint("store", "schedule", "planned_at"),
    )
