"""Sessions: the cookie of a login is kept as a digest, so that a logout ends it everywhere."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Text
from sqlalchemy.dialects.postgresql import TIMESTAMP, UUID

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, and the index by which expired sessions are found."""
    op.create_table(
        "jobtrail_sessions",
        Column("digest", Text, primary_key=True),
        Column("token", Text().with_variant(UUID(), "postgresql"), nullable=False),
        Column("expires_at", BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql"), nullable=False),
    )
    op.create_index("ix_jobtrail_sessions_expires_at", "jobtrail_sessions", ["expires_at"])
