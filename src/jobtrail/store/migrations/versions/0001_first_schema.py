"""The first schema."""

from __future__ import annotations

from alembic import op

from jobtrail.store.tables import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    metadata.create_all(op.get_bind(), checkfirst=False)
