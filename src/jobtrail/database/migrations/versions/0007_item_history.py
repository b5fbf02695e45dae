"""The history of items: what an item was before another run or job recorded it again."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, PrimaryKeyConstraint, Text
from sqlalchemy.dialects.postgresql import TIMESTAMP, UUID

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, and the index by which a job finds its own rows. What was overwritten before is not known."""
    uuid = Text().with_variant(UUID(), "postgresql")
    op.create_table(
        "jobtrail_item_history",
        Column("generation", uuid, nullable=False),
        Column("loop", Text, nullable=False),
        Column("key", Text, nullable=False),
        Column("position", Integer, nullable=False),
        Column("outcome", Text, nullable=False),
        Column("reason", Text),
        Column("error_type", Text),
        Column("job_id", uuid, nullable=False),
        Column("run_no", Integer, nullable=False),
        Column("tries", Integer, nullable=False),
        Column("at", BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql"), nullable=False),
        Column("last_of_job", Boolean, nullable=False),
        PrimaryKeyConstraint("generation", "loop", "key", "job_id", "run_no"),
        sqlite_with_rowid=False,
    )
    of_job = ["job_id", "last_of_job", "loop", "position"]
    op.create_index("jobtrail_item_history_job", "jobtrail_item_history", of_job)
