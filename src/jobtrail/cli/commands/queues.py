"""``jobtrail queues``: list, pause and resume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import command_group
from jobtrail.cli.session import Session
from jobtrail.messages import tr

from .submit import ActorOption, ReasonOption, actor_or_me

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jobtrail.queries.monitoring.queues import QueueLine

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="help.queue-name", show_default=False)]


def add_to(cli: typer.Typer) -> None:
    """Register the group and its commands."""
    commands: dict[str, tuple[Callable[..., int | None], str]] = {
        "list": (list_all, "help.queues-list"),
        "pause": (pause, "help.queues-pause"),
        "resume": (resume, "help.queues-resume"),
    }
    command_group(cli, "queues", "read", "help.queues", commands)


def list_all(session: Session) -> None:
    """Show what waits and runs in each queue, and who paused it."""
    jobs = session.open()
    found = jobs.queries.queues()
    if session.as_json:
        session.json(found)
        return
    shown = [one for one in found.queues if one.due or one.later or one.running or one.at is not None]
    if shown:
        _print(session, shown, found.now)
    else:
        session.say(tr("cli.queues-idle"))


def pause(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Claim no more jobs from a queue. Running jobs continue."""
    _set(session, name, paused=True, actor=actor, reason=reason)


def resume(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Claim jobs from a queue again."""
    _set(session, name, paused=False, actor=actor, reason=reason)


def _set(session: Session, name: str, *, paused: bool, actor: str | None, reason: str | None) -> None:
    from jobtrail.commands.queues import set_paused

    jobs = session.open()
    changed = set_paused(jobs.service, name, paused=paused, actor=actor_or_me(actor), reason=reason)
    if session.as_json:
        session.json({"queue": name, "paused": paused, "changed": changed})
    else:
        code = "cli.queue-paused" if paused else "cli.queue-resumed"
        if not changed:
            code = "cli.queue-paused-already" if paused else "cli.queue-runs-already"
        session.say(tr(code, name=name))


def _print(session: Session, found: list[QueueLine], now: datetime) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, number, short, span
    from jobtrail.cli.rendering.views import because

    table = plain_table("queue", "due", "later", "running", "oldest", "state", right=("due", "later", "running"), rest="state")
    for one in found:
        waits = "" if one.oldest is None else span(now - one.oldest)
        state = clean(because(tr("cli.paused-by", who=one.actor or ""), one.reason)) if one.paused else ""
        counts = (number(one.due), number(one.later), number(one.running))
        table.add_row(Text(short(one.name, 40)), *counts, waits, Text(state, "yellow"))
    table.show(session.console)
