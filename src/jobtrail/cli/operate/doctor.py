"""``jobtrail doctor``: checks an installation and says what to do about each fault."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from json import loads
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jobtrail.cli.session import Session
from jobtrail.messages import Message, render, tr

from .doctor_executors import handed_over
from .findings import BAD, GOOD, NOTE, WAIT_LIMIT, Finding, WorkerSeen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail import JobTrail
    from jobtrail.database.migration import OwnedSchema

CLOCK_LIMIT = timedelta(seconds=2)
OLD_TRANSACTION = timedelta(minutes=10)
RECENT = timedelta(hours=1)
LONG_WAL = 1 << 30  # bytes


def examine(session: Session) -> int:
    """Check database, schema, tasks, clock and workers. The exit code is 1 if something is wrong."""
    jobs = session.open()
    jobs.plugins.load()
    findings = [*_findings(session, jobs), *_plugins(session, jobs), *_outside(session, jobs)]
    wrong = [finding for finding in findings if finding.state == BAD]
    if session.as_json:
        session.json({"ok": not wrong, "findings": [_as_json(finding) for finding in findings]})
    else:
        _print(session, findings)
    return 1 if wrong else 0


def _as_json(finding: Finding) -> dict[str, Any]:
    return {"name": finding.name, "state": finding.state, "told": finding.told, "advice": finding.advice}


def _print(session: Session, findings: list[Finding]) -> None:
    from jobtrail.cli.rendering.text import clean

    signs = {GOOD: ("✓ ", "green"), NOTE: ("• ", "yellow"), BAD: ("✗ ", "bold red")}
    names = [tr("names.field", name=finding.name.replace("-", "_")) for finding in findings]
    width = max(map(len, names)) + 2
    for name, finding in zip(names, findings, strict=True):
        session.say(signs[finding.state], (name.ljust(width), "bold"), clean(finding.told))
        if finding.advice:
            session.say(" " * (width + 2), (f"→ {clean(finding.advice)}", "cyan"))


def _findings(session: Session, jobs: JobTrail) -> Iterator[Finding]:
    from jobtrail.errors import JobTrailError, StoreError

    try:
        yield _reach(jobs)
    except StoreError as error:
        yield Finding("database", BAD, render(error), tr("cli.doctor-start-database"))
        return
    if not jobs.store.database.is_sqlite:
        yield _session(jobs)
    schemas = [_schema(jobs, schema) for schema in jobs.service.schemas.all()]
    yield from schemas
    if schemas[0].state == BAD:
        return
    try:
        with jobs.store.read() as conn:
            now = jobs.store.dialect.now(conn)
            yield _clock(now)
            yield _tasks(session, jobs, conn)
            workers = _workers(jobs, conn, now)
            yield _told_workers(workers)
            yield from _troubles(workers)
            yield _waiting(conn, now, workers)
            yield from handed_over(jobs, conn, now, workers)
            yield from _versions(workers)
            yield from _orphans(conn, workers)
            yield from _people(conn)
            yield from _bloat(jobs, conn)
    except JobTrailError as error:
        yield Finding("database", BAD, render(error))


def _bloat(jobs: JobTrail, conn: Connection) -> Iterator[Finding]:
    """Report what makes every claim slower without an error: a forgotten transaction, a log that cannot be checkpointed."""
    from jobtrail.cli.rendering.text import span
    from jobtrail.queries.monitoring import health

    if jobs.store.database.is_sqlite:
        path = jobs.store.database.path
        wal = path.with_name(path.name + "-wal") if path is not None else None
        if wal is not None and wal.exists() and wal.stat().st_size > LONG_WAL:
            told = tr("cli.doctor-long-wal", file=wal.name, size=round(wal.stat().st_size / 1e9, 1))
            yield Finding("bloat", NOTE, told, tr("cli.doctor-end-reader"))
        return
    if health.autovacuum_is_off(conn):
        yield Finding("bloat", NOTE, tr("cli.doctor-autovacuum-off"), tr("cli.doctor-autovacuum-on"))
    age = health.oldest_transaction(conn)
    if age is not None and age > OLD_TRANSACTION.total_seconds():
        told = tr("cli.doctor-old-transaction", span=span(age))
        yield Finding("bloat", NOTE, told, tr("cli.doctor-end-transaction"))


def _reach(jobs: JobTrail) -> Finding:
    from jobtrail.cli.rendering.text import address
    from jobtrail.queries.monitoring import health

    begun = time.perf_counter()
    with jobs.store.read() as conn:
        version = health.server_version(conn)
    took = (time.perf_counter() - begun) * 1000
    kind = "SQLite" if jobs.store.database.is_sqlite else "PostgreSQL"
    where = address(jobs.store.database.url)
    return Finding("database", GOOD, tr("cli.doctor-database", kind=f"{kind} {version}", where=where, ms=round(took)))


def _session(jobs: JobTrail) -> Finding:
    """Report how PostgreSQL is reached: directly, or through a pooler, and whether it takes writes."""
    if jobs.store.database.standby:
        return Finding("connection", BAD, tr("database.session-standby"), tr("database.session-to-primary"))
    if not jobs.store.database.pooled:
        told = tr("database.session-direct")
    elif jobs.settings.notify_url:
        told = tr("database.session-pooled-listens")
    else:
        told = tr("database.session-pooled-polls", seconds=f"{jobs.settings.poll_interval:g}")
    return Finding("connection", GOOD, told)


def _schema(jobs: JobTrail, schema: OwnedSchema) -> Finding:
    from jobtrail.database import migration

    state = migration.state(jobs.store.database, schema)
    told, advice = tr("cli.doctor-schema-current", version=state.version), None
    if state.newer:
        told = tr("cli.doctor-schema-newer", version=state.version, known=schema.head)
        advice = tr("cli.doctor-update") if schema.is_core else tr("cli.doctor-update-plugin", plugin=schema.owner)
    elif state.version is None:
        told = tr("cli.doctor-no-tables" if schema.is_core else "cli.doctor-no-plugin-tables")
        advice = tr("cli.doctor-migrate")
    elif not state.current:
        told = tr("cli.doctor-schema-older", version=state.version, needed=schema.head)
        advice = tr("cli.doctor-migrate")
    if not schema.is_core:
        told = tr("cli.doctor-schema-plugin", plugin=schema.owner, told=told)
    return Finding("schema", BAD if advice else GOOD, told, advice)


def _clock(now: datetime) -> Finding:
    from datetime import UTC
    from datetime import datetime as clock

    off = clock.now(UTC) - now
    if abs(off) <= CLOCK_LIMIT:
        return Finding("clock", GOOD, tr("cli.doctor-clock-agrees"))
    code = "cli.doctor-clock-ahead" if off > timedelta(0) else "cli.doctor-clock-behind"
    return Finding("clock", NOTE, tr(code, seconds=round(abs(off.total_seconds()), 1)), tr("cli.doctor-set-clock"))


def _tasks(session: Session, jobs: JobTrail, conn: Connection) -> Finding:
    from jobtrail.queries.monitoring import health

    waiting = health.waiting_tasks(conn)
    if not session.has_app:
        return Finding("tasks", NOTE, tr("cli.doctor-tasks-unchecked", count=len(waiting)), tr("cli.doctor-name-app"))
    unknown = sorted(name for name in waiting if jobs.tasks.find(name) is None)
    if unknown:
        return Finding("tasks", BAD, tr("cli.doctor-unknown-tasks", tasks=unknown), tr("cli.doctor-register-tasks"))
    return Finding("tasks", GOOD, tr("cli.doctor-tasks", count=len(jobs.tasks.all())))


def _plugins(session: Session, jobs: JobTrail) -> Iterator[Finding]:
    """The plug-ins in use, and each one that was left out, with its reason."""
    from .plugins import told_broken

    used = jobs.plugins
    names = ", ".join(f"{one.name} {one.version or ''}".strip() for one in used.values())
    yield Finding("plug-ins", GOOD, names or tr("cli.none"))
    for one in used.broken:
        advice = tr("cli.doctor-repair-package", package=one.package) if one.package else tr("cli.doctor-repair")
        yield Finding("plug-in", BAD, told_broken(one), advice)
    for name in sorted({name for name, _ in used.commands()} & session.command_names):
        yield Finding("plug-in", NOTE, tr("cli.doctor-command-taken", name=name))


def _outside(session: Session, jobs: JobTrail) -> Iterator[Finding]:
    """The options that are set from outside, and those for tasks that are not registered."""
    given = jobs.overrides
    unknown = given.unknown(jobs.tasks.find) if session.has_app else []
    for one in unknown:
        yield Finding("settings", BAD, render(one), tr("cli.doctor-see-tasks"))
    if given.path is not None and not unknown:
        told = tr("cli.doctor-settings", path=given.path, settings=len(given.values), tasks=len(given.tasks))
        yield Finding("settings", GOOD, told)


# -- workers -----------------------------------------------------------------------------------------


def _workers(jobs: JobTrail, conn: Connection, now: datetime) -> list[WorkerSeen]:
    from jobtrail.store import workers

    silent_after = jobs.settings.silent_after
    found = workers.everyone(conn, limit=200)
    return [_judged(SimpleNamespace(**row), now, silent_after) for row in found if row["state"] in workers.ALIVE]


def _judged(row: Any, now: datetime, silent_after: float) -> WorkerSeen:
    from jobtrail.cli.rendering.text import span
    from jobtrail.queries.monitoring.workers import is_silent

    gone = _is_gone(row)
    silent = is_silent(vars(row), now, silent_after)
    since = row.beat_at or row.started_at
    told = tr("cli.process-gone") if gone else tr("cli.silent-for", span=span(now - since)) if silent else ""
    queues = tuple(loads(row.queues)) if row.state == "alive" else ()
    troubles = () if gone else tuple(_troubles_of(row, now))
    return WorkerSeen(
        row.id, row.host, row.pid, queues, row.executor, row.version, row.slots, not gone and not silent, told, row.state,
        troubles,
    )  # fmt: skip


def _troubles_of(row: Any, now: datetime) -> Iterator[Finding]:
    """What a worker reports about its own health."""
    told = loads(row.detail) if row.detail else {}
    lost, away = told.get("slots_lost"), told.get("store_away")
    for chore, why in told.get("failing", {}).items():
        failing = tr("cli.doctor-loop-fails", loop=_loop(chore), why=why)
        yield Finding(chore, BAD, failing, tr("cli.doctor-read-logs"))
    for chore in told.get("late", []):
        yield Finding(chore, BAD, tr("cli.doctor-loop-late", loop=_loop(chore)), tr("cli.doctor-restart"))
    if lost:
        slots = tr("cli.doctor-slots-lost", lost=lost["lost"], total=lost["of"], jobs=lost["by"])
        yield Finding("slots", BAD, slots, tr("cli.doctor-restart-and-end"))
    if "loop_blocked_since" in told:
        yield _blocked(told, now)
    if "process_stopped_since" in told:
        yield _stopped(told, now)
    if away:
        yield from _away(away, now)


def _loop(name: str) -> Message:
    """The name of a background loop of a worker."""
    return Message("names.field", name=name.replace(" ", "_"))


def _blocked(told: dict[str, Any], now: datetime) -> Finding:
    from jobtrail.cli.rendering.text import span

    since = _since(told["loop_blocked_since"], now)
    blocked = tr("cli.doctor-loop-blocked", span=span(since))
    if told.get("by"):
        blocked = tr("cli.doctor-loop-blocked-by", span=span(since), jobs=told["by"])
    return Finding("loop", NOTE, blocked, tr("cli.doctor-await"))


def _stopped(told: dict[str, Any], now: datetime) -> Finding:
    from jobtrail.cli.rendering.text import span

    since = _since(told["process_stopped_since"], now)
    stopped = tr("cli.doctor-process-stopped", span=span(since), jobs=told.get("by") or [])
    return Finding("process", BAD, stopped, tr("cli.doctor-continue"))


def _since(at: float, now: datetime) -> timedelta:
    return timedelta(seconds=max(0.0, now.timestamp() - at))


def _away(away: dict[str, Any], now: datetime) -> Iterator[Finding]:
    from datetime import datetime as moment

    from jobtrail.cli.rendering.text import span

    since, until = (moment.fromisoformat(text) if text else None for text in (away["since"], away["until"]))
    if until is None:
        yield Finding("store", BAD, tr("cli.doctor-cannot-write", why=away["why"]), tr("cli.doctor-ends-wait"))
    elif since is not None and now - until < RECENT:
        yield Finding("store", NOTE, tr("cli.doctor-was-away", span=span(until - since), ago=span(now - until)))


def _is_gone(row: Any) -> bool:
    """Whether its process is known to be gone: the operating system knows that on this host."""
    from jobtrail.store import workers

    if row.boot is None or row.boot != workers.boot_id() or row.pid_namespace != workers.pid_namespace():
        return False
    return row.process_start is not None and workers.process_start(row.pid) != row.process_start


def _does(one: WorkerSeen) -> Message:
    if one.state == "alive" and one.executor is not None:
        return (
            Message("cli.hosts", executor=one.executor, slots=one.slots)
            if one.slots
            else Message("cli.leads", executor=one.executor)
        )
    if one.state == "alive":
        return Message("cli.serves", queues=list(one.queues), slots=one.slots)
    return Message("cli.stopping" if one.state == "stopping" else "cli.leaving")


def _told_workers(found: list[WorkerSeen]) -> Finding:
    from jobtrail.cli.rendering.text import tail

    start = tr("cli.doctor-start-worker")
    if not found:
        return Finding("workers", NOTE, tr("cli.doctor-no-worker"), start)
    alive = [one for one in found if one.alive]
    dead = [one for one in found if not one.alive]
    parts = [tr("cli.worker-alive", id=tail(one.id), host=one.host, pid=str(one.pid), does=_does(one)) for one in alive]
    parts += [tr("cli.worker-dead", id=tail(one.id), host=one.host, told=one.told) for one in dead[:5]]
    told = tr("cli.doctor-alive", count=len(alive), workers="; ".join(parts))
    return Finding("workers", GOOD if alive else NOTE, told, None if alive else start)


def _versions(found: list[WorkerSeen]) -> Iterator[Finding]:
    counts = Counter(one.version for one in found if one.alive)
    if len(counts) > 1:
        versions = [f"{version} ({number})" for version, number in sorted(counts.items())]
        yield Finding("versions", NOTE, tr("cli.doctor-versions", versions=versions), tr("cli.doctor-same-version"))


def _troubles(found: list[WorkerSeen]) -> Iterator[Finding]:
    from jobtrail.cli.rendering.text import tail

    for one in found:
        for trouble in one.troubles:
            told = tr("cli.worker-trouble", id=tail(one.id), host=one.host, pid=str(one.pid), trouble=trouble.told)
            yield Finding(trouble.name, trouble.state, told, trouble.advice)


# -- what waits, what was left -----------------------------------------------------------------------


def _waiting(conn: Connection, now: datetime, workers: list[WorkerSeen]) -> Finding:
    from jobtrail.cli.rendering.text import span
    from jobtrail.queries.monitoring import statistics

    oldest = statistics.oldest_waiting(conn, now)
    if not oldest:
        return Finding("waiting", GOOD, tr("cli.doctor-nothing-waits"))
    told = ", ".join(tr("cli.queue-waits", queue=queue, span=span(now - since)) for queue, since in sorted(oldest.items()))
    served = {queue for one in workers if one.alive for queue in one.queues}
    alone = sorted(queue for queue in oldest if queue not in served)
    late = sorted(queue for queue, since in oldest.items() if now - since > WAIT_LIMIT)
    if alone:
        names = ",".join(alone)
        advice = tr("cli.doctor-serve-queues", queues=names)
        return Finding("waiting", BAD, tr("cli.doctor-no-worker-for", told=told, queues=names), advice)
    if late:
        return Finding("waiting", BAD, told, tr("cli.doctor-more-workers"))
    return Finding("waiting", GOOD, told)


def _orphans(conn: Connection, workers: list[WorkerSeen]) -> Iterator[Finding]:
    """Running jobs, and jobs recorded as running on a worker that does not run."""
    from jobtrail.queries.monitoring import health

    alive = {one.id for one in workers if one.alive}
    counted = health.held_by_worker(conn)
    lost = sum(number for worker, number in counted.items() if worker not in alive)
    running = sum(counted.values()) - lost
    yield Finding("running", GOOD, tr("cli.doctor-running", count=running))
    if lost:
        yield Finding("lost", BAD, tr("cli.doctor-lost", count=lost), tr("cli.doctor-recovers"))


def _people(conn: Connection) -> Iterator[Finding]:
    from jobtrail.store.search import search

    counted = search.status_counts(conn)
    asked = counted["awaiting_input"].number + counted["awaiting_mapping"].number
    if asked:
        yield Finding("questions", NOTE, tr("cli.doctor-questions", count=asked), "jobtrail list status:awaiting_input")
    held, failed = counted["interrupted"], counted["failed"]
    if held.number:
        yield Finding("held", NOTE, tr("cli.doctor-held", count=held.number), tr("cli.doctor-list-held"))
    if failed.number:
        told = tr("cli.doctor-failed", count=failed.number, more="+" if failed.more else "")
        yield Finding("failed", NOTE, told, "jobtrail list status:failed")
