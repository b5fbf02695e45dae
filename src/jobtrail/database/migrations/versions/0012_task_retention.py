"""How long the jobs of a task are kept, where the task says so: known to every process that removes jobs."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "0012"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "jobtrail_task_retention",
        Column("task", Text, primary_key=True, nullable=False),
        Column("kept", Text, nullable=False),
    )
