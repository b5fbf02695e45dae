"""A job's log: the records of `logging` inside a job; its beginning and its end are kept."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any

from jobtrail.job.json_value import safe_text
from jobtrail.store.runs import LogChunk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LINE_LIMIT = 8192  # bytes of one record, so that one line cannot fill the log
# The log of the job that the current thread or coroutine works for.
current: ContextVar[Callable[[str], None] | None] = ContextVar("jobtrail_log", default=None)
JOB_LOGGER = "jobtrail.job"


class LogCapture:
    """Lines of one run on their way to the store, within a limit for the job.

    Half of ``limit`` bytes keeps the beginning, the other half the end; what lies between is removed piece
    by piece. ``kept`` are the pieces (seq, lines, bytes, dropped) that earlier runs have stored. The numbers of the pieces
    have a gap where lines are missing, and each piece tells how many that are.
    """

    def __init__(self, limit: int, *, kept: Sequence[tuple[int, int, int, int]] = ()) -> None:
        self._half = max(limit // 2, 1)
        self._next = 0
        self._head: list[str] = []
        self._head_bytes = 0
        self._head_open = True
        self._fresh: deque[tuple[str, int]] = deque()  # of the end, not taken yet
        self._fresh_bytes = 0
        self._tail: deque[tuple[int, int, int]] = deque()  # seq, lines, bytes of what is stored of the end
        self._tail_bytes = 0
        self._dropped = 0
        self._overflowed = False
        for seq, lines, size, dropped in kept:
            self._take_over(seq, lines, size, dropped)

    def _take_over(self, seq: int, lines: int, size: int, dropped: int) -> None:
        self._head_open = self._head_open and seq == self._next and self._head_bytes + size <= self._half
        if self._head_open:
            self._head_bytes += size
        else:
            self._tail.append((seq, lines, size))
            self._tail_bytes += size
        self._dropped = max(self._dropped, dropped)
        self._next = seq + 1

    def append(self, line: str) -> None:
        """Take a line; nothing is written yet, and no more than the limit is held."""
        size = len(line.encode()) + 1
        if self._head_open and self._head_bytes + size <= self._half:
            self._head.append(line)
            self._head_bytes += size
            return
        self._head_open = False
        self._fresh.append((line, size))
        self._fresh_bytes += size
        while self._fresh_bytes > self._half and len(self._fresh) > 1:
            self._fresh_bytes -= self._fresh.popleft()[1]
            self._dropped += 1
            self._overflowed = True

    def take(self) -> tuple[list[LogChunk], list[int]]:
        """The new pieces to write, and the numbers of the pieces to remove."""
        chunks, forget = [], []
        if self._head:
            chunks.append(self._chunk(self._head))
            self._head = []
        if self._fresh:
            # Where lines of this piece are missing, the pieces before it are removed too: there is one gap, not two.
            forget = self._make_room(self._half if self._overflowed else self._fresh_bytes)
            self._overflowed = False
            if self._dropped and not self._tail:
                self._next += 1  # the gap that tells where lines are missing; pieces of the end that stay have one before them
            chunk = self._chunk([line for line, _ in self._fresh])
            chunks.append(chunk)
            self._tail.append((chunk.seq, chunk.lines, chunk.bytes))
            self._tail_bytes += chunk.bytes
            self._fresh.clear()
            self._fresh_bytes = 0
        return chunks, forget

    def _make_room(self, size: int) -> list[int]:
        forget = []
        while self._tail and self._tail_bytes + size > self._half:
            seq, count, length = self._tail.popleft()
            self._tail_bytes -= length
            self._dropped += count
            forget.append(seq)
        return forget

    def _chunk(self, lines: list[str]) -> LogChunk:
        text = "\n".join(lines)
        self._next += 1
        return LogChunk(self._next - 1, len(lines), len(text.encode()) + 1, text, self._dropped)


class JobLogHandler(logging.Handler):
    """Writes log records of the current job into its log; it ignores others."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; never raises into the body."""
        self._to_stderr(record)
        write = current.get()
        if write is None:
            return
        try:
            write(line_of(record))
        except Exception:
            self.handleError(record)

    def _to_stderr(self, record: logging.LogRecord) -> None:
        """Do what `logging` does for a program without any handler, which it has left because of this one."""
        last = logging.lastResort
        if last is None or record.levelno < last.level or logging.getLogger().handlers != [self]:
            return
        if not logging.getLogger(record.name).handlers:
            last.handle(record)


