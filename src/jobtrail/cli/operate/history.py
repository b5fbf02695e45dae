"""``jobtrail delete``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import command
from jobtrail.cli.commands.submit import ActorOption, ReasonOption, actor_or_me
from jobtrail.cli.session import Session
from jobtrail.messages import tr

if TYPE_CHECKING:
    from jobtrail.commands.history.delete import Deletion


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "delete", "maintain", "help.delete")(delete)


def delete(
    session: Session,
    filter: Annotated[str, typer.Argument(metavar="FILTER", help="help.delete-filter", show_default=False)],  # noqa: A002 - its name in the help
    dry_run: Annotated[bool, typer.Option("--dry-run", help="help.delete-dry-run")] = False,
    digest: Annotated[str | None, typer.Option("--digest", help="help.delete-digest")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="help.delete-yes")] = False,
    conceal_filter: Annotated[bool, typer.Option("--conceal-filter", help="help.delete-conceal-filter")] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> int:
    """Delete ended jobs with everything that tells of them."""
    jobs = session.open()
    if not yes and digest is None:
        shown = jobs.delete(filter, dry_run=True)
        if dry_run or not _confirmed(session, shown):
            _tell(session, shown, dry=True)
            return 0 if dry_run or not shown.jobs else 1
        digest = None if shown.more else shown.digest
    done = jobs.delete(
        filter, actor=actor_or_me(actor), reason=reason, digest=digest, dry_run=dry_run, conceal_filter=conceal_filter
    )
    _tell(session, done, dry=dry_run)
    return 0


def _confirmed(session: Session, shown: Deletion) -> bool:
    """Ask a person at a terminal; everybody else must say ``--yes`` or ``--digest``."""
    if not shown.jobs or session.as_json or not sys.stdin.isatty():
        return False
    for line in _lines(shown):
        session.hint(line)
    return typer.confirm(tr("cli.delete-sure", count=shown.jobs), err=True)


def _tell(session: Session, one: Deletion, *, dry: bool) -> None:
    if session.as_json:
        skipped = [{"reason": left.reason, "jobs": left.jobs, "example": left.example} for left in one.skipped]
        session.json({"jobs": one.jobs, "skipped": skipped, "digest": one.digest, "more": one.more, "dry_run": dry})
        return
    session.say(tr("cli.would-delete" if dry else "cli.deleted", count=one.jobs))
    for line in _lines(one):
        session.say((line, "dim"))
    if dry and one.jobs:
        session.say((tr("cli.delete-digest", digest=one.digest), "dim"))


def _lines(one: Deletion) -> list[str]:
    stay = [tr("cli.delete-stays", count=left.jobs, reason=left.reason, example=left.example) for left in one.skipped]
    return [*stay, tr("cli.delete-more")] if one.more else stay
