"""Keeping: migrate, prune; and doctor, which has a file of its own."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from jobtrail.cli.command import KEEPING, command
from jobtrail.cli.session import Session

from . import doctor


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "migrate", KEEPING)(migrate)
    command(cli, "prune", KEEPING)(prune)
    command(cli, "doctor", KEEPING)(doctor.examine)


def migrate(
    session: Session,
    sql: Annotated[bool, typer.Option("--sql", help="Print the statements for a DBA instead of running them.")] = False,
) -> None:
    """Create or upgrade the tables."""
    from jobtrail.database import migration as schema

    jobs = session.open(creates=True)
    if sql:
        text = schema.sql(jobs.store.database)
        if session.as_json:
            session.json({"sql": text})
        else:
            sys.stdout.write(text)
        return
    done = jobs.migrate()
    if session.as_json:
        session.json({"migrated": done, "schema": schema.HEAD})
    else:
        session.say(
            f"the schema is {schema.HEAD} now" if done else f"the schema is {schema.HEAD} already; nothing was to do"
        )


def prune(
    session: Session,
    days: Annotated[
        float | None, typer.Option("--days", min=0, help="Keep ended jobs of every status for so many days.")
    ] = None,
    completed: Annotated[
        float | None, typer.Option("--completed-days", min=0, help="Completed jobs (else the setting keep_completed).")
    ] = None,
    cancelled: Annotated[
        float | None, typer.Option("--cancelled-days", min=0, help="Cancelled jobs (else the setting keep_cancelled).")
    ] = None,
    failed: Annotated[
        float | None, typer.Option("--failed-days", min=0, help="Failed jobs (else the setting keep_failed).")
    ] = None,
    partial: Annotated[
        float | None, typer.Option("--partial-days", min=0, help="Partial jobs (else the setting keep_partial).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
) -> None:
    """Remove jobs that ended long ago, as the settings say; units and unresolved items stay."""
    from jobtrail.store import retention

    jobs = session.open()
    given = {"completed": completed, "cancelled": cancelled, "failed": failed, "partial": partial}
    wanted = {name: days if own is None else own for name, own in given.items()}
    policy = replace(
        retention.Retention.of(jobs.settings), **{name: value for name, value in wanted.items() if value is not None}
    )
    jobs.service.make_readable()
    if dry_run:
        with jobs.store.read() as conn:
            _tell(session, retention.old_enough(conn, policy, jobs.store.now()), dry=True)
        return
    pruned = retention.run_once(jobs.store, policy, jobs.store.now())
    _tell(session, {name: number for name, number in pruned.jobs.items() if number}, dry=False)


def _tell(session: Session, counted: dict[str, int], *, dry: bool) -> None:
    if session.as_json:
        session.json({"jobs": counted, "total": sum(counted.values()), "dry_run": dry})
        return
    told = ", ".join(f"{number:,} {status}" for status, number in sorted(counted.items())) or "nothing"
    if dry:
        session.say(
            f"old enough: {told}", (" (those that other work still refers to would stay)" if counted else "", "dim")
        )
    else:
        session.say(f"removed: {told}")
