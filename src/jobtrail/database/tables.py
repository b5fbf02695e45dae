"""The tables, once for all databases (SQLAlchemy Core).

Times are ``timestamptz`` on PostgreSQL and microseconds since 1970 on SQLite; ids are ``uuid`` and text. JSON is kept as
text: both databases then store the same bytes, and a NUL is no error. There is no foreign key that a hot row would have to check.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
)

from .types import FreeText, Id, Moment, Sentence

metadata = MetaData()


def _where(condition: str) -> dict[str, Any]:
    """The condition of a partial index, for both databases."""
    return {"postgresql_where": text(condition), "sqlite_where": text(condition)}


jobs = Table(
    "jobtrail_jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("task", Text, nullable=False),
    Column("kind", Text),
    Column("queue", Text, nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("outcome", Text),
    Column("run_no", Integer, nullable=False, server_default="0"),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("max_attempts", Integer),
    Column("run_at", Moment),
    Column("args", Text, nullable=False),
    Column("options", Text),
    Column("unit", Text),
    Column("unit_lock", Text),
    Column("source", Text),
    Column("period", Text),
    Column("file", Text),
    Column("generation", Id),
    Column("mode", Text),
    Column("continues", Text),
    *(Column(name, Id) for name in ("waits_for", "rerun_of", "parent", "root")),
    Column("actor", FreeText),
    Column("reason", Sentence),
    *(Column(name, Text) for name in ("context", "labels", "limits")),  # limits: its keys, by the name of their limit
    Column("submitter", Id),
    Column("created_at", Moment, nullable=False),
    *(Column(name, Moment) for name in ("started_at", "finished_at")),
    Column("worker", Id),
    # Handed over to this executor; the ticket for the run after `handed_run` was sent then.
    Column("executor", Text),
    Column("handed_at", Moment),
    Column("handed_run", Integer),
    Column("stop_cause", Text),
    Column("stop_at", Moment),
    # Until when the run of this number must have ended or given a sign of life; an older number says nothing.
    Column("deadline_at", Moment),
    Column("deadline_cause", Text),
    Column("deadline_run", Integer),
    Column("body_running", Boolean, nullable=False, server_default=text("false")),
    *(Column(name, Integer, nullable=False, server_default="0") for name in ("put_backs", "hand_backs", "strikes")),
    Column("suspect", Boolean, nullable=False, server_default=text("false")),
    # Somebody waits for its end: successors, or a group. Told by the statement that ends it, so nobody else asks.
    Column("followed", Boolean, nullable=False, server_default=text("false")),
    Column("result", Text),
    Column("note", Sentence),
    Column("error", Text),
    Column("fingerprint", Text),
    Column("retry_reason", Sentence),
    *(Column(f"items_{outcome}", Integer) for outcome in ("ok", "failed", "skipped")),
)


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    return Index(name, *(jobs.c[column] for column in columns), unique=unique, **_where(where))


_CLAIMABLE = "status = 'pending' AND run_at IS NOT NULL AND NOT suspect AND executor IS NULL"
DUE, LIMITED = f"{_CLAIMABLE} AND limits IS NULL", f"{_CLAIMABLE} AND limits IS NOT NULL"
LIMITED_HELD = "limits IS NOT NULL AND (status IN ('running', 'cancelling') OR body_running)"
HANDED = "status = 'pending' AND run_at IS NOT NULL AND executor IS NOT NULL"
_UNSENT = f"{HANDED} AND (handed_run IS NULL OR handed_run <> run_no)"
TO_HAND_OVER, LIMITED_TO_HAND_OVER = f"{_UNSENT} AND limits IS NULL", f"{_UNSENT} AND limits IS NOT NULL"
HANDED_OVER = f"{HANDED} AND handed_run = run_no"
jobs_due = _partial("jobtrail_jobs_due", "queue", "priority", "run_at", "id", where=DUE)
jobs_limited = _partial("jobtrail_jobs_limited", "queue", "limits", "priority", "run_at", "id", where=LIMITED)
jobs_limited_held = _partial("jobtrail_jobs_limited_held", "limits", where=LIMITED_HELD)
jobs_to_hand_over = _partial("jobtrail_jobs_to_hand_over", "executor", "run_at", where=TO_HAND_OVER)
jobs_limited_to_hand_over = _partial("jobtrail_jobs_limited_to_hand_over", "executor", "limits", "run_at", where=LIMITED_TO_HAND_OVER)
jobs_handed_over = _partial("jobtrail_jobs_handed_over", "executor", "queue", "handed_at", where=HANDED_OVER)
jobs_handed = _partial("jobtrail_jobs_handed", "queue", "executor", "run_at", where=HANDED)  # for those who count
# Jobs that were in a process when it died: handed out one at a time.
_SUSPECT = "suspect AND status IN ('pending', 'running', 'cancelling')"
jobs_suspect = _partial("jobtrail_jobs_suspect", "queue", "run_at", where=_SUSPECT)
jobs_interrupted = _partial("jobtrail_jobs_interrupted", "id", where="status = 'interrupted'")
jobs_held = _partial("jobtrail_jobs_held", "worker", where="status IN ('running', 'cancelling')")
jobs_body = _partial("jobtrail_jobs_body", "worker", where="body_running")
jobs_unit_lock = _partial("jobtrail_jobs_unit_lock", "unit_lock", where="unit_lock IS NOT NULL", unique=True)
jobs_waiting = _partial("jobtrail_jobs_waiting", "waits_for", where="waits_for IS NOT NULL")
_BEHIND = "waits_for IS NOT NULL AND unit IS NOT NULL AND status = 'pending'"
jobs_behind = _partial("jobtrail_jobs_behind", "unit", where=_BEHIND, unique=True)
jobs_unit = _partial("jobtrail_jobs_unit", "unit", "id", where="unit IS NOT NULL")
jobs_source = _partial("jobtrail_jobs_source", "source", "id", where="source IS NOT NULL")
jobs_period = _partial("jobtrail_jobs_period", "period", "id", where="period IS NOT NULL")
jobs_open = _partial("jobtrail_jobs_open", "status", "id", where="status NOT IN ('pending', 'running', 'completed')")
jobs_fingerprint = _partial("jobtrail_jobs_fingerprint", "fingerprint", "id", where="fingerprint IS NOT NULL")
jobs_generation = _partial("jobtrail_jobs_generation", "generation", where="generation IS NOT NULL")
jobs_rerun_of = _partial("jobtrail_jobs_rerun_of", "rerun_of", where="rerun_of IS NOT NULL")
jobs_parent = _partial("jobtrail_jobs_parent", "parent", where="parent IS NOT NULL")
jobs_root = _partial("jobtrail_jobs_root", "root", where="root IS NOT NULL")
Index("jobtrail_jobs_task", jobs.c.task, jobs.c.id)

job_labels = Table(
    "jobtrail_job_labels",
    metadata,
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("job_id", Id, nullable=False),
    PrimaryKeyConstraint("key", "value", "job_id"),
    Index("jobtrail_job_labels_job", "job_id"),
)

units = Table(
    "jobtrail_units",
    metadata,
    Column("unit", Text, primary_key=True),
    Column("task", Text, nullable=False),
    Column("source", Text),
    Column("period", Text),
    *(Column(name, Moment) for name in ("period_start", "period_end")),
    Column("sha256", Text),
    Column("text", Text, nullable=False),
    Column("generation", Id),
    Column("outcome", Text),
    Column("job_id", Id),
    *(Column(f"items_{outcome}", Integer) for outcome in ("ok", "failed", "skipped")),
    Column("linked_unit", Text),
    Column("changed_at", Moment, nullable=False),
    Column("removed", Text),
    Index("jobtrail_units_task", "task", "source", "period_start"),
    Index("jobtrail_units_generation", "generation"),
)


_ITEM: dict[str, Any] = {
    "generation": Id, "loop": Text, "key": Text, "position": Integer, "outcome": Text, "reason": Sentence,
    "error_type": Text, "job_id": Id, "run_no": Integer, "tries": Integer, "at": Moment,
}  # fmt: skip


def _item_table(name: str, *constraints: Any) -> Table:
    columns = [Column(one, kind, nullable=one in {"reason", "error_type"}) for one, kind in _ITEM.items()]
    return Table(name, metadata, *columns, *constraints, sqlite_with_rowid=False)


_failed = Index("jobtrail_items_failed", "generation", "loop", "position", **_where("outcome = 'failed'"))
items = _item_table("jobtrail_items", PrimaryKeyConstraint("generation", "loop", "key"), _failed)
# What items were before another run or job recorded them again; `last_of_job` is what the job left to another one.
item_history = _item_table(
    "jobtrail_item_history", Column("last_of_job", Boolean, nullable=False),
    PrimaryKeyConstraint("generation", "loop", "key", "job_id", "run_no"),
    Index("jobtrail_item_history_job", "job_id", "last_of_job", "loop", "position"),
)  # fmt: skip

steps = Table(
    "jobtrail_steps",
    metadata,
    Column("generation", Id, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("name", "digest")),
    Column("job_id", Id, nullable=False),
    Column("run_no", Integer, nullable=False),
    Column("result", Text),
    Column("seconds", Float, nullable=False),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("generation", "name", "digest"),
)

progress = Table(
    "jobtrail_progress",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("run_no", Integer, nullable=False),
    Column("percent", Float),
    *(Column(name, Integer) for name in ("done", "total")),
    Column("message", Sentence),
    Column("metadata", Text),
    Column("last_heartbeat_at", Moment, nullable=False),
)

logs = Table(
    "jobtrail_logs",
    metadata,
    Column("job_id", Id, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("run_no", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    *(Column(name, Integer, nullable=False) for name in ("lines", "bytes")),
    Column("dropped", Integer, nullable=False, server_default="0"),
    Column("text", Text, nullable=False),
    PrimaryKeyConstraint("job_id", "seq"),
)

events = Table(
    "jobtrail_events",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("job_id", Id, nullable=False),
    Column("at", Moment, nullable=False),
    Column("name", Text, nullable=False),
    *(Column(name, Text) for name in ("from_status", "to_status")),
    Column("run_no", Integer),
    Column("actor", FreeText),
    Column("reason", Sentence),
    Column("detail", Text),
    Index("jobtrail_events_job", "job_id", "id"),
)

# -- what a job asks, and what follows it ----------------------------------------------------------------

questions = Table(
    "jobtrail_questions",
    metadata,
    Column("id", Id, primary_key=True),
    Column("job_id", Id, nullable=False),
    Column("generation", Id, nullable=False),
    Column("run_no", Integer, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("name", "text", "kind", "schema", "digest")),
    Column("detail", Text),
    Column("default", Text),
    Column("remember", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Column("asked_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("answer", Text),
    Column("closed_at", Moment),
    Column("actor", FreeText),
    Column("reason", Sentence),
    Index("jobtrail_questions_job", "job_id"),
    Index("jobtrail_questions_generation", "generation", "name"),
    Index("jobtrail_questions_open", "job_id", unique=True, **_where("state = 'open'")),
    Index("jobtrail_questions_deadline", "expires_at", **_where("state = 'open' AND expires_at IS NOT NULL")),
)

# An answer that holds for a source until the question is another one.
remembered = Table(
    "jobtrail_remembered",
    metadata,
    *(Column(name, Text, nullable=False) for name in ("task", "source", "name", "digest", "answer")),
    Column("actor", FreeText),
    Column("question", Id, nullable=False),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("task", "source", "name"),
)

successors = Table(
    "jobtrail_successors",
    metadata,
    Column("id", Id, primary_key=True),  # also the id of the job that it becomes, so it can come only once
    *(Column(name, Id) for name in ("after", "group_id")),
    *(Column(name, Text, nullable=False) for name in ("ends", "template", "state")),
    Column("job_id", Id),
    Column("reason", Sentence),
    Column("at", Moment, nullable=False),
    Index("jobtrail_successors_after", "after"),
    Index("jobtrail_successors_group", "group_id"),
)

# Ends of jobs with many successors, which come in chunks; ``passed`` is the last successor that was looked at.
releases = Table(
    "jobtrail_releases", metadata, Column("id", Id, primary_key=True), Column("after", Id, nullable=False),
    Column("status", Text, nullable=False), Column("passed", Id),
)  # fmt: skip
groups = Table(
    "jobtrail_groups", metadata, Column("id", Id, primary_key=True), Column("name", FreeText),
    Column("total", Integer, nullable=False), Column("outcome", Text), Column("actor", FreeText),
    Column("created_at", Moment, nullable=False), Column("finished_at", Moment),
)  # fmt: skip
group_members = Table(
    "jobtrail_group_members", metadata,
    Column("group_id", Id, nullable=False),
    Column("job_id", Id, nullable=False),
    Column("position", Integer, nullable=False),
    Column("status", Text),
    PrimaryKeyConstraint("group_id", "job_id"),
    Index("jobtrail_group_members_job", "job_id"),
    Index("jobtrail_group_members_open", "group_id", **_where("status IS NULL")),
)

workers = Table(
    "jobtrail_workers",
    metadata,
    Column("id", Id, primary_key=True),
    Column("host", Text, nullable=False),
    Column("boot", Text),
    Column("pid", Integer, nullable=False),
    Column("pid_namespace", Text),
    Column("process_start", Text),
    *(Column(name, Text, nullable=False) for name in ("version", "queues")),
    Column("slots", Integer, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("stopped_at", Moment),
    Column("state", Text, nullable=False),
    Column("detail", Text),
    # It runs the jobs that are handed over to this executor, and takes from no queue.
    Column("executor", Text),
    Column("tasks", Text),  # names, as JSON
)

# Narrow and without an index beside its key: it is written every few seconds by every worker.
beats = Table(
    "jobtrail_beats",
    metadata,
    Column("worker", Id, primary_key=True),
    Column("beat", BigInteger, nullable=False),
    Column("at", Moment, nullable=False),
)

submitters = Table(
    "jobtrail_submitters",
    metadata,
    Column("id", Id, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("program", Text),
    Column("user", Text),
    Column("version", Text, nullable=False),
    Column("at", Moment, nullable=False),
)

idempotency_keys = Table(
    "jobtrail_idempotency_keys",
    metadata,
    *(Column(name, Text, nullable=False) for name in ("scope", "key")),
    Column("job_id", Id, nullable=False, index=True),
    Column("digest", Text, nullable=False),
    Column("expires_at", Moment, nullable=False, index=True),
    Column("removed", Text),
    PrimaryKeyConstraint("scope", "key"),
)

job_totals = Table(
    "jobtrail_job_totals",
    metadata,
    Column("hour", Moment, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("task", "status")),
    Column("jobs", Integer, nullable=False),
    *(Column(name, Float, nullable=False) for name in ("run_seconds", "wait_seconds")),
    PrimaryKeyConstraint("hour", "task", "status"),
)

# How many jobs ended within a span of time (seconds; 0: within the minute, by one transaction), and how long they waited and ran.
end_totals = Table(
    "jobtrail_end_totals",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("span", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    *(Column(name, Text, nullable=name in {"task", "queue"}) for name in ("level", "name", "task", "queue", "status")),
    Column("jobs", Integer, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("waits", "runs")),
    *(Column(name, Id) for name in ("oldest", "newest")),
    Index("jobtrail_end_totals_level", "level", "name", "at"),
    Index("jobtrail_end_totals_span", "span", "at"),
)

schedules = Table(
    "jobtrail_schedules",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("task", Text, nullable=False),
    Column("definition", Text, nullable=False),
    Column("edits", Text),
    Column("origin", Text, nullable=False),
    Column("state", Text, nullable=False),
    *(Column(f"paused_{name}", kind) for name, kind in (("by", FreeText), ("reason", Sentence), ("at", Moment), ("until", Moment))),
    Column("anchor", Moment, nullable=False),
    *(Column(name, Moment) for name in ("next_at", "due_at")),
    Column("waits_for", Id),
    Column("unknown_since", Moment),
    *(Column(f"last_{name}", kind) for name, kind in (("at", Moment), ("job", Id), ("outcome", Text))),
    *(Column(name, Integer, nullable=False, server_default="0") for name in ("runs", "failures_in_row", "missed_in_row")),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("created_at", Moment, nullable=False),
    Column("changed_at", Moment, nullable=False),
    Index("jobtrail_schedules_due", "due_at", **_where("state IN ('active', 'paused')")),
)

# Its key is what keeps a planned time from being run twice.
slots = Table(
    "jobtrail_slots",
    metadata,
    Column("schedule_id", Id, nullable=False),
    Column("planned_at", Moment, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Sentence),
    Column("job_id", Id),
    Column("through", Moment),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("schedule_id", "planned_at"),
    Index("jobtrail_slots_missed", "at", **_where("state = 'missed'")),
    sqlite_with_rowid=False,
)

leases = Table(
    "jobtrail_leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Id, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("expires_at", Moment, nullable=False),
)

# -- people ---------------------------------------------------------------------------------------------

# A queue stands here from its first pause on; while it is paused, no worker claims from it.
queues = Table(
    "jobtrail_queues",
    metadata,
    Column("name", Text, primary_key=True),
    Column("paused", Boolean, nullable=False),
    Column("actor", FreeText),
    Column("reason", Sentence),
    Column("at", Moment, nullable=False),
)

# What each limit allows for a key: as programs declare it, unless a person has changed it.
limits = Table(
    "jobtrail_limits",
    metadata,
    Column("name", Text, primary_key=True),
    *(Column(name, kind) for name, kind in (("running", Integer), ("rate", Integer), ("per", Float))),
    Column("declared", Text),
    *(Column(name, kind) for name, kind in (("actor", FreeText), ("reason", Sentence), ("at", Moment))),
)

# The starts of a key within the span of its rate.
limit_starts = Table(
    "jobtrail_limit_starts",
    metadata,
    *(Column(name, Text, nullable=False) for name in ("name", "key", "used")),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("name", "key"),
)

# What people did that is no move of one job: queues, schedules, tokens, bulk actions.
actions = Table(
    "jobtrail_actions",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("actor", FreeText, nullable=False),
    Column("name", Text, nullable=False),
    Column("target", FreeText),
    Column("reason", Sentence),
    Column("detail", Text),
    Index("jobtrail_actions_target", "name", "target"),
)

tokens = Table(
    "jobtrail_tokens",
    metadata,
    Column("id", Id, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("name", "role")),
    Column("digest", Text, nullable=False, unique=True),
    Column("created_at", Moment, nullable=False),
    Column("actor", FreeText),
    *(Column(name, Moment) for name in ("expires_at", "used_at", "revoked_at")),
    Column("bound_to", Text),
)

sessions = Table(
    "jobtrail_sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("token", Id, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Index("ix_jobtrail_sessions_expires_at", "expires_at"),
)

# How long tasks keep their jobs, for processes that do not know the task.
task_retention = Table("jobtrail_task_retention", metadata, *(Column(name, Text, primary_key=name == "task", nullable=False) for name in ("task", "kept")))
