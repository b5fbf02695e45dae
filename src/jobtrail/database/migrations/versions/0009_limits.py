"""Limits by key: the keys of a job, what each limit allows, and what has started lately; limited jobs have an index of their own."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Float, Integer, PrimaryKeyConstraint, Text, text
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

MOMENT = BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql")
_CLAIMABLE = "status = 'pending' AND run_at IS NOT NULL AND NOT suspect AND executor IS NULL"
_UNSENT = (
    "status = 'pending' AND run_at IS NOT NULL AND executor IS NOT NULL AND (handed_run IS NULL OR handed_run <> run_no)"
)
_INDEXES = {
    "jobtrail_jobs_due": (["queue", "priority", "run_at", "id"], f"{_CLAIMABLE} AND limits IS NULL"),
    "jobtrail_jobs_limited": (["queue", "limits", "priority", "run_at", "id"], f"{_CLAIMABLE} AND limits IS NOT NULL"),
    "jobtrail_jobs_limited_held": (
        ["limits"], "limits IS NOT NULL AND (status IN ('running', 'cancelling') OR body_running)",
    ),
    "jobtrail_jobs_to_hand_over": (["executor", "run_at"], f"{_UNSENT} AND limits IS NULL"),
    "jobtrail_jobs_limited_to_hand_over": (["executor", "limits", "run_at"], f"{_UNSENT} AND limits IS NOT NULL"),
}  # fmt: skip


def upgrade() -> None:
    """Add the column, its indexes and the tables; the indexes of due jobs leave out those with a limit."""
    op.add_column("jobtrail_jobs", Column("limits", Text))
    for name in ("jobtrail_jobs_due", "jobtrail_jobs_to_hand_over"):
        op.drop_index(name, table_name="jobtrail_jobs")
    for name, (columns, where) in _INDEXES.items():
        op.create_index(name, "jobtrail_jobs", columns, postgresql_where=text(where), sqlite_where=text(where))
    op.create_table(
        "jobtrail_limits",
        Column("name", Text, primary_key=True),
        Column("running", Integer),
        Column("rate", Integer),
        Column("per", Float),
        Column("declared", Text),
        Column("actor", Text),
        Column("reason", Text),
        Column("at", MOMENT),
    )
    op.create_table(
        "jobtrail_limit_starts",
        Column("name", Text, nullable=False),
        Column("key", Text, nullable=False),
        Column("used", Text, nullable=False),
        Column("at", MOMENT, nullable=False),
        PrimaryKeyConstraint("name", "key"),
    )
