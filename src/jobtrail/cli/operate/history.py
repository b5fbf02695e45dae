"""``jobtrail delete``, ``import`` and ``export``."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.commands.submit import ActorOption, ReasonOption, actor_or_me
from jobtrail.cli.session import Session
from jobtrail.messages import Message, render, tr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from jobtrail.commands.history.delete import Deletion


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "delete", "maintain", "help.delete")(delete)
    command(cli, "import", "maintain", "help.import")(import_jobs)
    command(cli, "export", "maintain", "help.export")(export)


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


def import_jobs(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="FILE", help="help.import-source", show_default=False)],
    of: Annotated[str | None, typer.Option("--from", metavar="KIND", help="help.import-from")] = None,
    unpickle: Annotated[bool, typer.Option("--unpickle", help="help.import-unpickle")] = False,
    form: Annotated[str | None, typer.Option("--format", help="help.import-format")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="help.import-dry-run")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="help.import-skip-bad")] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> int:
    """Bring ended jobs in."""
    from jobtrail.commands.history.files import of_file
    from jobtrail.errors import InvalidRecords
    from jobtrail.integrations.celery_results import CeleryResults

    records: Iterable[Any] = CeleryResults(source, of, unpickle) if of is not None else of_file(Path(source), form)
    jobs = session.open(creates=True)
    try:
        done = jobs.import_ended(records, actor=actor_or_me(actor), reason=reason, dry_run=dry_run, skip_bad=skip_bad)
    except InvalidRecords as bad:
        for line in _problems(bad.problems):
            session.hint(line)
        raise
    if session.as_json:
        problems = [{"line": one.number, "field": one.field, "why": render(one.why)} for one in done.problems]
        told = {"jobs": done.jobs, "there": done.there, "refused": done.refused, "problems": problems, "dry_run": dry_run}
        session.json(told)
        return 0
    for line in _problems(done.problems):
        session.hint(line)
    session.say(tr("cli.would-import" if dry_run else "cli.imported", count=done.jobs, there=done.there, refused=done.refused))
    return 0


def _problems(found: Iterable[tuple[int, str, Message]]) -> list[str]:
    return [tr("cli.record-problem", number=number, field=field or "-", why=why) for number, field, why in found]


def export(
    session: Session,
    filter: Annotated[str, typer.Argument(metavar="FILTER", help="help.export-filter", show_default=False)] = "",  # noqa: A002 - its name in the help
    to: Annotated[Path | None, typer.Option("--to", help="help.export-to")] = None,
    form: Annotated[str | None, typer.Option("--format", help="help.export-format")] = None,
    secrets: Annotated[bool, typer.Option("--secrets", help="help.export-secrets")] = False,
) -> int:
    """Take ended jobs out."""
    from jobtrail.errors import UsageError
    from jobtrail.queries.history import tables

    form = form or ((to.suffix.lower().removeprefix(".") or "jsonl") if to is not None else "jsonl")
    if form not in {"jsonl", "csv", "parquet"}:
        raise UsageError(Message("cli.export-format", form=form))
    if form == "parquet" and to is None:
        raise UsageError(Message("cli.parquet-needs-file"))
    records = session.open().export(filter, secrets=secrets)
    if form == "parquet" and to is not None:
        number = tables.write_parquet(to, records)
    else:
        write = tables.write_csv if form == "csv" else tables.write_json_lines
        with _output(to) as out:
            number = write(out, records)
    if to is not None:
        session.json({"jobs": number}) if session.as_json else session.say(tr("cli.exported", count=number))
    return 0


@contextlib.contextmanager
def _output(to: Path | None) -> Iterator[TextIO]:
    """The file, which appears under its name only when it is whole; or standard output."""
    if to is None:
        yield sys.stdout
        return
    part = to.with_name(f"{to.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as out:
            yield out
        part.replace(to)
    finally:
        part.unlink(missing_ok=True)
