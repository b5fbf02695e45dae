"""Units of removed jobs: a unit keeps the end of its last job when retention removes the job."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Of jobs that were removed before, the unit knows when it became complete.
_ENDED = {
    "sqlite": (
        "json_object('task', task, 'status', 'completed', 'outcome', outcome, 'finished_at',"
        " strftime('%Y-%m-%dT%H:%M:%S+00:00', changed_at / 1000000, 'unixepoch'))"
    ),
    "postgresql": (
        "json_build_object('task', task, 'status', 'completed', 'outcome', outcome, 'finished_at',"
        """ to_char(changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'))::text"""
    ),
}


def upgrade() -> None:
    """Add the column, and fill it for complete units whose job is gone already."""
    op.add_column("jobtrail_units", Column("removed", Text))
    op.execute(
        f"UPDATE jobtrail_units SET removed = {_ENDED[op.get_context().dialect.name]}"  # noqa: S608 - constants
        " WHERE outcome = 'success' AND job_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM jobtrail_jobs WHERE jobtrail_jobs.id = jobtrail_units.job_id)"
    )
