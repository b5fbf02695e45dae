"""``jobtrail migrate`` and ``jobtrail prune``."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import tr

from . import doctor


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "migrate", "maintain", "help.migrate")(migrate)
    command(cli, "prune", "maintain", "help.prune")(prune)
    command(cli, "doctor", "maintain", "help.doctor")(doctor.examine)


def migrate(
    session: Session,
    sql: Annotated[bool, typer.Option("--sql", help="help.migrate-sql")] = False,
) -> None:
    """Create or upgrade the tables."""
    from jobtrail.database import migration as schema

    jobs = session.open(creates=True)
    if sql:
        jobs.plugins.load()
        text = schema.sql(jobs.store.database, jobs.service.schemas.all())
        if session.as_json:
            session.json({"sql": text})
        else:
            sys.stdout.write(text)
        return
    done = jobs.migrate()
    others = {one.owner: one.head for one in jobs.service.schemas.all() if not one.is_core}
    if session.as_json:
        session.json({"migrated": done, "schema": schema.HEAD, "plugins": others})
        return
    session.say(tr("cli.migrated" if done else "cli.migrated-already", version=schema.HEAD))
    for plugin, version in others.items():
        session.say(tr("cli.migrated-plugin", plugin=plugin, version=version))


def prune(
    session: Session,
    days: Annotated[float | None, typer.Option("--days", min=0, help="help.prune-days")] = None,
    completed: Annotated[
        float | None, typer.Option("--completed-days", min=0, help="help.prune-completed-days")
    ] = None,
    cancelled: Annotated[
        float | None, typer.Option("--cancelled-days", min=0, help="help.prune-cancelled-days")
    ] = None,
    failed: Annotated[float | None, typer.Option("--failed-days", min=0, help="help.prune-failed-days")] = None,
    partial: Annotated[float | None, typer.Option("--partial-days", min=0, help="help.prune-partial-days")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="help.prune-dry-run")] = False,
) -> None:
    """Remove jobs that ended long ago. Units and unresolved items stay."""
    from jobtrail.commands.history.removal import RETENTION
    from jobtrail.recovery.retention import policy_of
    from jobtrail.store import retention

    jobs = session.open()
    given = {"completed": completed, "cancelled": cancelled, "failed": failed, "partial": partial}
    wanted = {name: days if own is None else own for name, own in given.items()}
    changed: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    jobs.service.make_readable()
    policy = replace(policy_of(jobs.store, jobs.settings, jobs.tasks), **changed)
    if days is not None:
        policy = replace(policy, tasks={})  # said for all jobs
    if dry_run:
        with jobs.store.read() as conn:
            _tell(session, retention.old_enough(conn, policy, jobs.store.now()), dry=True)
        return
    pruned = retention.run_once(jobs.store, policy, jobs.store.now(), before=jobs.service.announces(RETENTION))
    if pruned.kept:
        session.hint(tr("cli.kept-by-function", count=pruned.kept))
    _tell(session, {name: number for name, number in pruned.jobs.items() if number}, dry=False)


def _tell(session: Session, counted: dict[str, int], *, dry: bool) -> None:
    from jobtrail.cli.rendering.views import counted as counted_as

    if session.as_json:
        session.json({"jobs": counted, "total": sum(counted.values()), "dry_run": dry})
        return
    told = ", ".join(counted_as(number, status) for status, number in sorted(counted.items())) or tr("cli.nothing")
    if dry:
        session.say(tr("cli.old-enough", counted=told), (f" {tr('cli.would-stay')}" if counted else "", "dim"))
    else:
        session.say(tr("cli.removed", counted=told))
