"""``jobtrail queues``: what waits in each queue, and pausing one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import LOOKING, command_group
from jobtrail.cli.session import Session

from .submit import ActorOption, ReasonOption, actor_or_me

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jobtrail.queries.monitoring.queues import QueueLine

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The queue's name.", show_default=False)]


def add_to(cli: typer.Typer) -> None:
    """Register the group and its commands."""
    commands: dict[str, Callable[..., int | None]] = {"list": list_all, "pause": pause, "resume": resume}
    command_group(cli, "queues", LOOKING, "What waits in each queue; pause and resume one.", commands)


def list_all(session: Session) -> None:
    """What waits and runs in each queue, and who has paused one."""
    jobs = session.open()
    found = jobs.queries.queues()
    if session.as_json:
        session.json(found)
        return
    shown = [one for one in found.queues if one.due or one.later or one.running or one.at is not None]
    if shown:
        _print(session, shown, found.now)
    else:
        session.say("no job waits or runs, and no queue was ever paused")


def pause(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Claim nothing from a queue; what runs in it goes on."""
    _set(session, name, paused=True, actor=actor, reason=reason)


def resume(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Claim from a queue again."""
    _set(session, name, paused=False, actor=actor, reason=reason)


def _set(session: Session, name: str, *, paused: bool, actor: str | None, reason: str | None) -> None:
    from jobtrail.commands.queues import set_paused

    jobs = session.open()
    changed = set_paused(jobs.service, name, paused=paused, actor=actor_or_me(actor), reason=reason)
    if session.as_json:
        session.json({"queue": name, "paused": paused, "changed": changed})
    else:
        session.say(f"the queue '{name}' {'is paused' if paused else 'goes on'}{'' if changed else ' already'}")


def _print(session: Session, found: list[QueueLine], now: datetime) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short, span

    table = plain_table("queue", "due", "later", "running", "oldest", "state", right=("due", "later", "running"), rest="state")
    for one in found:
        waits = "" if one.oldest is None else span(now - one.oldest)
        why = f": {clean(one.reason)}" if one.reason else ""
        state = f"paused by {clean(one.actor or '')}{why}" if one.paused else ""
        table.add_row(
            Text(short(one.name, 40)), f"{one.due:,}", f"{one.later:,}", f"{one.running:,}", waits,
            Text(state, "yellow"),
        )  # fmt: skip
    table.show(session.console)
