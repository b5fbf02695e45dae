"""Tokens that are bound to one thing, such as a module, and may call nothing else."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobtrail_tokens", Column("bound_to", Text))
