"""The first schema.

Written out, not taken from `jobtrail.database.tables`: what this revision made must not change when the tables
go on. The exam compares the two.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import TIMESTAMP, UUID

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = Text().with_variant(UUID(), "postgresql")
MOMENT = BigInteger().with_variant(TIMESTAMP(timezone=True), "postgresql")
NUMBER = BigInteger().with_variant(Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    _jobs()
    _job_labels()
    _units()
    _items()
    _steps()
    _progress()
    _logs()
    _events()
    _questions()
    _successors()
    _groups()
    _workers()
    _beats()
    _submitters()
    _idempotency_keys()
    _job_totals()
    _people()
    _schedules()
    _slots()
    _leases()


def _partial(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    condition = text(where)
    op.create_index(name, table, columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


def _jobs() -> None:
    op.create_table(
        "jobtrail_jobs",
        Column("id", ID, primary_key=True),
        Column("task", Text, nullable=False),
        Column("kind", Text),
        Column("queue", Text, nullable=False),
        Column("priority", SmallInteger, nullable=False),
        Column("status", Text, nullable=False),
        Column("outcome", Text),
        Column("run_no", Integer, nullable=False, server_default="0"),
        Column("attempt", Integer, nullable=False, server_default="0"),
        Column("max_attempts", Integer),
        Column("run_at", MOMENT),
        Column("args", Text, nullable=False),
        Column("options", Text),
        Column("unit", Text),
        Column("unit_lock", Text),
        Column("source", Text),
        Column("period", Text),
        Column("file", Text),
        Column("generation", ID),
        Column("mode", Text),
        Column("continues", Text),
        Column("waits_for", ID),
        Column("rerun_of", ID),
        Column("parent", ID),
        Column("root", ID),
        Column("actor", Text),
        Column("reason", Text),
        Column("context", Text),
        Column("labels", Text),
        Column("submitter", ID),
        Column("created_at", MOMENT, nullable=False),
        Column("started_at", MOMENT),
        Column("finished_at", MOMENT),
        Column("worker", ID),
        Column("stop_cause", Text),
        Column("stop_at", MOMENT),
        Column("deadline_at", MOMENT),
        Column("deadline_cause", Text),
        Column("deadline_run", Integer),
        Column("body_running", Boolean, nullable=False, server_default=text("false")),
        Column("put_backs", Integer, nullable=False, server_default="0"),
        Column("hand_backs", Integer, nullable=False, server_default="0"),
        Column("strikes", Integer, nullable=False, server_default="0"),
        Column("suspect", Boolean, nullable=False, server_default=text("false")),
        Column("followed", Boolean, nullable=False, server_default=text("false")),
        Column("result", Text),
        Column("note", Text),
        Column("error", Text),
        Column("fingerprint", Text),
        Column("retry_reason", Text),
        Column("items_ok", Integer),
        Column("items_failed", Integer),
        Column("items_skipped", Integer),
    )
    _partial(
        "jobtrail_jobs_behind",
        "jobtrail_jobs",
        ["unit"],
        "waits_for IS NOT NULL AND unit IS NOT NULL AND status = 'pending'",
        unique=True,
    )
    _partial(
        "jobtrail_jobs_due",
        "jobtrail_jobs",
        ["queue", "priority", "run_at", "id"],
        "status = 'pending' AND run_at IS NOT NULL AND NOT suspect",
    )
    _partial(
        "jobtrail_jobs_suspect",
        "jobtrail_jobs",
        ["queue", "run_at"],
        "suspect AND status IN ('pending', 'running', 'cancelling')",
    )
    _partial("jobtrail_jobs_body", "jobtrail_jobs", ["worker"], "body_running")
    _partial("jobtrail_jobs_interrupted", "jobtrail_jobs", ["id"], "status = 'interrupted'")
    _partial("jobtrail_jobs_fingerprint", "jobtrail_jobs", ["fingerprint", "id"], "fingerprint IS NOT NULL")
    _partial("jobtrail_jobs_generation", "jobtrail_jobs", ["generation"], "generation IS NOT NULL")
    _partial("jobtrail_jobs_held", "jobtrail_jobs", ["worker"], "status IN ('running', 'cancelling')")
    _partial(
        "jobtrail_jobs_open", "jobtrail_jobs", ["status", "id"], "status NOT IN ('pending', 'running', 'completed')"
    )
    _partial("jobtrail_jobs_parent", "jobtrail_jobs", ["parent"], "parent IS NOT NULL")
    _partial("jobtrail_jobs_root", "jobtrail_jobs", ["root"], "root IS NOT NULL")
    _partial("jobtrail_jobs_rerun_of", "jobtrail_jobs", ["rerun_of"], "rerun_of IS NOT NULL")
    _partial("jobtrail_jobs_source", "jobtrail_jobs", ["source", "id"], "source IS NOT NULL")
    _partial("jobtrail_jobs_period", "jobtrail_jobs", ["period", "id"], "period IS NOT NULL")
    op.create_index("jobtrail_jobs_task", "jobtrail_jobs", ["task", "id"])
    _partial("jobtrail_jobs_unit", "jobtrail_jobs", ["unit", "id"], "unit IS NOT NULL")
    _partial("jobtrail_jobs_unit_lock", "jobtrail_jobs", ["unit_lock"], "unit_lock IS NOT NULL", unique=True)
    _partial("jobtrail_jobs_waiting", "jobtrail_jobs", ["waits_for"], "waits_for IS NOT NULL")


def _job_labels() -> None:
    op.create_table(
        "jobtrail_job_labels",
        Column("key", Text, nullable=False),
        Column("value", Text, nullable=False),
        Column("job_id", ID, nullable=False),
        PrimaryKeyConstraint("key", "value", "job_id"),
    )
    op.create_index("jobtrail_job_labels_job", "jobtrail_job_labels", ["job_id"])


def _units() -> None:
    op.create_table(
        "jobtrail_units",
        Column("unit", Text, primary_key=True),
        Column("task", Text, nullable=False),
        Column("source", Text),
        Column("period", Text),
        Column("period_start", MOMENT),
        Column("period_end", MOMENT),
        Column("sha256", Text),
        Column("text", Text, nullable=False),
        Column("generation", ID),
        Column("outcome", Text),
        Column("job_id", ID),
        Column("items_ok", Integer),
        Column("items_failed", Integer),
        Column("items_skipped", Integer),
        Column("linked_unit", Text),
        Column("changed_at", MOMENT, nullable=False),
    )
    op.create_index("jobtrail_units_generation", "jobtrail_units", ["generation"])
    op.create_index("jobtrail_units_task", "jobtrail_units", ["task", "source", "period_start"])


def _items() -> None:
    op.create_table(
        "jobtrail_items",
        Column("generation", ID, nullable=False),
        Column("loop", Text, nullable=False),
        Column("key", Text, nullable=False),
        Column("position", Integer, nullable=False),
        Column("outcome", Text, nullable=False),
        Column("reason", Text),
        Column("error_type", Text),
        Column("job_id", ID, nullable=False),
        Column("run_no", Integer, nullable=False),
        Column("tries", Integer, nullable=False),
        Column("at", MOMENT, nullable=False),
        PrimaryKeyConstraint("generation", "loop", "key"),
        sqlite_with_rowid=False,
    )
    _partial("jobtrail_items_failed", "jobtrail_items", ["generation", "loop", "position"], "outcome = 'failed'")


def _steps() -> None:
    op.create_table(
        "jobtrail_steps",
        Column("generation", ID, nullable=False),
        Column("name", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("job_id", ID, nullable=False),
        Column("run_no", Integer, nullable=False),
        Column("result", Text),
        Column("seconds", Float, nullable=False),
        Column("at", MOMENT, nullable=False),
        PrimaryKeyConstraint("generation", "name", "digest"),
    )


def _progress() -> None:
    op.create_table(
        "jobtrail_progress",
        Column("job_id", ID, primary_key=True),
        Column("run_no", Integer, nullable=False),
        Column("percent", Float),
        Column("done", Integer),
        Column("total", Integer),
        Column("message", Text),
        Column("metadata", Text),
        Column("last_heartbeat_at", MOMENT, nullable=False),
    )


def _logs() -> None:
    op.create_table(
        "jobtrail_logs",
        Column("job_id", ID, nullable=False),
        Column("seq", Integer, nullable=False),
        Column("run_no", Integer, nullable=False),
        Column("at", MOMENT, nullable=False),
        Column("lines", Integer, nullable=False),
        Column("bytes", Integer, nullable=False),
        Column("dropped", Integer, nullable=False, server_default="0"),
        Column("text", Text, nullable=False),
        PrimaryKeyConstraint("job_id", "seq"),
    )


def _events() -> None:
    op.create_table(
        "jobtrail_events",
        Column("id", NUMBER, primary_key=True, autoincrement=True),
        Column("job_id", ID, nullable=False),
        Column("at", MOMENT, nullable=False),
        Column("name", Text, nullable=False),
        Column("from_status", Text),
        Column("to_status", Text),
        Column("run_no", Integer),
        Column("actor", Text),
        Column("reason", Text),
        Column("detail", Text),
    )
    op.create_index("jobtrail_events_job", "jobtrail_events", ["job_id", "id"])


def _questions() -> None:
    op.create_table(
        "jobtrail_questions",
        Column("id", ID, primary_key=True),
        Column("job_id", ID, nullable=False),
        Column("generation", ID, nullable=False),
        Column("run_no", Integer, nullable=False),
        Column("name", Text, nullable=False),
        Column("text", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("schema", Text, nullable=False),
        Column("detail", Text),
        Column("digest", Text, nullable=False),
        Column("default", Text),
        Column("remember", Boolean, nullable=False),
        Column("state", Text, nullable=False),
        Column("asked_at", MOMENT, nullable=False),
        Column("expires_at", MOMENT),
        Column("answer", Text),
        Column("closed_at", MOMENT),
        Column("actor", Text),
        Column("reason", Text),
    )
    op.create_index("jobtrail_questions_job", "jobtrail_questions", ["job_id"])
    op.create_index("jobtrail_questions_generation", "jobtrail_questions", ["generation", "name"])
    _partial("jobtrail_questions_open", "jobtrail_questions", ["job_id"], "state = 'open'", unique=True)
    _partial(
        "jobtrail_questions_deadline", "jobtrail_questions", ["expires_at"], "state = 'open' AND expires_at IS NOT NULL"
    )
    op.create_table(
        "jobtrail_remembered",
        Column("task", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("answer", Text, nullable=False),
        Column("actor", Text),
        Column("question", ID, nullable=False),
        Column("at", MOMENT, nullable=False),
        PrimaryKeyConstraint("task", "source", "name"),
    )


def _successors() -> None:
    op.create_table(
        "jobtrail_successors",
        Column("id", ID, primary_key=True),
        Column("after", ID),
        Column("group_id", ID),
        Column("ends", Text, nullable=False),
        Column("template", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("job_id", ID),
        Column("reason", Text),
        Column("at", MOMENT, nullable=False),
    )
    op.create_index("jobtrail_successors_after", "jobtrail_successors", ["after"])
    op.create_index("jobtrail_successors_group", "jobtrail_successors", ["group_id"])


def _groups() -> None:
    op.create_table(
        "jobtrail_groups",
        Column("id", ID, primary_key=True),
        Column("name", Text),
        Column("total", Integer, nullable=False),
        Column("outcome", Text),
        Column("actor", Text),
        Column("created_at", MOMENT, nullable=False),
        Column("finished_at", MOMENT),
    )
    op.create_table(
        "jobtrail_group_members",
        Column("group_id", ID, nullable=False),
        Column("job_id", ID, nullable=False),
        Column("position", Integer, nullable=False),
        Column("status", Text),
        PrimaryKeyConstraint("group_id", "job_id"),
    )
    op.create_index("jobtrail_group_members_job", "jobtrail_group_members", ["job_id"])
    _partial("jobtrail_group_members_open", "jobtrail_group_members", ["group_id"], "status IS NULL")


def _workers() -> None:
    op.create_table(
        "jobtrail_workers",
        Column("id", ID, primary_key=True),
        Column("host", Text, nullable=False),
        Column("boot", Text),
        Column("pid", Integer, nullable=False),
        Column("pid_namespace", Text),
        Column("process_start", Text),
        Column("version", Text, nullable=False),
        Column("queues", Text, nullable=False),
        Column("slots", Integer, nullable=False),
        Column("started_at", MOMENT, nullable=False),
        Column("stopped_at", MOMENT),
        Column("state", Text, nullable=False),
        Column("detail", Text),
    )


def _beats() -> None:
    op.create_table(
        "jobtrail_beats",
        Column("worker", ID, primary_key=True),
        Column("beat", BigInteger, nullable=False),
        Column("at", MOMENT, nullable=False),
    )


def _submitters() -> None:
    op.create_table(
        "jobtrail_submitters",
        Column("id", ID, primary_key=True),
        Column("host", Text, nullable=False),
        Column("pid", Integer, nullable=False),
        Column("program", Text),
        Column("user", Text),
        Column("version", Text, nullable=False),
        Column("at", MOMENT, nullable=False),
    )


def _idempotency_keys() -> None:
    op.create_table(
        "jobtrail_idempotency_keys",
        Column("scope", Text, nullable=False),
        Column("key", Text, nullable=False),
        Column("job_id", ID, nullable=False),
        Column("digest", Text, nullable=False),
        Column("expires_at", MOMENT, nullable=False),
        PrimaryKeyConstraint("scope", "key"),
    )
    op.create_index("ix_jobtrail_idempotency_keys_expires_at", "jobtrail_idempotency_keys", ["expires_at"])


def _job_totals() -> None:
    op.create_table(
        "jobtrail_job_totals",
        Column("hour", MOMENT, nullable=False),
        Column("task", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("jobs", Integer, nullable=False),
        Column("run_seconds", Float, nullable=False),
        Column("wait_seconds", Float, nullable=False),
        PrimaryKeyConstraint("hour", "task", "status"),
    )


def _schedules() -> None:
    op.create_table(
        "jobtrail_schedules",
        Column("id", ID, primary_key=True),
        Column("name", Text, nullable=False, unique=True),
        Column("task", Text, nullable=False),
        Column("definition", Text, nullable=False),
        Column("edits", Text),
        Column("origin", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("paused_by", Text),
        Column("paused_reason", Text),
        Column("paused_at", MOMENT),
        Column("paused_until", MOMENT),
        Column("anchor", MOMENT, nullable=False),
        Column("next_at", MOMENT),
        Column("due_at", MOMENT),
        Column("waits_for", ID),
        Column("unknown_since", MOMENT),
        Column("last_at", MOMENT),
        Column("last_job", ID),
        Column("last_outcome", Text),
        Column("runs", Integer, nullable=False, server_default="0"),
        Column("failures_in_row", Integer, nullable=False, server_default="0"),
        Column("missed_in_row", Integer, nullable=False, server_default="0"),
        Column("version", Integer, nullable=False, server_default="1"),
        Column("created_at", MOMENT, nullable=False),
        Column("changed_at", MOMENT, nullable=False),
    )
    _partial("jobtrail_schedules_due", "jobtrail_schedules", ["due_at"], "state IN ('active', 'paused')")


def _slots() -> None:
    op.create_table(
        "jobtrail_slots",
        Column("schedule_id", ID, nullable=False),
        Column("planned_at", MOMENT, nullable=False),
        Column("state", Text, nullable=False),
        Column("reason", Text),
        Column("job_id", ID),
        Column("through", MOMENT),
        Column("at", MOMENT, nullable=False),
        PrimaryKeyConstraint("schedule_id", "planned_at"),
        sqlite_with_rowid=False,
    )
    _partial("jobtrail_slots_missed", "jobtrail_slots", ["at"], "state = 'missed'")


def _leases() -> None:
    op.create_table(
        "jobtrail_leases",
        Column("name", Text, primary_key=True),
        Column("holder", ID, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("expires_at", MOMENT, nullable=False),
    )


def _people() -> None:
    op.create_table(
        "jobtrail_queues",
        Column("name", Text, primary_key=True),
        Column("paused", Boolean, nullable=False),
        Column("actor", Text),
        Column("reason", Text),
        Column("at", MOMENT, nullable=False),
    )
    op.create_table(
        "jobtrail_actions",
        Column("id", NUMBER, primary_key=True, autoincrement=True),
        Column("at", MOMENT, nullable=False),
        Column("actor", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("target", Text),
        Column("reason", Text),
        Column("detail", Text),
    )
    op.create_index("jobtrail_actions_target", "jobtrail_actions", ["name", "target"])
    op.create_table(
        "jobtrail_tokens",
        Column("id", ID, primary_key=True),
        Column("name", Text, nullable=False),
        Column("role", Text, nullable=False),
        Column("digest", Text, nullable=False, unique=True),
        Column("created_at", MOMENT, nullable=False),
        Column("actor", Text),
        Column("expires_at", MOMENT),
        Column("used_at", MOMENT),
        Column("revoked_at", MOMENT),
    )
