"""Brings ended jobs in: every record is read first, then all are stored in chunks; the same record twice is one job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from jobtrail.errors import InvalidRecords
from jobtrail.job.history import ended_job
from jobtrail.job.history.ended_job import BadRecord, EndedJob
from jobtrail.store.history import insert

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.messages import Message

CHUNK = 1_000  # jobs in one transaction
MOST_PROBLEMS = 100  # that are told


class RecordProblem(NamedTuple):
    """What is wrong with a record: its number (the line of a file), the field, and a sentence."""

    number: int
    field: str
    why: Message


@dataclass(frozen=True, slots=True)
class Imported:
    """What was imported, or would be.

    Attributes:
        jobs: Number of new jobs.
        there: Number of records whose job is there already.
        refused: Number of records that cannot be read.
        problems: What is wrong with them, the first hundred.
    """

    jobs: int
    there: int = 0
    refused: int = 0
    problems: tuple[RecordProblem, ...] = ()


class Unreadable(NamedTuple):
    """Stands in the place of a record that could not even be taken apart."""

    why: Message


class Numbered(NamedTuple):
    """A record with its number, the line of a file."""

    number: int
    record: Any


def import_ended(
    service: Service,
    records: Iterable[Any],
    *,
    actor: str,
    reason: str | None = None,
    dry_run: bool = False,
    skip_bad: bool = False,
) -> Imported:
    """Store ended jobs; see `JobTrail.import_ended`."""
    service.make_ready()
    again = list(records) if iter(records) is records else records
    number, problems, refused = 0, list[RecordProblem](), 0
    for number, found in enumerate(_read(again), 1):  # noqa: B007 - the number of records is wanted
        if not isinstance(found, EndedJob):
            refused += 1
            problems += found[: MOST_PROBLEMS - len(problems)]
    if problems and not skip_bad:
        raise InvalidRecords(problems, refused=refused, records=number)
    jobs = there = 0
    good = (one for one in _read(again) if isinstance(one, EndedJob))
    while chunk := list(islice(good, CHUNK)):
        new = _new(service, chunk) if dry_run else service.store.write_beside(partial(_store, service=service, chunk=chunk, actor=actor))
        jobs, there = jobs + new, there + len(chunk) - new
    if not dry_run and jobs:
        told = {"jobs": jobs, "there": there, "refused": refused}
        now = service.store.now()
        service.store.write(partial(insert.record, dialect=service.store.dialect, now=now, actor=actor, reason=reason, told=told))
    return Imported(jobs, there, refused, tuple(problems))


def _read(records: Iterable[Any]) -> Iterator[EndedJob | list[RecordProblem]]:
    for place, one in enumerate(records, 1):
        number, record = one if isinstance(one, Numbered) else (place, one)
        if isinstance(record, Unreadable):
            yield [RecordProblem(number, "", record.why)]
            continue
        try:
            yield ended_job.read(record)
        except BadRecord as bad:
            yield [RecordProblem(number, field, why) for field, why in bad.problems]


def _new(service: Service, chunk: list[EndedJob]) -> int:
    ids = {one.row["id"] for one in chunk}
    with service.store.read() as conn:
        return len(ids) - len(insert.known(conn, sorted(ids)))


def _store(conn: Connection, service: Service, chunk: list[EndedJob], actor: str) -> int:
    return insert.insert(conn, service.store.dialect, chunk, service.store.now(), actor)
