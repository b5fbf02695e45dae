"""Workers and queues over the network: who lives, what runs, what waits; a queue paused and resumed."""

from __future__ import annotations

from collections import Counter, defaultdict
from json import loads
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.models import workers as worker_models
from jobtrail.api.requests import WithReason
from jobtrail.commands import queues as queue_commands
from jobtrail.queries import charts, queues
from jobtrail.store import workers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.api.context import Desk

HELD = 5_000  # jobs that are read
SHOWN = 50  # of each worker
QueueName = Annotated[str, Path(max_length=200, description="The queue's name.", examples=["default"])]


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("workers")

    @router.get("/workers", operation_id="listWorkers", summary="Workers: those that live first, then the latest lives")
    @needs("viewer")
    async def every(limit: Annotated[int, Query(ge=1, le=500)] = 100) -> worker_models.Workers:
        return await desk.read(read_workers, desk.store.now(), limit=limit)

    _queues(router, desk)
    return router


def _queues(router: APIRouter, desk: Desk) -> None:
    @router.get("/queues", operation_id="listQueues", summary="All queues: what waits and runs, and who paused one")
    @needs("viewer")
    async def every() -> worker_models.Queues:
        return await desk.search(read_queues, desk, desk.store.now())

    @router.post(
        "/queues/{name:path}/pause", operation_id="pauseQueue", summary="Claim nothing from it", responses=also(404)
    )
    @needs("operator")
    async def pause(name: QueueName, said: WithReason, who: Who) -> worker_models.Queues:
        given = {"paused": True, "actor": who.actor, "reason": said.reason}
        await desk.call(queue_commands.set_paused, desk.jobs.service, name, **given)
        return await desk.search(read_queues, desk, desk.store.now())

    @router.post(
        "/queues/{name:path}/resume", operation_id="resumeQueue", summary="Claim from it again", responses=also(404)
    )
    @needs("operator")
    async def resume(name: QueueName, said: WithReason, who: Who) -> worker_models.Queues:
        given = {"paused": False, "actor": who.actor, "reason": said.reason}
        await desk.call(queue_commands.set_paused, desk.jobs.service, name, **given)
        return await desk.search(read_queues, desk, desk.store.now())


def read_workers(conn: Connection, now: datetime, *, limit: int = 100) -> worker_models.Workers:
    """Workers, and what each executes."""
    rows = workers.everyone(conn, limit=limit)
    held: dict[str | None, list[Any]] = defaultdict(list)
    for job in workers.jobs_held(conn, limit=HELD):
        held[job.worker].append(job)
    found = [worker_models.worker(row, held[row["id"]][:SHOWN], len(held[row["id"]]), now) for row in rows]
    living = [one for one in found if one.state in workers.ALIVE]
    return worker_models.Workers(
        workers=found, living=len(living), slots=sum(one.slots for one in living), held=sum(one.held for one in living),
        now=now,
    )  # fmt: skip


def read_queues(conn: Connection, desk: Desk, now: datetime) -> worker_models.Queues:
    """All queues, those of living workers and of known tasks among them."""
    rows = {row["name"]: row for row in queues.overview(conn, now, desk.waiting(conn, now))}
    number: Counter[str] = Counter()
    slots: Counter[str] = Counter()
    for worker in workers.everyone(conn, limit=500):
        if worker["state"] in workers.ALIVE:
            for name in loads(worker["queues"]):
                number[name] += 1
                slots[name] += worker["slots"]
    names = {*rows, *number, *(task.queue for task in desk.jobs.tasks.all())}
    rates = desk.rates(conn, now)
    drained = charts.drained_in({name: row["due"] for name, row in rows.items()}, rates)
    return worker_models.Queues(
        queues=[
            worker_models.queue(_row(rows, name), number[name], slots[name], rates.get(name, 0.0), drained.get(name))
            for name in sorted(names)
        ],
        now=now,
    )


def _row(rows: Mapping[str, Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    nothing = {"due": 0, "later": 0, "running": 0, "oldest": None}
    about = {"paused": False, "actor": None, "reason": None, "at": None}
    return rows.get(name, {"name": name, **nothing, **about})
