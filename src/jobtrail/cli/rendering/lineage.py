"""The lineage of a job as a tree: where it came from, what follows it, and the groups that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobtrail.messages import Message, tr

from .tables import plain_table
from .text import clean, number, short, span, tail
from .views import name_of, named, status_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.cli.session import Session
    from jobtrail.queries.jobs.groups import GroupDetail
    from jobtrail.queries.jobs.job_detail import JobDetail
    from jobtrail.queries.jobs.lineage import Ancestor, FollowingJob, JobGroup


def show(session: Session, job: JobDetail) -> None:
    """Print the tree: ancestors, the job itself, its successors, its groups."""
    depth = 0
    for one in job.ancestors:
        session.say(_lead(depth), *_ancestor(one))
        depth += 1
    session.say(_lead(depth), f"{named(job)}  ", status_text(job.status), (f"  ← {tr('cli.this-job')}", "bold"))
    for parts in _tree(job.successors, "   " * depth):
        session.say(*parts)
    for group in job.groups:
        session.say(tr("cli.member-of", group=_group_words(group)))
        _followers(session, group)


def show_group(session: Session, group: GroupDetail) -> None:
    """Print a group: how many members stand in each state, the members, and what follows."""
    from rich.text import Text

    session.say((clean(_group_words(group)), "bold"))
    session.say(
        *(part for status, found in group.status.items() for part in (status_text(status), f" {number(found)}   "))
    )
    table = plain_table("id", "status", "task", "source", "period_file")
    for one in group.members:
        state = Text(*status_text(one.status or ""))
        table.add_row(
            tail(one.job), state, *(Text(short(text, 40)) for text in (one.task, one.source, one.period or one.file))
        )
    table.show(session.console)
    rest = group.total - len(group.members)
    if rest > 0:
        session.say((f"{tr('cli.and-more', count=rest)}: jobtrail list group:{tail(group.id)}", "dim"))
    _followers(session, group)


def _followers(session: Session, group: JobGroup | GroupDetail) -> None:
    for parts in _tree(group.successors, ""):
        session.say(*parts)


def _lead(depth: int) -> str:
    return "   " * (depth - 1) + "└─ " if depth else ""


def _ancestor(one: Ancestor) -> Iterator[Any]:
    if one.group:
        state = Message("names.state", name=one.status) if one.status else Message("cli.group-goes-on")
        yield _group_named(one.name, one.id, state)
        return
    yield f"{name_of(one.name or '', one.source, one.period or one.file or '', one.id)}  "
    yield status_text(one.status or "")


def _group_words(group: JobGroup | GroupDetail) -> str:
    if group.outcome is None:
        return _group_named(group.name, group.id, Message("cli.group-ended", ended=group.ended, total=group.total))
    outcome = Message("names.state", name=group.outcome)
    return _group_named(group.name, group.id, Message("cli.group-outcome", outcome=outcome, total=group.total))


def _group_named(name: str | None, group: str, state: Message) -> str:
    code = "cli.group" if name else "cli.group-unnamed"
    return clean(tr(code, **({"name": short(name, 60)} if name else {}), id=tail(group), state=state))


def _tree(followers: list[FollowingJob], indent: str) -> Iterator[list[Any]]:
    for place, one in enumerate(followers, 1):
        last = place == len(followers)
        yield [f"{indent}{'└─' if last else '├─'} ", (f"{_on(one)}: ", "dim"), *_words(one)]
        yield from _tree(one.successors, f"{indent}{'   ' if last else '│  '}")


def _on(one: FollowingJob) -> str:
    ends = [Message("names.end", name=end) for end in one.on]
    told = ends[0]
    for end in ends[1:]:
        told = Message("cli.or", first=told, second=end)
    if one.seconds_later:
        return tr("cli.on-later", end=told, span=span(one.seconds_later))
    return tr("cli.on-at", end=told, at=one.at) if one.at else tr("cli.on", end=told)


def _words(one: FollowingJob) -> Iterator[Any]:
    if one.job is not None and one.status is not None:
        yield f"{name_of(one.task, one.source, one.period or one.file or '', one.job)}  "
        yield status_text(one.status)
        return
    yield clean(one.task)
    yield (f"  {tr('names.state', name=one.state)}", {"waiting": "cyan", "refused": "red"}.get(one.state, "dim"))
    if one.state == "submitted":
        yield (f" {tr('cli.successor-gone', job=one.job)}", "dim")
    elif one.reason:
        yield (f": {short(one.reason, 200)}", "dim")
