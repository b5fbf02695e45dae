"""What can be done with a job now, in words; and what cannot be done, with the reason and the job that stands in the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobtrail.commands.rerun import RETRYABLE
from jobtrail.job.model import FINAL, WAITING_FOR_A_PERSON, Status
from jobtrail.store import jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from jobtrail.api.auth.access import Person
    from jobtrail.job.items import Counts
    from jobtrail.job.model import JobRow

_KEEPS = "this job stays as it is"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something cannot be done: a code for programs, a sentence, and the job in the way."""

    code: str
    sentence: str
    job: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing to do: what it will do, on how many items, and what stands against it."""

    name: str
    words: str
    obstacle: Obstacle | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What an offer depends on, as it was read."""

    row: JobRow
    counts: Counts
    active: str | None
    newest: str | None
    continued: str | None
    known: bool


def standing(conn: Connection, row: JobRow, counts: Counts, *, known: bool) -> Standing:
    """Read what stands beside a job; ``known`` tells whether this process has its task."""
    unit = row.unit
    return Standing(
        row,
        counts,
        jobs.active_of_unit(conn, unit) if unit else None,
        jobs.newest_of_unit(conn, unit) if unit else None,
        jobs.active_of_generation(conn, row.ledger),
        known,
    )


def offers(stands: Standing, person: Person) -> list[Offer]:
    """Everything that a page offers, in its order."""
    found = [*_again(stands), *_anew(stands), *_onward(stands)]
    if person.may("operator"):
        return found
    why = Obstacle("role", f"this needs the role operator; yours is {person.role}")
    return [Offer(one.name, one.words, one.obstacle or why, one.count) for one in found]


# -- the same job once more ----------------------------------------------------------------------------


def _again(stands: Standing) -> Iterator[Offer]:
    again = stands.row.attempt + 1
    words = f"runs this job once more, as attempt {again}: failed items are given again, finished steps and items stay"
    yield Offer("retry", words, _against_retry(stands), stands.counts.failed or None)


def _against_retry(stands: Standing) -> Obstacle | None:
    row = stands.row
    if row.status not in RETRYABLE:
        return Obstacle("state", f"it is {row.status}; what failed, came in partly or was stopped can be retried")
    if row.body_running:
        return Obstacle("body-running", "its body still runs; it can be retried when that has ended")
    if stands.active == row.id:
        return None
    if stands.active is not None:
        return Obstacle("in-way", f"job {stands.active} of its unit is active", stands.active)
    if stands.newest not in {None, row.id}:
        return Obstacle("not-newest", f"job {stands.newest} of its unit is newer: retry that one", stands.newest)
    return None


# -- a new job of the same unit ------------------------------------------------------------------------


def _anew(stands: Standing) -> Iterator[Offer]:
    counts = stands.counts
    against = _against_anew(stands)
    going_on = against or _against_going_on(stands)
    told = f"the {counts.failed:,} failed items" if counts.failed != 1 else "the one failed item"
    words = f"makes a new job that is given {told} and those never reached; {counts.ok:,} that are done stay; {_KEEPS}"
    yield Offer("rerun_failed_items", words, going_on or _nothing_failed(stands), counts.failed)
    words = f"makes a new job that takes up what was not reached, and keeps finished steps; {_KEEPS}"
    yield Offer("rerun_resume", words, going_on or _nothing_left(stands))
    yield Offer("rerun_full", f"makes a new job that does all of it again, from nothing; {_KEEPS}", against)
    unknown = None if stands.known else Obstacle("unknown-task", f"this server does not know the task {stands.row.task}")
    words = f"makes a new job with other arguments; what is masked stays what it was; {_KEEPS}"
    yield Offer("rerun_changed", words, against or unknown)
    no_file = None if stands.row.file else Obstacle("no-file", "it did not work on a file")
    yield Offer("rerun_file", f"makes a new job that works on a corrected file; {_KEEPS}", against or no_file)


def _against_anew(stands: Standing) -> Obstacle | None:
    row = stands.row
    if row.status not in FINAL:
        return Obstacle("state", f"it is {row.status}; it can be run again when it has ended")
    if stands.active is not None:
        return Obstacle("in-way", f"job {stands.active} of its unit is active", stands.active)
    return None


def _against_going_on(stands: Standing) -> Obstacle | None:
    if stands.continued is None:
        return None
    return Obstacle("in-way", f"job {stands.continued} is continuing its work", stands.continued)


def _nothing_failed(stands: Standing) -> Obstacle | None:
    complete = stands.row.status is Status.COMPLETED and not stands.counts.failed
    return Obstacle("no-items", "none of its items failed") if complete else None


def _nothing_left(stands: Standing) -> Obstacle | None:
    complete = stands.row.status is Status.COMPLETED
    return Obstacle("complete", "it is complete; there is nothing to go on with") if complete else None


# -- on its way ----------------------------------------------------------------------------------------


def _onward(stands: Standing) -> Iterator[Offer]:
    row = stands.row
    yield Offer("run_now", "does not wait for its time: it is due at once", _against_now(row))
    waits = row.status in WAITING_FOR_A_PERSON
    not_asking = None if waits else Obstacle("state", f"it is {row.status} and asks nothing")
    yield Offer("answer", "answers its question; it runs again from the top, what is done is not repeated", not_asking)
    yield Offer("cancel", _cancel_words(row), _against_cancel(row))
    forcible = None if row.status is Status.CANCELLING else Obstacle("state", "it has not been asked to stop")
    words = "writes its end although its body still runs; its unit stays taken until that has returned"
    yield Offer("force", words, forcible)


def _against_now(row: JobRow) -> Obstacle | None:
    if row.status is not Status.PENDING:
        return Obstacle("state", f"it is {row.status} and waits for no time")
    if row.waits_for is not None:
        return Obstacle("waits-for", f"it waits for job {row.waits_for}", row.waits_for)
    return None


def _cancel_words(row: JobRow) -> str:
    if row.status is Status.RUNNING:
        return "asks its body to stop; what it has recorded stays"
    if row.status in WAITING_FOR_A_PERSON:
        return "ends it and closes its question"
    return "ends it before it runs"


def _against_cancel(row: JobRow) -> Obstacle | None:
    if row.status in FINAL:
        return Obstacle("state", f"it has ended: it is {row.status}")
    if row.status is Status.CANCELLING:
        return Obstacle("state", "it has been asked to stop already")
    return None


def as_json(offer: Offer) -> dict[str, Any]:
    """For an answer."""
    why = offer.obstacle
    return {
        "name": offer.name,
        "allowed": why is None,
        "words": offer.words,
        "count": offer.count,
        "why_not": None if why is None else why.sentence,
        "code": None if why is None else why.code,
        "job": None if why is None else why.job,
    }
