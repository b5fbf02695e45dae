"""What must be true of every table once all jobs have ended: one SQL statement for each, which returns what breaks it.

The statements are the same for both databases. They read jobtrail's tables and those of `evidence.py` beside them: what
programs were told (``campaign_acknowledged``), what bodies wrote (``campaign_marks``), what retention has removed
(``campaign_removed``, ``campaign_undone``) and the files of the spool (``campaign_files``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaign_app import ITEMS, PLANNED
from sqlalchemy import text

from jobtrail.job import transitions
from jobtrail.job.model import FINAL as FINAL_STATES
from jobtrail.store.workers import ALIVE as ALIVE_STATES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection


def _words(values: Iterable[str]) -> str:
    return "(" + ", ".join(f"'{value}'" for value in sorted(values)) + ")"


FINAL, ALIVE = _words(FINAL_STATES), _words(ALIVE_STATES)
AWAITING = "('awaiting_input', 'awaiting_mapping')"
MOVES = _words(
    f"{name} {left} {to}"
    for name, (sources, targets) in transitions.TABLE.items()
    for left in sources
    for to in targets
)
ACTIVE = f"(j.status NOT IN {FINAL} OR j.body_running)"
TOLD = "to_status IS NOT NULL AND name <> 'refused'"


def _is(place: str, *tables: str) -> str:
    """The id in ``place`` is that of a row of one of these tables, or of a removed job where "jobs" is among them."""
    found = [f"EXISTS (SELECT 1 FROM jobtrail_{table} p WHERE p.id = {place})" for table in tables]
    if "jobs" in tables:
        found.append(f"EXISTS (SELECT 1 FROM campaign_removed r WHERE r.job = CAST({place} AS TEXT))")
    return "(" + " OR ".join(found) + ")"


# Table and column, and what it refers to: "+jobs" accepts no removed job, because its rows go with the job.
REFERENCES = (
    ("jobs", "waits_for", "+jobs"), ("jobs", "rerun_of", "jobs"), ("jobs", "parent", "jobs groups"),
    ("jobs", "root", "jobs groups"), ("jobs", "worker", "workers"), ("jobs", "submitter", "submitters"),
    ("job_labels", "job_id", "+jobs"), ("progress", "job_id", "+jobs"), ("logs", "job_id", "+jobs"),
    ("events", "job_id", "+jobs schedules"), ("questions", "job_id", "+jobs"), ("successors", "after", "+jobs"),
    ("successors", "group_id", "groups"), ("successors", "job_id", "jobs"), ("group_members", "job_id", "+jobs"),
    ("group_members", "group_id", "groups"), ("units", "job_id", "jobs"), ("idempotency_keys", "job_id", "jobs"),
    ("slots", "schedule_id", "schedules"), ("slots", "job_id", "jobs"), ("schedules", "last_job", "jobs"),
    ("beats", "worker", "workers"), ("items", "job_id", "jobs"), ("steps", "job_id", "jobs"),
)  # fmt: skip


def _orphans() -> str:
    parts = []
    for table, column, targets in REFERENCES:
        known = _is(f"c.{column}", *targets.replace("+", "").split())
        if "+" in targets:
            known = known.rpartition(" OR EXISTS (SELECT 1 FROM campaign_removed")[0] + ")"
        where = f"c.{column} IS NOT NULL AND NOT {known}"
        parts.append(f"SELECT '{table}.{column} ' || CAST(c.{column} AS TEXT) FROM jobtrail_{table} c WHERE {where}")
    ledger = (
        "EXISTS (SELECT 1 FROM jobtrail_jobs j WHERE j.id = c.generation)"
        " OR EXISTS (SELECT 1 FROM jobtrail_jobs j WHERE j.generation = c.generation)"
        " OR EXISTS (SELECT 1 FROM jobtrail_units u WHERE u.generation = c.generation)"
    )
    parts += [
        f"SELECT '{table}.generation ' || CAST(c.generation AS TEXT) FROM jobtrail_{table} c WHERE NOT ({ledger})"
        for table in ("items", "steps")
    ]
    return " UNION ALL ".join(parts)


INVARIANTS: dict[str, str] = {
    "what was acknowledged is stored": """
        SELECT a.job FROM campaign_acknowledged a
        WHERE NOT EXISTS (SELECT 1 FROM jobtrail_jobs j WHERE CAST(j.id AS TEXT) = a.job)
            AND NOT EXISTS (SELECT 1 FROM campaign_removed r WHERE r.job = a.job)""",
    "one job for each idempotency key": """
        SELECT a.key FROM campaign_acknowledged a WHERE a.key IS NOT NULL
        GROUP BY a.key HAVING COUNT(DISTINCT a.job) > 1
        UNION SELECT a.key FROM campaign_acknowledged a
        JOIN jobtrail_idempotency_keys k ON k.key = a.key WHERE CAST(k.job_id AS TEXT) <> a.job""",
    "every job has ended or waits for a person": f"""
        SELECT j.id FROM jobtrail_jobs j WHERE j.status NOT IN {FINAL} AND j.status NOT IN {AWAITING}
            AND NOT (j.status = 'interrupted' AND j.task = 'held')""",
    "what runs has a living worker": f"""
        SELECT j.id FROM jobtrail_jobs j WHERE (j.status IN ('running', 'cancelling') OR j.body_running)
            AND NOT EXISTS (SELECT 1 FROM jobtrail_workers w WHERE w.id = j.worker AND w.state IN {ALIVE})""",
    "no job has more attempts than it may": """
        SELECT j.id FROM jobtrail_jobs j WHERE j.attempt > j.max_attempts OR j.attempt > j.run_no OR j.attempt < 0""",
    "nobody failed who only met faults": f"""
        SELECT j.id FROM jobtrail_jobs j WHERE j.status = 'failed' AND j.strikes < 3
            AND (j.error IS NULL OR j.error NOT LIKE '%{PLANNED}%')
            AND NOT EXISTS (SELECT 1 FROM jobtrail_questions q WHERE q.job_id = j.id AND q.state = 'expired')""",
    "a body starts once in each recorded run": """
        SELECT m.job FROM campaign_marks m WHERE m.what = 'start' GROUP BY m.job, m.run HAVING COUNT(*) > 1
        UNION SELECT m.job FROM campaign_marks m JOIN jobtrail_jobs j ON CAST(j.id AS TEXT) = m.job
        WHERE m.run > j.run_no""",
    "what is completed came to its end in its last run": """
        SELECT j.id FROM jobtrail_jobs j WHERE j.status = 'completed' AND j.task NOT LIKE 'jobtrail.%'
            AND NOT EXISTS (SELECT 1 FROM campaign_marks m
                WHERE m.job = CAST(j.id AS TEXT) AND m.what = 'end' AND m.run = j.run_no)""",
    "a recorded step is not repeated": """
        SELECT again.job FROM campaign_marks again JOIN campaign_marks done ON done.job = again.job
            AND done.name = again.name AND done.what = 'stepped' AND done.run < again.run
        WHERE again.what = 'step'""",
    # A durable item is recorded when its body goes on. A body that was overtaken may do one more, which is not recorded.
    "a recorded item is not repeated": """
        SELECT again.job FROM campaign_marks again JOIN (
            SELECT m.ledger, m.name, m.what, m.job, m.run, LEAD(m.seq) OVER (PARTITION BY m.job, m.run ORDER BY m.seq) AS on_at
            FROM campaign_marks m) done ON done.ledger = again.ledger AND done.name = again.name AND done.what = 'durable'
        WHERE again.what = 'durable' AND again.seq > done.on_at
            AND (again.job > done.job OR (again.job = done.job AND again.run > done.run))""",
    "what is completed has all its items": f"""
        SELECT j.id FROM jobtrail_jobs j WHERE j.status = 'completed' AND j.task IN ('listed', 'load') AND (
            {ITEMS} <> (SELECT COUNT(*) FROM jobtrail_items i
                WHERE i.generation = COALESCE(j.generation, j.id) AND i.outcome = 'ok')
            OR {ITEMS} <> (SELECT COUNT(DISTINCT m.name) FROM campaign_marks m
                WHERE m.ledger = CAST(COALESCE(j.generation, j.id) AS TEXT) AND m.what IN ('item', 'durable')))""",
    "end and outcome agree with the state": f"""
        SELECT j.id FROM jobtrail_jobs j WHERE (j.finished_at IS NULL AND j.status IN {FINAL})
            OR (j.finished_at IS NOT NULL AND j.status NOT IN {FINAL})
            OR COALESCE(j.outcome, '') <> CASE j.status
                WHEN 'completed' THEN 'success' WHEN 'partial' THEN 'partial' WHEN 'failed' THEN 'error' ELSE '' END""",
    "the trail is a path through the table of moves": f"""
        SELECT told.job_id FROM (
            SELECT e.job_id, e.name, e.from_status, e.to_status,
                COALESCE(LAG(e.to_status) OVER (PARTITION BY e.job_id ORDER BY e.id), 'pending') AS stood_at
            FROM jobtrail_events e WHERE {TOLD}) told
        WHERE told.from_status IS NULL
            OR NOT (told.from_status = told.stood_at OR (told.stood_at = 'pending' AND told.from_status = 'running'))
            OR (told.name || ' ' || told.from_status || ' ' || told.to_status) NOT IN {MOVES}""",
    # A claim has no line, and neither has a success that nobody had asked to stop.
    "the trail ends where the job is": f"""
        SELECT j.id FROM jobtrail_jobs j LEFT JOIN (
            SELECT e.job_id, e.to_status, ROW_NUMBER() OVER (PARTITION BY e.job_id ORDER BY e.id DESC) AS place
            FROM jobtrail_events e WHERE {TOLD}) last ON last.job_id = j.id AND last.place = 1
        WHERE j.status <> COALESCE(last.to_status, 'pending')
            AND NOT (j.status IN ('running', 'completed') AND COALESCE(last.to_status, 'pending') IN ('pending', 'running'))""",
    "a unit has one active job, which holds its lock": f"""
        SELECT j.unit FROM jobtrail_jobs j WHERE j.waits_for IS NULL AND j.unit IS NOT NULL AND {ACTIVE}
        GROUP BY j.unit HAVING COUNT(*) > 1
        UNION SELECT j.unit FROM jobtrail_jobs j WHERE j.unit IS NOT NULL AND COALESCE(j.unit_lock, '') <>
            CASE WHEN j.waits_for IS NULL AND {ACTIVE} THEN j.unit ELSE '' END""",
    "a unit knows that it is done": """
        SELECT u.unit FROM jobtrail_units u WHERE u.outcome IS NULL
            AND EXISTS (SELECT 1 FROM jobtrail_jobs j WHERE j.unit = u.unit AND j.status = 'completed')""",
    "totals are what was removed": f"""
        SELECT counted.task || ' ' || counted.status FROM (
            SELECT r.task, r.status, COUNT(*) AS number FROM campaign_removed r GROUP BY r.task, r.status
            UNION ALL SELECT r.task, u.status, COUNT(*) FROM campaign_undone u JOIN campaign_removed r ON r.job = u.job
            WHERE u.status IN {FINAL} GROUP BY r.task, u.status
            UNION ALL SELECT t.task, t.status, -SUM(t.jobs) FROM jobtrail_job_totals t GROUP BY t.task, t.status) counted
        GROUP BY counted.task, counted.status HAVING SUM(counted.number) <> 0""",
    "a slot has a job or a reason": """
        SELECT s.schedule_id FROM jobtrail_slots s WHERE NOT (
            (s.state = 'submitted' AND s.job_id IS NOT NULL) OR (s.state = 'missed' AND s.reason IS NOT NULL))
        UNION SELECT j.id FROM jobtrail_jobs j WHERE j.actor LIKE 'schedule:%' AND j.rerun_of IS NULL
            AND NOT EXISTS (SELECT 1 FROM jobtrail_slots s WHERE s.job_id = j.id AND s.state = 'submitted')""",
    "a job has one slot": """
        SELECT s.job_id FROM jobtrail_slots s WHERE s.state = 'submitted' AND s.job_id IS NOT NULL
        GROUP BY s.job_id HAVING COUNT(*) > 1""",
    "no planned time is left out": """
        SELECT told.schedule_id FROM (
            SELECT s.schedule_id, COALESCE(s.through, s.planned_at) AS reached,
                LEAD(s.planned_at) OVER (PARTITION BY s.schedule_id ORDER BY s.planned_at) AS following
            FROM jobtrail_slots s JOIN jobtrail_schedules x ON x.id = s.schedule_id AND x.name = 'every second') told
        WHERE told.following > told.reached + {second}""",
    "a follower is settled when its job has ended": f"""
        SELECT s.id FROM jobtrail_successors s JOIN jobtrail_jobs j ON j.id = s.after
        WHERE s.state = 'waiting' AND j.status IN {FINAL}""",
    "a follower comes once": f"""
        SELECT s.id FROM jobtrail_successors s WHERE s.state = 'submitted' AND s.job_id IS NULL
        UNION SELECT s.id FROM jobtrail_successors s
        WHERE s.state <> 'submitted' AND EXISTS (SELECT 1 FROM jobtrail_jobs j WHERE j.id = s.id)
        UNION SELECT s.job_id FROM jobtrail_successors s WHERE s.job_id IS NOT NULL
        GROUP BY s.job_id HAVING COUNT(*) > 1
        UNION SELECT j.id FROM jobtrail_jobs j JOIN (
            SELECT a.job, MAX(a.followers) AS followers FROM campaign_acknowledged a GROUP BY a.job) told
            ON told.job = CAST(j.id AS TEXT)
        WHERE told.followers > 0 AND j.status IN {FINAL}
            AND told.followers <> (SELECT COUNT(*) FROM jobtrail_successors s WHERE s.after = j.id)""",
    "a group is settled once all its members have ended": f"""
        SELECT g.id FROM jobtrail_groups g WHERE
            (g.finished_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM jobtrail_group_members m JOIN jobtrail_jobs j ON j.id = m.job_id
                WHERE m.group_id = g.id AND j.status NOT IN {FINAL}))
            OR (g.finished_at IS NOT NULL AND (g.outcome IS NULL
                OR EXISTS (SELECT 1 FROM jobtrail_group_members m WHERE m.group_id = g.id AND m.status IS NULL)
                OR EXISTS (SELECT 1 FROM jobtrail_successors s WHERE s.group_id = g.id AND s.state = 'waiting')))""",
    "an open question has a job that waits for it": f"""
        SELECT q.job_id FROM jobtrail_questions q JOIN jobtrail_jobs j ON j.id = q.job_id
        WHERE q.state = 'open' AND (j.status NOT IN {AWAITING} OR q.closed_at IS NOT NULL)
        UNION SELECT q.job_id FROM jobtrail_questions q WHERE q.state <> 'open' AND q.closed_at IS NULL
        UNION SELECT j.id FROM jobtrail_jobs j WHERE j.status IN {AWAITING}
            AND NOT EXISTS (SELECT 1 FROM jobtrail_questions q WHERE q.job_id = j.id AND q.state = 'open')""",
    "the spool is empty": "SELECT f.path FROM campaign_files f",
    "every reference leads to a row": _orphans(),
}
SECOND = {"sqlite": "1000000", "postgresql": "interval '1 second'"}
LOST = "every job has ended or waits for a person"
NOT_STORED = "what was acknowledged is stored"
WRONGLY_FAILED = "nobody failed who only met faults"
DOUBLED = (
    "a body starts once in each recorded run",
    "a recorded step is not repeated",
    "a recorded item is not repeated",
    "a job has one slot",
    "a follower comes once",
    "one job for each idempotency key",
)


def broken(conn: Connection) -> dict[str, list[str]]:
    """By name of the invariant what breaks it; empty where all hold."""
    found = {}
    for name, statement in INVARIANTS.items():
        told = text(statement.replace("{second}", SECOND[conn.dialect.name]).replace(":", r"\:"))
        rows = sorted({str(row[0]) for row in conn.execute(told)})
        if rows:
            found[name] = rows
    return found
