"""``jobtrail doctor``: is everything well, and what to do where it is not."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from json import loads
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jobtrail.cli.session import Session
from jobtrail.messages import Message, render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail import JobTrail

GOOD, NOTE, BAD = "ok", "note", "wrong"
CLOCK_LIMIT = timedelta(seconds=2)
WAIT_LIMIT = timedelta(minutes=5)
OLD_TRANSACTION = timedelta(minutes=10)
RECENT = timedelta(hours=1)
LONG_WAL = 1 << 30  # bytes


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    state: str
    told: str
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker that is not known to have stopped."""

    id: str
    host: str
    pid: int
    queues: tuple[str, ...]
    slots: int
    alive: bool
    told: str
    state: str = "alive"
    troubles: tuple[Finding, ...] = ()


def examine(session: Session) -> int:
    """Check database, schema, tasks, clock and workers; exit code 1 when something is wrong."""
    jobs = session.open()
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
    width = max(len(finding.name) for finding in findings) + 2
    for finding in findings:
        session.say(signs[finding.state], (finding.name.ljust(width), "bold"), clean(finding.told))
        if finding.advice:
            session.say(" " * (width + 2), (f"→ {clean(finding.advice)}", "cyan"))


def _findings(session: Session, jobs: JobTrail) -> Iterator[Finding]:
    from jobtrail.errors import JobTrailError, StoreError

    try:
        yield _reach(jobs)
    except StoreError as error:
        yield Finding("database", BAD, str(error), "see that it runs, and that --database (or JOBTRAIL_URL) names it")
        return
    if not jobs.store.database.is_sqlite:
        yield _session(jobs)
    schema = _schema(jobs)
    yield schema
    if schema.state == BAD:
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
            yield from _orphans(conn, workers)
            yield from _people(conn)
            yield from _bloat(jobs, conn)
    except JobTrailError as error:
        yield Finding("database", BAD, str(error))


def _bloat(jobs: JobTrail, conn: Connection) -> Iterator[Finding]:
    """What makes every claim slower without any alarm: a forgotten transaction, a log that cannot be folded in."""
    from jobtrail.queries.monitoring import health

    if jobs.store.database.is_sqlite:
        path = jobs.store.database.path
        wal = path.with_name(path.name + "-wal") if path is not None else None
        if wal is not None and wal.exists() and wal.stat().st_size > LONG_WAL:
            told = f"{wal.name} has {wal.stat().st_size / 1e9:.1f} GB"
            yield Finding("bloat", NOTE, told, "some program keeps a reading transaction open; end it")
        return
    if health.autovacuum_is_off(conn):
        advice = "switch it on, or have VACUUM ANALYZE run every night: without it claims and pages become slower"
        yield Finding("bloat", NOTE, "autovacuum is off on this server", advice)
    age = health.oldest_transaction(conn)
    if age is not None and age > OLD_TRANSACTION.total_seconds():
        told = f"a transaction has been open for {timedelta(seconds=int(age))}"
        yield Finding("bloat", NOTE, told, "end it (pg_stat_activity): rows that died since cannot be cleaned up")


def _reach(jobs: JobTrail) -> Finding:
    from jobtrail.cli.rendering.text import address
    from jobtrail.queries.monitoring import health

    begun = time.perf_counter()
    with jobs.store.read() as conn:
        version = health.server_version(conn)
    took = (time.perf_counter() - begun) * 1000
    kind = "SQLite" if jobs.store.database.is_sqlite else "PostgreSQL"
    where = address(jobs.store.database.url)
    return Finding("database", GOOD, f"{kind} {version} at {where}, answers in {took:.0f} ms")


def _session(jobs: JobTrail) -> Finding:
    """How PostgreSQL is reached: directly, or through a pooler."""
    if not jobs.store.database.pooled:
        told = Message("database.session-direct")
    elif jobs.settings.notify_url:
        told = Message("database.session-pooled-listens")
    else:
        told = Message("database.session-pooled-polls", seconds=f"{jobs.settings.poll_interval:g}")
    return Finding("connection", GOOD, render(told))


def _schema(jobs: JobTrail) -> Finding:
    from jobtrail.database import migration

    state = migration.state(jobs.store.database)
    if state.current:
        return Finding("schema", GOOD, f"{state.version}, current")
    if state.newer:
        told = f"{state.version}, newer than this program, which knows {migration.HEAD}"
        return Finding("schema", BAD, told, "update jobtrail on this machine")
    told = "no tables of jobtrail" if state.version is None else f"{state.version}, this program needs {migration.HEAD}"
    return Finding("schema", BAD, told, "run: jobtrail migrate")


