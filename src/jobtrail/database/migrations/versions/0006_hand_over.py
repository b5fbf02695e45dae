"""Jobs that are handed over to another system, which our workers do not claim."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text, text
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MOMENT = BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql")

_INDEXES = {
    "jobtrail_jobs_due": (
        ["queue", "priority", "run_at", "id"],
        "status = 'pending' AND run_at IS NOT NULL AND NOT suspect AND executor IS NULL",
    ),
    "jobtrail_jobs_to_hand_over": (
        ["executor", "run_at"],
        "status = 'pending' AND run_at IS NOT NULL AND executor IS NOT NULL AND (handed_run IS NULL OR handed_run <> run_no)",
    ),
    "jobtrail_jobs_handed_over": (
        ["executor", "queue", "handed_at"],
        "status = 'pending' AND run_at IS NOT NULL AND executor IS NOT NULL AND handed_run = run_no",
    ),
    "jobtrail_jobs_handed": (
        ["queue", "executor", "run_at"],
        "status = 'pending' AND run_at IS NOT NULL AND executor IS NOT NULL",
    ),
}


def upgrade() -> None:
    """Add the columns and their indexes; the index of due jobs leaves out those that are handed over."""
    op.add_column("jobtrail_jobs", Column("executor", Text))
    op.add_column("jobtrail_jobs", Column("handed_at", MOMENT))
    op.add_column("jobtrail_jobs", Column("handed_run", Integer))
    op.add_column("jobtrail_workers", Column("executor", Text))
    op.drop_index("jobtrail_jobs_due", table_name="jobtrail_jobs")
    for name, (columns, where) in _INDEXES.items():
        op.create_index(name, "jobtrail_jobs", columns, postgresql_where=text(where), sqlite_where=text(where))
