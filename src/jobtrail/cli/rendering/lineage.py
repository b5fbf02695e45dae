"""The chain of a job: what it came from, what follows it, and the groups that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobtrail.job.successor import ENDS

from .text import clean, short, span, tail
from .views import named, status_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.cli.session import Session
    from jobtrail.job.model import JobRow
    from jobtrail.queries.lineage import Chain, Follower


# -- for programs ------------------------------------------------------------------------------------


def as_json(chain: Chain) -> dict[str, Any]:
    """The three parts by name."""
    return {
        "ancestors": [_above_json(one) for one in chain.above],
        "successors": [_follower_json(one) for one in chain.below],
        "groups": [
            {**_group_json(group), "following": [_follower_json(one) for one in below]} for group, below in chain.groups
        ],
    }


def _above_json(one: JobRow | dict[str, Any]) -> dict[str, Any]:
    if isinstance(one, dict):
        return {"group": one["id"], "name": one["name"], "outcome": one["outcome"]}
    return {"id": one.id, "task": one.task, "status": one.status.value}


def _follower_json(one: Follower) -> dict[str, Any]:
    told, successor = one.told, one.told["successor"]
    return {
        **{name: told[name] for name in ("task", "on", "state", "job", "reason")},
        "status": one.row.status.value if one.row is not None else None,
        "seconds_later": successor.wait,
        "at": successor.at,
        "successors": [_follower_json(below) for below in one.following],
    }


def _group_json(group: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": group["id"],
        "name": group["name"],
        "total": group["total"],
        "ended": sum(number for status, number in group["counts"].items() if status is not None),
        "outcome": group["outcome"],
    }


# -- for people --------------------------------------------------------------------------------------


def show(session: Session, row: JobRow, chain: Chain) -> None:
    """Draw it: above, the job itself, below."""
    depth = 0
    for one in (*chain.above, row):
        lead = "   " * (depth - 1) + "└─ " if depth else ""
        if isinstance(one, dict):
            session.say(lead, _group_words(one))
        else:
            mark = ("  ← this job", "bold") if one.id == row.id else ("", "")
            session.say(lead, f"{named(one)}  ", status_text(one.status.value), mark)
        depth += 1
    for parts in _tree(chain.below, "   " * (depth - 1)):
        session.say(*parts)
    for group, below in chain.groups:
        session.say("member of ", _group_words(group))
        for parts in _tree(below, ""):
            session.say(*parts)


def _group_words(group: dict[str, Any]) -> str:
    told = _group_json(group)
    name = f" '{short(told['name'], 60)}'" if told["name"] else ""
    stand = f"{told['outcome']}, {told['total']:,} jobs"
    if told["outcome"] is None:
        stand = f"{told['ended']:,} of {told['total']:,} jobs have ended"
    return clean(f"group{name} (…{tail(told['id'])}): {stand}")


def _tree(followers: list[Follower], indent: str) -> Iterator[list[Any]]:
    for place, one in enumerate(followers, 1):
        last = place == len(followers)
        yield [f"{indent}{'└─' if last else '├─'} ", (_on(one), "dim"), *_words(one)]
        yield from _tree(one.following, f"{indent}{'   ' if last else '│  '}")


def _on(one: Follower) -> str:
    ends, successor = one.told["on"], one.told["successor"]
    later = f", {span(successor.wait)} later" if successor.wait else f", at {successor.at}" if successor.at else ""
    return f"on {'any' if len(ends) == len(ENDS) else ' or '.join(ends)}{later}: "


def _words(one: Follower) -> Iterator[Any]:
    if one.row is not None:
        yield f"{named(one.row)}  "
        yield status_text(one.row.status.value)
        return
    told = one.told
    yield clean(told["task"])
    yield (f"  {told['state']}", {"waiting": "cyan", "refused": "red"}.get(told["state"], "dim"))
    if told["state"] == "submitted":
        yield (f" as {told['job']}, which is gone", "dim")
    elif told["reason"]:
        yield (f": {short(told['reason'], 200)}", "dim")
