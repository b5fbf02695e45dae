"""``jobtrail limits``: list, set, lift and reset."""

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

    from jobtrail.job.limits.limit import Quota
    from jobtrail.queries.monitoring.limits import LimitLine, LimitNumbers

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="help.limit-name", show_default=False)]


def add_to(cli: typer.Typer) -> None:
    """Register the group and its commands."""
    commands: dict[str, tuple[Callable[..., int | None], str]] = {
        "list": (list_all, "help.limits-list"),
        "set": (set_numbers, "help.limits-set"),
        "lift": (lift, "help.limits-lift"),
        "reset": (reset, "help.limits-reset"),
    }
    command_group(cli, "limits", "read", "help.limits", commands)


def list_all(session: Session) -> None:
    """Show what each limit allows, and what runs and waits."""
    found = session.open().queries.limits()
    if session.as_json:
        session.json(found)
    elif found.limits:
        _print(session, found.limits, found.now)
    else:
        session.say(tr("cli.no-limits"))


def set_numbers(
    session: Session,
    name: NameArgument,
    running: Annotated[int | None, typer.Option("--running", help="help.limit-running")] = None,
    rate: Annotated[int | None, typer.Option("--rate", help="help.limit-rate")] = None,
    per: Annotated[float | None, typer.Option("--per", help="help.limit-per")] = None,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> None:
    """Change what a limit allows; what is not named stays."""
    from jobtrail.job.limits.limit import Quota

    there = next((one.now for one in session.open().queries.limits().limits if one.name == name), None)
    quota = Quota.checked(
        name,
        _given(running, there.running if there else None),
        _given(rate, there.rate if there else None),
        _given(per, there.per if there else 1.0),
    )
    _change(session, name, quota, actor, reason)


def lift(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Let a limit allow any number."""
    from jobtrail.job.limits.limit import Quota

    _change(session, name, Quota(), actor, reason)


def reset(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Let a limit allow what the programs declare."""
    _change(session, name, None, actor, reason)


def _given(value: float | None, there: float | None) -> float | None:
    return there if value is None else value


def _change(session: Session, name: str, quota: Quota | None, actor: str | None, reason: str | None) -> None:
    from jobtrail.commands.limits.change import change_limit

    jobs = session.open()
    found = change_limit(jobs.service, name, quota, actor=actor_or_me(actor), reason=reason)
    if session.as_json:
        session.json(next(one for one in jobs.queries.limits().limits if one.name == name))
    else:
        session.say(tr("cli.limit-is", name=name, allows=_allows(found.quota)))


def _allows(quota: Quota | LimitNumbers) -> str:
    parts = []
    if quota.running is not None:
        parts.append(tr("cli.limit-running", number=quota.running))
    if quota.rate is not None:
        parts.append(tr("cli.limit-rate", number=quota.rate, per=quota.per))
    return ", ".join(parts) or tr("cli.limit-any")


def _print(session: Session, found: list[LimitLine], now: datetime) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, moment, number, short
    from jobtrail.cli.rendering.views import because

    table = plain_table("limit", "key", "running", "due", "next_start", "state", right=("running", "due"), rest="state")
    for one in found:
        state = _allows(one.now)
        if one.actor is not None:
            state = clean(because(tr("cli.limit-changed-by", allows=state, who=one.actor), one.reason))
        table.add_row(Text(short(one.name, 40)), "", number(one.running), number(one.waiting), "", Text(state))
        for key in one.keys:
            at = "" if key.next_at is None else moment(key.next_at, now)
            table.add_row("", Text(short(clean(key.key), 40)), number(key.running), number(key.waiting), at, "")
    table.show(session.console)
