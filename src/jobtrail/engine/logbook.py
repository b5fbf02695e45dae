"""A job's log: what `logging` says inside a job lands there, the beginning and the end of it are kept."""

from __future__ import annotations

import logging
from collections import deque
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from jobtrail.job.jsonvalue import safe_text
from jobtrail.store.runs import LogChunk

if TYPE_CHECKING:
    from collections.abc import Callable

LINE_LIMIT = 8192  # bytes of one record, so that one line cannot take the whole log
# The log of the job that the current thread or coroutine works for.
current: ContextVar[Callable[[str], None] | None] = ContextVar("jobtrail_log", default=None)
JOB_LOGGER = "jobtrail.job"


class LogBook:
    """Lines of one run on their way to the store.

    Half of ``limit`` bytes keeps the beginning, the other half the end; what lies between is forgotten piece
    by piece, and the next piece says how many lines that were.
    """

    def __init__(self, limit: int, *, first_seq: int = 0) -> None:
        self._half = max(limit // 2, 1)
        self._next = first_seq
        self._lines: list[str] = []
        self._head_bytes = 0
        self._tail: deque[tuple[int, int, int]] = deque()  # seq, lines, bytes
        self._tail_bytes = 0
        self._dropped = 0

    def append(self, line: str) -> None:
        """Take a line; nothing is written yet."""
        self._lines.append(line)

    def take(self) -> tuple[list[LogChunk], list[int]]:
        """The new piece to write, and the numbers of the pieces to forget."""
        if not self._lines:
            return [], []
        lines, self._lines = self._lines, []
        if self._head_bytes < self._half:
            return [self._chunk(lines, tail=False)], []
        lines = self._cut(lines)
        forget = self._make_room(sum(len(line) + 1 for line in lines))
        return [self._chunk(lines, tail=True)], forget

    def _cut(self, lines: list[str]) -> list[str]:
        size, start = 0, len(lines)
        while start and size + len(lines[start - 1]) + 1 <= self._half:
            start -= 1
            size += len(lines[start]) + 1
        self._dropped += start
        return lines[start:]

    def _make_room(self, size: int) -> list[int]:
        forget = []
        while self._tail and self._tail_bytes + size > self._half:
            seq, count, length = self._tail.popleft()
            self._tail_bytes -= length
            self._dropped += count
            forget.append(seq)
        return forget

    def _chunk(self, lines: list[str], *, tail: bool) -> LogChunk:
        text = "\n".join(lines)
        size = len(text.encode())
        chunk = LogChunk(self._next, len(lines), size, text, self._dropped if tail else 0)
        if tail:
            self._tail.append((self._next, len(lines), size))
            self._tail_bytes += size
        else:
            self._head_bytes += size
        self._next += 1
        return chunk


class JobLogHandler(logging.Handler):
    """Sends records of the current job to its log; other records are none of its business."""

    def emit(self, record: logging.LogRecord) -> None:
        """Never raises into the body."""
        write = current.get()
        if write is None:
            return
        try:
            write(line_of(record))
        except Exception:  # noqa: BLE001 - logging must not end a job
            self.handleError(record)


_formatter = logging.Formatter()


def line_of(record: logging.LogRecord) -> str:
    """``2013-02-12T03:00:00.123Z INFO message``, with the traceback where there is one."""
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001
        message = f"{record.msg!r} (could not be formatted)"
    if record.exc_info and record.exc_info[0] is not None:
        message = f"{message}\n{_formatter.formatException(record.exc_info)}"
    at = datetime.fromtimestamp(record.created, UTC)
    name = "" if record.name == JOB_LOGGER else f"{record.name}: "
    text = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z {record.levelname} {name}{message}"
    return safe_text(text, LINE_LIMIT)


_handler = JobLogHandler()


def install() -> None:
    """Attach the handler to the root logger, once for the process; jobs' own logger lets INFO through."""
    root = logging.getLogger()
    if _handler not in root.handlers:
        root.addHandler(_handler)
    logger = logging.getLogger(JOB_LOGGER)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
