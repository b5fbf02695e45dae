"""What ``jobtrail doctor`` says of executors that hand jobs over to another system."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from jobtrail.messages import render, tr

from .findings import BAD, GOOD, WAIT_LIMIT, Finding, WorkerSeen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail import JobTrail
    from jobtrail.executors.base import HandingOver
    from jobtrail.queries.monitoring.executors import HandedJobs

HANDED_WITHIN = timedelta(minutes=1)  # a due job


def handed_over(jobs: JobTrail, conn: Connection, now: datetime, workers: list[WorkerSeen]) -> Iterator[Finding]:
    """Report each executor of the application, and of jobs that wait: what was not sent, what has not begun, what it says itself."""
    from jobtrail.queries.monitoring import executors

    known = jobs.executors.handing_over()
    for found in executors.read(conn, now - HANDED_WITHIN, known):
        alive = [one for one in workers if one.alive and one.executor == found.executor and one.slots]
        yield _processes(found, len(alive))
        yield from _not_handed(found, now)
        yield from _not_begun(found, now)
        if found.executor in known:
            yield from _asked(jobs, known[found.executor], found)


def _processes(found: HandedJobs, alive: int) -> Finding:
    about = {"executor": found.executor, "waiting": found.handed}
    if alive:
        return Finding("executor", GOOD, tr("cli.doctor-processes-of", processes=alive, **about))
    told, advice = tr("cli.doctor-no-process-of", **about), tr("cli.doctor-start-process-of", executor=found.executor)
    return Finding("executor", BAD if found.handed else GOOD, told, advice if found.handed else None)


def _not_handed(found: HandedJobs, now: datetime) -> Iterator[Finding]:
    from jobtrail.cli.rendering.text import span

    if found.unsent_since is None:
        return
    told = tr("cli.doctor-not-handed", executor=found.executor, number=found.unsent, span=span(now - found.unsent_since))
    relayed = found.relayed_until is not None and found.relayed_until > now
    yield Finding("executor", BAD, told, tr("cli.doctor-see-relay" if relayed else "cli.doctor-start-relay", executor=found.executor))


def _not_begun(found: HandedJobs, now: datetime) -> Iterator[Finding]:
    from jobtrail.cli.rendering.text import span

    for queue in found.queues:
        waits = now - queue.oldest
        if waits > WAIT_LIMIT:
            about = {"executor": found.executor, "queue": queue.queue, "number": queue.number, "span": span(waits)}
            advice = tr("cli.doctor-start-process-of", executor=found.executor)
            yield Finding("executor", BAD, tr("cli.doctor-handed-late", **about), advice)


def _asked(jobs: JobTrail, executor: HandingOver, found: HandedJobs) -> Iterator[Finding]:
    own = [task for task in jobs.tasks.all() if task.handed_to == executor.name]
    queues = {*(task.queue for task in own), *(one.queue for one in found.queues)}
    try:
        for one in executor.examine(sorted(queues), sorted(task.name for task in own)):
            yield Finding("executor", one.state, render(one.told), render(one.advice) if one.advice is not None else None)
    except Exception as error:
        yield Finding("executor", BAD, tr("cli.doctor-not-answering", executor=executor.name, error=str(error)))