def _clock(now: datetime) -> Finding:
    from datetime import UTC
    from datetime import datetime as clock

    off = clock.now(UTC) - now
    told = f"{abs(off.total_seconds()):.1f} s {'ahead of' if off > timedelta(0) else 'behind'} the database"
    if abs(off) <= CLOCK_LIMIT:
        return Finding("clock", GOOD, "agrees with the database")
    return Finding("clock", NOTE, f"this machine is {told}", "nothing is judged by it, but set it: logs will not match")


def _tasks(session: Session, jobs: JobTrail, conn: Connection) -> Finding:
    from jobtrail.queries.monitoring import health

    waiting = health.waiting_tasks(conn)
    if not session.has_app:
        told = f"{len(waiting)} waiting task names; without --app it is not known whether they are registered"
        return Finding("tasks", NOTE, told, "say --app module:object to have them checked")
    unknown = sorted(name for name in waiting if jobs.tasks.find(name) is None)
    if unknown:
        told = f"jobs wait for tasks that this application does not know: {', '.join(unknown)}"
        return Finding("tasks", BAD, told, "register them (or give a task that was renamed aliases=[…])")
    return Finding("tasks", GOOD, f"{len(jobs.tasks.all())} registered, all that jobs wait for are known")


def _plugins(session: Session, jobs: JobTrail) -> Iterator[Finding]:
    """The plug-ins that are used, and each that is left out, with its reason."""
    from .plugins import told_broken

    used = jobs.plugins
    told = ", ".join(f"{one.name} {one.version or ''}".strip() for one in used.values())
    yield Finding("plug-ins", GOOD, told or "none")
    for one in used.broken:
        advice = f"mend or remove the package {one.package}" if one.package else "mend or remove it"
        yield Finding("plug-in", BAD, told_broken(one), advice)
    for name in sorted({name for name, _ in used.commands()} & session.command_names):
        yield Finding("plug-in", NOTE, f"'{name}' is a command of jobtrail, so those of the plug-in cannot be called")


def _outside(session: Session, jobs: JobTrail) -> Iterator[Finding]:
    """What is set from outside, and what of it speaks about tasks that there are not."""
    given = jobs.overrides
    unknown = given.unknown(jobs.tasks.find) if session.has_app else []
    for told in unknown:
        yield Finding("settings", BAD, render(told), "see the names: jobtrail tasks")
    if given.path is not None and not unknown:
        yield Finding("settings", GOOD, f"{given.path}: {len(given.values)} settings, {len(given.tasks)} tasks")


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
    told = "its process is gone" if gone else f"silent for {span(now - since)}" if silent else "alive"
    queues = tuple(loads(row.queues)) if row.state == "alive" else ()
    troubles = () if gone else tuple(_troubles_of(row, now))
    return WorkerSeen(row.id, row.host, row.pid, queues, row.slots, not gone and not silent, told, row.state, troubles)


def _troubles_of(row: Any, now: datetime) -> Iterator[Finding]:
    """What a worker says of its own health; it writes that only when it changes."""
    told = loads(row.detail) if row.detail else {}
    lost, away = told.get("slots_lost"), told.get("store_away")
    for chore, why in told.get("failing", {}).items():
        yield Finding(chore, BAD, f"its {chore} fails and is repeated: {why}", "its log, and that of the database, say more")
    for chore in told.get("late", []):
        yield Finding(chore, BAD, f"its {chore} has not completed a pass for long", "restart it; its jobs are given back")
    if lost:
        what = f"{lost['lost']} of {lost['of']} slots are lost to bodies that do not stop: {', '.join(lost['by'])}"
        advice = "restart it (what runs there runs again), and give such tasks executor='process', which can be ended"
        yield Finding("slots", BAD, what, advice)
    if "loop_blocked_since" in told:
        yield _blocked(told, now)
    if away:
        yield from _away(away, now)


def _blocked(told: dict[str, Any], now: datetime) -> Finding:
    from jobtrail.cli.rendering.text import span

    since = timedelta(seconds=max(0.0, now.timestamp() - told["loop_blocked_since"]))
    by = f" by job {', '.join(told['by'])}" if told.get("by") else ""
    advice = "an async body must await: make it a plain function, or give it executor='process'"
    return Finding("loop", NOTE, f"its event loop has been blocked for {span(since)}{by}", advice)


