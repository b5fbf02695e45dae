"""Keys of removed jobs: an idempotency key keeps the end of a job that retention removes."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and the index by which retention finds the keys of a job."""
    op.add_column("jobtrail_idempotency_keys", Column("removed", Text))
    op.create_index("ix_jobtrail_idempotency_keys_job_id", "jobtrail_idempotency_keys", ["job_id"])
