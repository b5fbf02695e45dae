"""What a run reports while it goes on, collected in memory and written at most four times a second.

A call of a body costs microseconds and touches no database. A flusher writes what was collected, for all runs of the worker
in one transaction. What is left when the body ends is written with the end itself.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.errors import StoreUnavailable
from jobtrail.job.items import Counts, ItemOutcome, failed_since, never_again
from jobtrail.job.json_value import encode_result, safe_text
from jobtrail.store import runs
from jobtrail.store.runs import Progress, Records

from .log_capture import LogCapture
from .time_limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from jobtrail.job.model import Claim
    from jobtrail.store import Store
    from jobtrail.store.items import Recorded

MESSAGE_LIMIT = 2000  # bytes
LONGEST_PAUSE = 5.0  # seconds after a turn of the flusher that failed


class Reports(Protocol):
    """What the context and its loops need of a recorder: this one, or the one of a child process."""

    overtaken: bool
    has_items: bool

    def sign(self) -> None:
        """Take a sign of life."""

    def item(self, recorded: Recorded) -> None:
        """Take an item's outcome."""

    def prior(self, loop: str) -> dict[str, ItemOutcome]:
        """The outcomes recorded for a loop, by key."""

    def tried_again(self, loop: str) -> set[str]:
        """The failed items of a loop that were already tried again, by key."""

    def progress(
        self, percent: Any = None, message: Any = None, metadata: Any = None, done: Any = None, total: Any = None
    ) -> None:
        """Take a report of the progress."""

    def log(self, line: str) -> None:
        """Take a line of the log."""

    def flush(self) -> None:
        """Write now and wait for the commit."""


ItemPlace = tuple[str, str]  # loop and key


@dataclass(frozen=True, slots=True)
class Prior:
    """What is recorded for a generation before a run begins.

    ``own`` is what this job recorded itself; ``tried_again`` are the failed items that it has already tried again;
    ``never`` are those whose error says that this cannot help.
    """

    standing: Mapping[ItemPlace, ItemOutcome] = field(default_factory=dict)
    own: Mapping[ItemPlace, ItemOutcome] = field(default_factory=dict)
    tried_again: frozenset[ItemPlace] = frozenset()
    never: frozenset[ItemPlace] = frozenset()

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[str, str, ItemOutcome, str, int]],
        job_id: str,
        continues: str | None,
        left: Iterable[tuple[str, str, ItemOutcome]] = (),
    ) -> Prior:
        """From (loop, key, outcome, job, run) of a generation; ``continues`` says which runs try failed items again.

        ``left`` are the (loop, key, outcome) of items that this job recorded and other jobs have recorded since.
        """
        standing, again, since = {}, set(), failed_since(continues)
        own = {(loop, key): outcome for loop, key, outcome in left}
        for loop, key, outcome, job, run_no in rows:
            standing[loop, key] = outcome
            if job == job_id:
                own[loop, key] = outcome
                if since is not None and run_no > since:
                    again.add((loop, key))
        never = never_again(continues, standing)
        return cls(standing, own, frozenset(again) | never, never)


NOTHING_BEFORE = Prior()


