"""The lineage of a job as a tree: what it came from, what follows it, and the groups that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobtrail.job.successor import ENDS

from .text import clean, short, span, tail
from .views import name_of, named, status_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.cli.session import Session
    from jobtrail.queries.jobs.job_detail import JobDetail
    from jobtrail.queries.jobs.lineage import Ancestor, FollowingJob, JobGroup


def show(session: Session, job: JobDetail) -> None:
    """Draw it: above, the job itself, below."""
    depth = 0
    for one in job.ancestors:
        session.say(_lead(depth), *_ancestor(one))
        depth += 1
    session.say(_lead(depth), f"{named(job)}  ", status_text(job.status), ("  ← this job", "bold"))
    for parts in _tree(job.successors, "   " * depth):
        session.say(*parts)
    for group in job.groups:
        session.say("member of ", _group_words(group))
        for parts in _tree(group.successors, ""):
            session.say(*parts)


def _lead(depth: int) -> str:
    return "   " * (depth - 1) + "└─ " if depth else ""


def _ancestor(one: Ancestor) -> Iterator[Any]:
    if one.group:
        yield clean(f"group{_quoted(one.name)} (…{tail(one.id)}): {one.status or 'not all of its jobs have ended'}")
        return
    yield f"{name_of(one.name or '', one.source, one.period or one.file or '', one.id)}  "
    yield status_text(one.status or "")


def _group_words(group: JobGroup) -> str:
    state = f"{group.outcome}, {group.total:,} jobs"
    if group.outcome is None:
        state = f"{group.ended:,} of {group.total:,} jobs have ended"
    return clean(f"group{_quoted(group.name)} (…{tail(group.id)}): {state}")


def _quoted(name: str | None) -> str:
    return f" '{short(name, 60)}'" if name else ""


def _tree(followers: list[FollowingJob], indent: str) -> Iterator[list[Any]]:
    for place, one in enumerate(followers, 1):
        last = place == len(followers)
        yield [f"{indent}{'└─' if last else '├─'} ", (_on(one), "dim"), *_words(one)]
        yield from _tree(one.successors, f"{indent}{'   ' if last else '│  '}")


def _on(one: FollowingJob) -> str:
    later = f", {span(one.seconds_later)} later" if one.seconds_later else f", at {one.at}" if one.at else ""
    return f"on {'any' if len(one.on) == len(ENDS) else ' or '.join(one.on)}{later}: "


def _words(one: FollowingJob) -> Iterator[Any]:
    if one.job is not None and one.status is not None:
        yield f"{name_of(one.task, one.source, one.period or one.file or '', one.job)}  "
        yield status_text(one.status)
        return
    yield clean(one.task)
    yield (f"  {one.state}", {"waiting": "cyan", "refused": "red"}.get(one.state, "dim"))
    if one.state == "submitted":
        yield (f" as {one.job}, which is gone", "dim")
    elif one.reason:
        yield (f": {short(one.reason, 200)}", "dim")
