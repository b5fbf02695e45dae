"""Workers say which tasks they know."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "0015"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; workers of before say nothing."""
    op.add_column("jobtrail_workers", Column("tasks", Text))