def _away(away: dict[str, Any], now: datetime) -> Iterator[Finding]:
    from datetime import datetime as moment

    from jobtrail.cli.rendering.text import span

    since, until = (moment.fromisoformat(text) if text else None for text in (away["since"], away["until"]))
    if until is None:
        yield Finding("store", BAD, f"it cannot write to the database: {away['why']}", "what it runs goes on, its ends wait")
    elif since is not None and now - until < RECENT:
        told = f"it was without the database for {span(until - since)} until {span(now - until)} ago, and goes on"
        yield Finding("store", NOTE, told, None)


def _is_gone(row: Any) -> bool:
    """On this host the operating system knows."""
    from jobtrail.store import workers

    if row.boot is None or row.boot != workers.boot_id() or row.pid_namespace != workers.pid_namespace():
        return False
    return row.process_start is not None and workers.process_start(row.pid) != row.process_start


def _does(one: WorkerSeen) -> str:
    if one.state == "alive":
        return f"queues {', '.join(one.queues)}, {one.slots} slots"
    return "stopping" if one.state == "stopping" else "leaving: a body of it cannot be stopped"


def _told_workers(found: list[WorkerSeen]) -> Finding:
    from jobtrail.cli.rendering.text import tail

    if not found:
        return Finding("workers", NOTE, "none is running", "start one: jobtrail --app module:object worker")
    alive = [one for one in found if one.alive]
    dead = [one for one in found if not one.alive]
    parts = [
        f"…{tail(one.id)} on {one.host} (pid {one.pid}, {_does(one)})"
        for one in alive
    ]
    parts += [f"…{tail(one.id)} on {one.host}: {one.told}" for one in dead[:5]]
    state = GOOD if alive else NOTE
    advice = None if alive else "start one: jobtrail --app module:object worker"
    return Finding("workers", state, f"{len(alive)} alive: {'; '.join(parts)}" if parts else "none", advice)


def _troubles(found: list[WorkerSeen]) -> Iterator[Finding]:
    from jobtrail.cli.rendering.text import tail

    for one in found:
        for trouble in one.troubles:
            told = f"worker …{tail(one.id)} on {one.host} (pid {one.pid}): {trouble.told}"
            yield Finding(trouble.name, trouble.state, told, trouble.advice)


# -- what waits, what was left -----------------------------------------------------------------------


def _waiting(conn: Connection, now: datetime, workers: list[WorkerSeen]) -> Finding:
    from jobtrail.cli.rendering.text import span
    from jobtrail.queries.monitoring import statistics

    oldest = statistics.oldest_waiting(conn, now)
    if not oldest:
        return Finding("waiting", GOOD, "no job that is due waits")
    told = ", ".join(f"queue '{queue}' since {span(now - since)}" for queue, since in sorted(oldest.items()))
    served = {queue for one in workers if one.alive for queue in one.queues}
    alone = sorted(queue for queue in oldest if queue not in served)
    late = sorted(queue for queue, since in oldest.items() if now - since > WAIT_LIMIT)
    if alone:
        names = ",".join(alone)
        return Finding(
            "waiting", BAD, f"{told}; no worker serves {names}", f"start one: jobtrail worker --queues {names}"
        )
    if late:
        return Finding("waiting", BAD, told, "more workers, or more slots (--concurrency), would shorten the queue")
    return Finding("waiting", GOOD, told)


def _orphans(conn: Connection, workers: list[WorkerSeen]) -> Iterator[Finding]:
    """Jobs that the record calls running on a worker that does not run."""
    from jobtrail.queries.monitoring import health

    alive = {one.id for one in workers if one.alive}
    counted = health.held_by_worker(conn)
    lost = sum(number for worker, number in counted.items() if worker not in alive)
    running = sum(counted.values()) - lost
    yield Finding("running", GOOD, f"{running:,} on workers that are alive")
    if lost:
        yield Finding(
            "lost", BAD, f"{lost:,} marked as running on workers that are gone", "any running worker recovers them"
        )


def _people(conn: Connection) -> Iterator[Finding]:
    from jobtrail.store.search import search

    counted = search.status_counts(conn)
    asked = counted["awaiting_input"].number + counted["awaiting_mapping"].number
    if asked:
        yield Finding("questions", NOTE, f"{asked:,} jobs wait for an answer", "jobtrail list status:awaiting_input")
    if counted["interrupted"].number:
        told = f"{counted['interrupted'].number:,} jobs are held after their worker died"
        yield Finding("held", NOTE, told, "jobtrail list status:interrupted; then retry or cancel them")
    bad = counted["failed"].number
    if bad:
        plus = "+" if counted["failed"].more else ""
        yield Finding("failed", NOTE, f"{bad:,}{plus} jobs failed", "jobtrail list status:failed")
