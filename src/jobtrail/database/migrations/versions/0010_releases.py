"""Releases: the ends of jobs with many successors, which come in chunks."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text
from sqlalchemy.dialects.postgresql import UUID

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    uuid = Text().with_variant(UUID(), "postgresql")
    op.create_table(
        "jobtrail_releases",
        Column("id", uuid, primary_key=True),
        Column("after", uuid, nullable=False),
        Column("status", Text, nullable=False),
        Column("passed", uuid),
    )
