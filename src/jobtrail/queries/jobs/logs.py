"""The log of a job: parts of it as records, and all of it as text."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import Field

from jobtrail.job.masking import mask_text
from jobtrail.queries.base import Model
from jobtrail.store import jobs, runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
CHUNKS_AT_ONCE = 300  # pieces of a log that are read with one statement
_HEAD = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<level>[A-Z]+) ")


class LogRecord(Model):
    """One record of a log; ``text`` is all of it, with its time."""

    seq: int = Field(description="The piece of the log that it stands in.")
    at: datetime | None
    level: str | None
    text: str


class Log(Model):
    """A part of a log. Follow it with ``after=last``; read what came before with ``before=first``."""

    records: list[LogRecord]
    first: int | None = Field(description="The first piece that was looked at.")
    last: int | None = Field(description="The last piece that was looked at.")
    earlier: bool = Field(description="Is there more before it?")
    later: bool = Field(description="Is there more behind it?")
    dropped: int = Field(description="Lines that were left out between beginning and end, because there were too many.")
    gap_before: int | None = Field(description="The piece before which they are missing.")


class RecordFilter:
    """Selects records of a level and above, or with a text in any case."""

    def __init__(self, level: str | None = None, search: str | None = None) -> None:
        self.least = LEVELS.index(level) if level else -1
        self.text = search.casefold() if search else None

    def __call__(self, record: LogRecord) -> bool:
        """Is this record wanted?"""
        if self.least >= 0 and (record.level not in LEVELS or LEVELS.index(record.level) < self.least):
            return False
        return self.text is None or self.text in record.text.casefold()


def read_log(
    conn: Connection,
    job_id: str,
    *,
    after: int | None = None,
    before: int | None = None,
    limit: int = 2000,
    level: str | None = None,
    search: str | None = None,
) -> Log:
    """Read a part of a job's log.

    A log is bounded (1 MB by default), so listing its pieces is cheap; whole pieces are read until they hold ``limit`` records.

    Args:
        conn: An open connection.
        job_id: The job's id, or a unique ending of it.
        after: The number of a piece; only later ones are read, from the oldest on.
        before: The number of a piece; only earlier ones are read.
        limit: About how many records to return; the last ones unless ``after`` is given.
        level: The least severe level that is wanted.
        search: A text in the record, in any case.

    Raises:
        NotFound: if there is no such job.
    """
    row = jobs.resolve(conn, job_id)
    sizes = runs.log_sizes(conn, row.id)
    chosen = [seq for seq, *_ in sizes if (after is None or seq > after) and (before is None or seq < before)]
    records, seqs = _records_of(conn, row.id, chosen, after is not None, limit, RecordFilter(level, search))
    first, last = (min(seqs), max(seqs)) if seqs else (None, None)
    return Log(
        records=records,
        first=first,
        last=last,
        earlier=bool(sizes) and (first is None or first > sizes[0][0]),
        later=last is not None and last < sizes[-1][0],
        dropped=max((one[3] for one in sizes), default=0),
        gap_before=next((two[0] for one, two in pairwise(sizes) if two[0] != one[0] + 1), None),
    )


def _records_of(
    conn: Connection, job_id: str, chosen: list[int], forward: bool, limit: int, fits: RecordFilter
) -> tuple[list[LogRecord], list[int]]:
    pieces: list[list[LogRecord]] = []
    seqs: list[int] = []
    for chunk in _chunks(conn, job_id, chosen, forward=forward):
        seqs.append(chunk.seq)
        pieces.append([one for one in _records(chunk.seq, chunk.text) if fits(one)])
        limit -= len(pieces[-1])
        if limit <= 0:
            break
    in_order = pieces if forward else reversed(pieces)
    return [one for piece in in_order for one in piece], seqs


def _chunks(conn: Connection, job_id: str, chosen: list[int], *, forward: bool) -> Iterator[runs.LogChunk]:
    """The pieces with these numbers, from the first on or from the last back."""
    batches = [chosen[start : start + CHUNKS_AT_ONCE] for start in range(0, len(chosen), CHUNKS_AT_ONCE)]
    for some in batches if forward else reversed(batches):
        found = runs.log_chunks(conn, job_id, after=some[0] - 1, limit=len(some))
        yield from found if forward else reversed(found)


def _records(seq: int, text: str) -> Iterator[LogRecord]:
    """A record begins with its time; the lines of a traceback belong to the record before them."""
    lines: list[str] = []
    for line in text.split("\n"):
        if _HEAD.match(line) and lines:
            yield _record(seq, "\n".join(lines))
            lines = []
        lines.append(line)
    if lines and lines != [""]:
        yield _record(seq, "\n".join(lines))


def _record(seq: int, text: str) -> LogRecord:
    head = _HEAD.match(text)
    at = datetime.fromisoformat(head["at"]) if head else None
    return LogRecord(seq=seq, at=at, level=head["level"] if head else None, text=mask_text(text))


def read_text(conn: Connection, job_id: str) -> str:
    """Read all of a job's log as text, masked, with a line where lines were dropped.

    Raises:
        NotFound: if there is no such job.
    """
    text = mask_text(runs.log_text(conn, jobs.resolve(conn, job_id).id))
    return f"{text}\n" if text else ""