class Recorder:
    """The reports of one run. Thread-safe; nothing here raises into the body."""

    def __init__(
        self,
        claim: Claim,
        flusher: Flusher,
        *,
        log_limit: int,
        kept_log: Sequence[tuple[int, int, int, int]] = (),
        prior: Prior = NOTHING_BEFORE,
    ) -> None:
        self.claim = claim
        self.overtaken = False
        self.last_sign = time.monotonic()
        self._flusher = flusher
        self._lock = threading.Lock()
        self._log_limit = log_limit
        self._kept_log = kept_log
        self._records: Records | None = None  # most runs report nothing
        self._log_lines: LogCapture | None = None
        self._dirty = False
        self._last: Records | None = None
        self.in_flight = False
        self._limits: Limits | None = None
        self._progress = Progress()
        self._standing: dict[tuple[str, str], ItemOutcome] = dict(prior.standing)
        self._own: dict[tuple[str, str], ItemOutcome] = dict(prior.own)
        self._tried_again = prior.tried_again
        self._never: set[ItemPlace] = set(prior.never)
        self.has_items = bool(self._standing)

    def watch(self, *, timeout: float | None, stall: float | None) -> None:
        """The body begins under these limits, in seconds; its deadline is kept in the job's row."""
        self._limits = Limits(timeout, stall)
        self._flusher.watch(self)

    # -- from the body -------------------------------------------------------------------------------

    def sign(self) -> None:
        """Take a sign of life."""
        self.last_sign = time.monotonic()

    def item(self, recorded: Recorded) -> None:
        """Take an item's outcome; the newest one for a key counts."""
        place = (recorded.loop, recorded.key)
        with self._lock:
            self._gathered().items.append(recorded)
            self._standing[place] = recorded.outcome
            self._own[place] = recorded.outcome
            if recorded.final:
                self._never.add(place)
            elif self._never:
                self._never.discard(place)
        self._touch()

    def prior(self, loop: str) -> dict[str, ItemOutcome]:
        """The outcomes recorded for a loop, by key."""
        with self._lock:
            return {key: outcome for (name, key), outcome in self._standing.items() if name == loop}

    def tried_again(self, loop: str) -> set[str]:
        """The failed items of a loop that earlier runs of this job tried again, by key."""
        return {key for name, key in self._tried_again if name == loop}

    def counts(self) -> Counts:
        """The counts of all items of the generation."""
        with self._lock:
            return _count(self._standing.values())

    def own_counts(self) -> Counts:
        """The counts of the items that this job recorded, in this run or an earlier one."""
        with self._lock:
            return _count(self._own.values())

    def failed_again(self) -> tuple[int, frozenset[ItemPlace]]:
        """How many failed items of this job may be tried again, and those where that cannot help."""
        with self._lock:
            failed = {place for place, outcome in self._own.items() if outcome is ItemOutcome.FAILED}
            return len(failed - self._never), frozenset(failed & self._never)

    def progress(
        self,
        percent: Any = None,
        message: Any = None,
        metadata: Any = None,
        done: Any = None,
        total: Any = None,
    ) -> None:
        """Take a report of the progress. What is not given stays as it was; a value that is no number counts as unknown."""
        given = percent is not None or done is not None or total is not None
        done, total, share = _whole(done), _whole(total), _percent(percent)
        if share is None and done is not None and total:
            share = _percent(100.0 * done / total)
        text = None if message is None else _message(message)
        meta = None if metadata is None else encode_result(metadata, 65_536)[0]
        with self._lock:
            last = self._progress
            self._progress = Progress(
                share if given else last.percent,
                done if given else last.done,
                total if given else last.total,
                last.message if text is None else text,
                last.metadata if meta is None else meta,
            )
            self._gathered().progress = self._progress
        self._touch()

    def note(self, name: str, reason: str) -> None:
        """Add a line to the trail that is no change of state."""
        with self._lock:
            self._gathered().notes.append((name, reason))
        self._touch()

    def log(self, line: str) -> None:
        """Take a line of the log."""
        with self._lock:
            if self._log_lines is None:
                self._log_lines = LogCapture(self._log_limit, kept=self._kept_log)
            self._log_lines.append(line)
        self._touch()

    # -- to the store --------------------------------------------------------------------------------

    def _gathered(self) -> Records:
        if self._records is None:
            self._records = Records(self.claim.id, self.claim.run_no, self.claim.ledger)
        return self._records

    @property
    def deadline_due(self) -> bool:
        """Whether a deadline must be written, for the first time or because a sign of life has moved it."""
        return self._limits is not None and self._limits.due(self.last_sign)

    def take(self) -> Records | None:
        """What was collected since the last call, if anything; the caller writes it."""
        moves = self.deadline_due
        if self._records is None and self._log_lines is None and not moves:
            return None
        with self._lock:
            self._dirty = False
            if moves and self._limits is not None:
                self._gathered().deadline = self._limits.take(self.last_sign)
            taken = self._gathered()
            if self._log_lines is not None:
                log, forget = self._log_lines.take()
                taken.log += log
                taken.forget_log += forget
            self._records = None
        return taken or None

    def take_last(self) -> Records | None:
        """`take` at the run's end. What the flusher is writing now is written before it, or given back into it."""
        with self._flusher.order:
            self._limits = None
            last = self.take()
            with self._lock:
                if last is None and self.in_flight:
                    last = Records(self.claim.id, self.claim.run_no, self.claim.ledger)
                self._last = last
        return last

    def give_back(self, records: Records) -> None:
        """The write failed: put these records before the next ones, or before those of the run's end."""
        with self._lock:
            records.deadline = None
            if self._limits is not None:
                self._limits.not_written()
            if self._last is not None:
                self._last.items[:0] = records.items
                self._last.progress = self._last.progress or records.progress
                self._last.log[:0] = records.log
                self._last.forget_log[:0] = records.forget_log
                self._last.notes[:0] = records.notes
                return
            newer, self._records = self._records, records
            if newer is not None:
                records.items += newer.items
                records.progress = newer.progress or records.progress
                records.log += newer.log
                records.forget_log += newer.forget_log
                records.notes += newer.notes
        self._wait_for_flush()

    def flush(self) -> None:
        """Write now and wait for the commit (durable items, before a step)."""
        self._flusher.write([self])

    def _touch(self) -> None:
        self.last_sign = time.monotonic()
        self._wait_for_flush()

    def _wait_for_flush(self) -> None:
        if not self._dirty:
            self._dirty = True
            self._flusher.add(self)


