"""Bulk actions over the network: shown first, with the exact number, then done by a tracked job; safe to press twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from jobtrail.engine import bulk

from .guard import Who, also, needs, routes
from .problems import Problem
from .shapes import ID, Said, Shape
from .shapes_units import Started

if TYPE_CHECKING:
    from jobtrail.engine.handle import Job

    from .desk import Desk

SHOWN = 32  # previews that are remembered


class Wanted(Shape):
    """Which jobs are meant, by a filter or by their ids, and what is to be done with them."""

    action: Literal["retry", "rerun", "cancel", "run_now"] = Field(examples=["retry"])
    filter: str | None = Field(None, max_length=4000, examples=["status:failed task:sync_weather"])
    ids: list[str] | None = Field(None, max_length=bulk.MOST_JOBS, examples=[[ID]])
    mode: Literal["full", "failed_items", "resume"] | None = Field(None, description="Of a re-run.")

    def meant(self) -> bulk.Wanted:
        """As the engine takes it.

        Raises: InvalidOption.
        """
        return bulk.Wanted(self.action, self.filter, self.ids, self.mode)


class Start(Said, Wanted):
    """What was shown is to be done: the same words, and the digest that was shown with them."""

    digest: str = Field(pattern="^[0-9a-f]{32}$", examples=["5d41402abc4b2a76b9719d911017c592"])
    per_second: float | None = Field(None, gt=0, le=bulk.MOST_PER_SECOND, description="Jobs in a second, at most.")


class Skipped(Shape):
    """Jobs with which nothing would be done."""

    reason: str = Field(examples=["its unit has a newer job"])
    jobs: int
    example: str = Field(examples=[ID])


class Preview(Shape):
    """What would be done now; nothing was written."""

    action: str
    mode: str | None
    jobs: int = Field(description="How many are meant.")
    acts: int = Field(description="With how many something would be done.")
    skipped: list[Skipped]
    more: bool = Field(description=f"The filter names older jobs too; the newest {bulk.MOST_JOBS:,} are meant.")
    digest: str = Field(description="The action is started with it, and only once.")


class Previews:
    """The last that were shown: an action is about just the jobs that somebody has seen the number of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: OrderedDict[str, bulk.Preview] = OrderedDict()

    def keep(self, shown: bulk.Preview) -> bulk.Preview:
        """Remember it; the longest forgotten goes."""
        with self._lock:
            self._shown[shown.digest] = shown
            self._shown.move_to_end(shown.digest)
            while len(self._shown) > SHOWN:
                self._shown.popitem(last=False)
        return shown

    def find(self, digest: str, wanted: bulk.Wanted) -> bulk.Preview | None:
        """What was shown with this digest for the same words."""
        with self._lock:
            shown = self._shown.get(digest)
        return shown if shown is not None and shown.wanted == wanted else None


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("bulk")
    previews = Previews()

    @router.post("/bulk/preview", operation_id="previewBulk", summary="What a bulk action would do; nothing is written")
    @needs("operator")
    async def preview(wanted: Wanted) -> Preview:
        found = await desk.search(bulk.preview, wanted.meant(), desk.store.now())
        return _told(previews.keep(found))

    @router.post(
        "/bulk",
        operation_id="startBulk",
        summary="Do what was shown, by a tracked job",
        status_code=201,
        responses={200: {"model": Started, "description": "It was started already."}, **also(409)},
        description="The job works on just the jobs that were shown. Started again with the same digest it gives the same "
        "job. 409 `selection-changed` with a new `preview` where what was shown is not known any more and would be "
        "something else now.",
    )
    @needs("operator")
    async def start(given: Start, who: Who, response: Response) -> Started:
        job = await _start(desk, previews, given, who.actor)
        response.status_code = 201 if job.created else 200
        return Started(job=job.id, created=job.created)

    return router


async def _start(desk: Desk, previews: Previews, given: Start, actor: str) -> Job:
    service, wanted = desk.jobs.service, given.meant()
    there = await desk.call(bulk.under_way, service, given.digest)
    if there is not None:
        return there
    shown = previews.find(given.digest, wanted)
    if shown is None:
        shown = previews.keep(await desk.search(bulk.preview, wanted, desk.store.now()))
    if shown.digest != given.digest:
        message = f"what was shown is not so any more: {shown.acts:,} jobs would be acted on now"
        raise Problem(409, "selection-changed", message, preview=_told(shown).model_dump())
    said = {"actor": actor, "reason": given.reason, "per_second": given.per_second}
    return await desk.call(bulk.submit, service, shown, **said)


def _told(shown: bulk.Preview) -> Preview:
    wanted = shown.wanted
    skipped = [Skipped(reason=reason, jobs=number, example=example) for reason, number, example in shown.skips]
    return Preview(
        action=wanted.action, mode=wanted.mode, jobs=len(shown.chosen), acts=shown.acts, skipped=skipped, more=shown.more,
        digest=shown.digest,
    )  # fmt: skip
