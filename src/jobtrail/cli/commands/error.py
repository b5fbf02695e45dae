"""``jobtrail error``: one error, and what is said of it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.errors import InvalidOption
from jobtrail.messages import Message, tr

from .submit import ActorOption, ReasonOption, actor_or_me

if TYPE_CHECKING:
    from jobtrail.queries.monitoring.error_groups import ErrorGroup

_LENGTH = re.compile(r"(\d{1,6})([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def add_to(cli: typer.Typer) -> None:
    """Register the command."""
    command(cli, "error", "read", "help.error")(show_error)


def show_error(
    session: Session,
    fingerprint: Annotated[
        str, typer.Argument(metavar="FINGERPRINT", help="help.error-fingerprint", show_default=False)
    ],
    acknowledge: Annotated[bool, typer.Option("--acknowledge", help="help.error-acknowledge")] = False,
    mute: Annotated[str | None, typer.Option("--mute", metavar="LENGTH", help="help.error-mute")] = None,
    mended: Annotated[str | None, typer.Option("--mended", metavar="VERSION", help="help.error-mended")] = None,
    reopen: Annotated[bool, typer.Option("--reopen", help="help.error-reopen")] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> None:
    """Show one error; acknowledge, mute or reopen it, or say in which version it is mended."""
    from jobtrail.commands.errors.handling import ErrorVerdict, handle_error

    given = {"acknowledge": acknowledge, "mute": mute is not None, "mend": mended is not None, "reopen": reopen}
    said = [action for action, is_given in given.items() if is_given]
    if len(said) > 1:
        raise InvalidOption(Message("cli.error-one-action"))
    jobs = session.open()
    for action in said:
        until = None if mute is None else jobs.store.now() + _length(mute)
        verdict = ErrorVerdict(action, reason, until, mended)
        handle_error(jobs.service, fingerprint, verdict, actor=actor_or_me(actor))
    found = jobs.queries.error(fingerprint)
    if session.as_json:
        session.json(found)
    else:
        _print(session, found, jobs.store.now())


def _length(text: str) -> timedelta:
    found = _LENGTH.fullmatch(text)
    if found is None:
        raise InvalidOption(Message("cli.error-length", given=text))
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def _print(session: Session, found: ErrorGroup, now: datetime) -> None:
    from jobtrail.cli.rendering.tables import pairs
    from jobtrail.cli.rendering.text import moment, number, tail
    from jobtrail.cli.rendering.views import because

    said = found.handling
    state = tr("cli.error-state", name=found.state)
    if said is not None:
        state = because(tr("cli.error-said", state=state, who=said.actor, at=moment(said.at, now)), said.reason)
    if said is not None and said.version is not None:
        state = f"{state} ({said.version})"
    rows = [
        ("error", found.error or found.fingerprint), ("state", state), ("jobs", number(found.jobs.number)),
        ("tasks", ", ".join(found.tasks)), ("first", moment(found.first_at, now)),
        ("last", f"{moment(found.last_at, now)}  …{tail(found.last_job)}"),
    ]  # fmt: skip
    session.console.print(pairs(rows))