def _count(outcomes: Any) -> Counts:
    ok = failed = skipped = 0
    for outcome in outcomes:
        if outcome is ItemOutcome.OK:
            ok += 1
        elif outcome is ItemOutcome.FAILED:
            failed += 1
        else:
            skipped += 1
    return Counts(ok, failed, skipped)


def _whole(value: Any) -> int | None:
    try:
        number = int(value)
    except Exception:
        return None
    return max(0, min(number, 2**31 - 1))


def _percent(value: Any) -> float | None:
    try:
        number = float(value)
    except Exception:
        return None
    if math.isnan(number):
        return None
    return max(0.0, min(number, 100.0))


def _message(value: Any) -> str:
    try:
        text = str(value)
    except Exception:
        text = f"<unprintable {type(value).__name__}>"
    return safe_text(text, MESSAGE_LIMIT)


class Flusher:
    """Writes what the runs of one worker have reported; ``run_once`` is one turn."""

    def __init__(self, store: Store, *, interval: float) -> None:
        self._store = store
        self._interval = interval
        self._lock = threading.Lock()
        # Held from taking records until they are in the writer's queue, so that a run's end is written after them.
        self.order = threading.Lock()
        self._waiting: dict[int, Recorder] = {}
        self._limited: dict[int, Recorder] = {}
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.failing: Exception | None = None  # an outage is not said here: the turn of the worker does

    def add(self, recorder: Recorder) -> None:
        """This run has something to write."""
        with self._lock:
            self._waiting[id(recorder)] = recorder
        self._wanted.set()

    def watch(self, recorder: Recorder) -> None:
        """This run has a deadline, which moves as long as its body gives signs of life."""
        with self._lock:
            self._limited[id(recorder)] = recorder

    def forget(self, recorder: Recorder) -> None:
        """The run has ended; what is left is written with its end."""
        with self._lock:
            self._waiting.pop(id(recorder), None)
            self._limited.pop(id(recorder), None)

    def run_once(self) -> int:
        """Write all that was reported; returns for how many runs."""
        with self._lock:
            gathered, self._waiting = self._waiting, {}
            moved = {key: one for key, one in self._limited.items() if one.deadline_due}
        waiting = list((gathered | moved).values())
        if waiting:
            self.write(waiting)
        return len(waiting)

    def write(self, recorders: list[Recorder]) -> None:
        """Write for these runs in one transaction; a run that was overtaken is marked so."""
        with self.order:
            taken = [(recorder, recorder.take()) for recorder in recorders]
            full = [(recorder, records) for recorder, records in taken if records is not None]
            full.sort(key=lambda pair: pair[1].job_id)
            if not full:
                return
            for recorder, _ in full:
                recorder.in_flight = True
            future = self._store.writer.start(partial(self._write_all, full=full))
        try:
            written = future.result()
        except BaseException:
            for recorder, records in full:
                recorder.give_back(records)
            raise
        finally:
            for recorder, _ in full:
                recorder.in_flight = False
        for (recorder, _), held in zip(full, written, strict=True):
            recorder.overtaken = recorder.overtaken or not held

    def _write_all(self, conn: Connection, full: list[tuple[Recorder, Records]]) -> list[bool]:
        now = self._store.now()
        return [runs.write(conn, self._store.dialect, records, now) for _, records in full]

    def start(self) -> None:
        """Repeat `run_once` in a thread until `stop`."""
        self._thread = threading.Thread(target=self._repeat, name="jobtrail-flush", daemon=True)
        self._thread.start()

    def _repeat(self) -> None:
        pause = self._interval
        while not self._stopping.is_set():
            self._wanted.wait(timeout=1.0)
            self._wanted.clear()
            try:
                self.run_once()
            except Exception as error:
                self.failing = None if isinstance(error, StoreUnavailable) else error
                self._stopping.wait(pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
            else:
                self.failing, pause = None, self._interval
            self._stopping.wait(self._interval)

    def stop(self) -> None:
        """End the thread; what is left was written with the ends of the runs."""
        self._stopping.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