_formatter = logging.Formatter()


def line_of(record: logging.LogRecord) -> str:
    """Return ``2013-02-12T03:00:00.123Z INFO message``, with the traceback where there is one.

    All lines but the first are indented, so that no message can contain what looks like a record.
    """
    try:
        message = record.getMessage()
    except Exception:
        message = f"{record.msg!r} (could not be formatted)"
    if record.exc_info and record.exc_info[0] is not None:
        message = f"{message}\n{_formatter.formatException(record.exc_info)}"
    at = datetime.fromtimestamp(record.created, UTC)
    name = "" if record.name == JOB_LOGGER else f"{record.name}: "
    text = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z {record.levelname} {name}{message}"
    lines = text.splitlines()
    return safe_text(text if len(lines) == 1 else "\n  ".join(lines), LINE_LIMIT)


_handler = JobLogHandler()
_root, _logger = logging.getLogger(), logging.getLogger(JOB_LOGGER)
_disabled: set[str] = set()  # loggers that the program had disabled before a job ran


def install() -> None:
    """Attach the handler to the root logger and have threads of a body write into its log; repeated for each run.

    A body may configure `logging` anew, which removes handlers and disables loggers. Where nobody has configured it,
    INFO is let through.
    """
    root, logger = _root, _logger
    if _handler in root.handlers and not logger.disabled and threading.Thread.start is _start:
        return
    if logger.disabled:  # by `disable_existing_loggers`, which meets all loggers of the program
        for one in logging.Logger.manager.loggerDict.values():
            if isinstance(one, logging.Logger) and one.name not in _disabled:
                one.disabled = False
    if _handler not in root.handlers:
        if not root.handlers and root.level == logging.WARNING:
            root.setLevel(logging.INFO)
        root.addHandler(_handler)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
        _disabled.update(name for name in logging.Logger.manager.loggerDict if logging.getLogger(name).disabled)
    if threading.Thread.start is not _start:
        threading.Thread.start = _start  # type: ignore[method-assign]
        ThreadPoolExecutor.submit = _submit  # type: ignore[method-assign,assignment]


_plain_start, _plain_submit = threading.Thread.start, ThreadPoolExecutor.submit


@wraps(_plain_start)
def _start(self: threading.Thread) -> None:
    """Start a thread that writes into the log of the job that started it: a new thread has no context variables."""
    write = current.get()
    if write is not None:
        self.run = _carried(write, self.run)  # type: ignore[method-assign]
    _plain_start(self)


@wraps(_plain_submit)  # type: ignore[arg-type]
def _submit(self: ThreadPoolExecutor, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Submit work that writes into the log of the job that submits it; the pool's threads belong to no job."""
    write = current.get()
    if write is None:
        return _plain_submit(self, function, *args, **kwargs)
    token = current.set(None)
    try:
        return _plain_submit(self, _carried(write, function), *args, **kwargs)
    finally:
        current.reset(token)


def _carried(write: Callable[[str], None], function: Callable[..., Any]) -> Callable[..., Any]:
    def carried(*args: Any, **kwargs: Any) -> Any:
        token = current.set(write)
        try:
            return function(*args, **kwargs)
        finally:
            current.reset(token)

    return carried


def _after_fork_in_child() -> None:
    current.set(None)  # the log is kept by the process that runs the job


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
