"""Time series: jobs submitted, waiting, running and ended, and how long they took.

Jobs have no index of their end, because each would cost every job; they have one of their making, which is their id.
So time is cut into strata by when jobs were made. What was submitted is counted exactly; of each stratum the newest
jobs are looked at, and each stands for its share of the stratum. Where a stratum holds no more than are looked at,
all is exact; else `Told.sampled` says that it is an estimate.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field
from sqlalchemy import bindparam, func, literal, select, union_all

from jobtrail.database.tables import jobs
from jobtrail.database.types import Id, Moment
from jobtrail.job.model import FINAL
from jobtrail.queries.base import Model
from jobtrail.store.search.search import smallest_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

PARTS = 72  # at most, of the time that is told
BEFORE = 24  # strata before it: what was made there may have ended in it
SAMPLE = 50  # jobs of a stratum
COUNT_CAP = 50_000  # of a stratum
BEHIND = 3_000  # jobs before the head of a queue that are looked at
AT_ONCE = 12  # strata in one question
LATELY = 300  # seconds
STEPS = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400, 604_800)  # seconds
KEPT = 2_000  # strata that are remembered
SETTLED_FOR, OPEN_FOR, NEW_FOR = 300.0, 15.0, 1.0  # seconds for which a stratum is not read again
AGAIN = 2 * AT_ONCE  # strata that are read again for one telling, those first that were read the longest ago
PATIENCE = 4  # times as long a stratum waits for that at most
_FINAL = frozenset(status.value for status in FINAL)


class DurationSpread(Model):
    """Durations in seconds: the median ``p50`` and the 95th percentile ``p95``."""

    p50: float
    p95: float


class ChartPoint(Model):
    """One step of a series. ``waiting`` and ``running`` are averages; in the last step they are the present numbers."""

    at: datetime
    submitted: int
    finished: dict[str, int] = Field(examples=[{"completed": 41, "failed": 2}], description="By status.")
    waiting: int
    running: int
    wait: DurationSpread | None
    run: DurationSpread | None


class ChartSeries(Model):
    """Submitted, waiting, running and ended jobs over time, in steps of ``step`` seconds."""

    step: int
    points: list[ChartPoint]
    sampled: bool = Field(description="There were so many jobs that some stand for others; submitted is exact.")
    task: str | None
    now: datetime


@dataclass(frozen=True, slots=True)
class SeriesReading:
    """Points of ``step`` seconds each; ``rates`` is how many jobs ended per second in the last minutes, by queue."""

    step: int
    points: list[ChartPoint]
    sampled: bool
    rates: dict[str, float]


class _Seen(NamedTuple):
    """A sampled job; its times are seconds since 1970."""

    queue: str
    status: str
    due: float
    held_back: bool
    started: float | None
    finished: float | None


@dataclass(frozen=True, slots=True)
class _Stratum:
    """The jobs created in one part of the time: their number, and a sample of the newest."""

    number: int
    rows: Sequence[_Seen]
    read_at: float
    good_for: float

    @property
    def weight(self) -> float:
        return self.number / len(self.rows) if self.rows else 0.0


_COLUMNS = (jobs.c.queue, jobs.c.status, jobs.c.created_at, jobs.c.run_at, jobs.c.started_at, jobs.c.finished_at)


def _seen(row: Any) -> _Seen:
    due = row.created_at if row.run_at is None else max(row.created_at, row.run_at)
    started = None if row.started_at is None else row.started_at.timestamp()
    over = row.finished_at.timestamp() if row.status in _FINAL and row.finished_at is not None else None
    return _Seen(row.queue, row.status, due.timestamp(), row.run_at is None, started, over)


def _between(place: int, *, of_task: bool) -> list[Any]:
    low, high = (bindparam(f"{name}{place}", type_=Id) for name in ("low", "high"))
    return [jobs.c.id >= low, jobs.c.id < high, *([jobs.c.task == bindparam("task")] if of_task else [])]


def _counting(*, of_task: bool) -> Any:
    parts = (
        select(jobs.c.id).where(*_between(place, of_task=of_task)).limit(COUNT_CAP).subquery()
        for place in range(AT_ONCE)
    )
    return union_all(*(select(literal(place), func.count()).select_from(one) for place, one in enumerate(parts)))


def _sampling(*, of_task: bool) -> Any:
    parts = (
        select(*_COLUMNS).where(*_between(place, of_task=of_task)).order_by(jobs.c.id.desc()).limit(SAMPLE).subquery()
        for place in range(AT_ONCE)
    )
    return union_all(*(select(literal(place).label("place"), *one.c) for place, one in enumerate(parts)))


_COUNTS = {of_task: _counting(of_task=of_task) for of_task in (False, True)}
_SAMPLES = {of_task: _sampling(of_task=of_task) for of_task in (False, True)}


class SeriesReader:
    """Reads the series of a store; caches the parts that hardly change."""

    def __init__(self) -> None:
        self._strata: OrderedDict[tuple[str | None, int, int], _Stratum] = OrderedDict()
        self._lock = threading.Lock()

    def read(
        self,
        conn: Connection,
        now: datetime,
        *,
        seconds: float,
        task: str | None = None,
        standing: tuple[int, int] | None = None,
        heads: Iterable[datetime] = (),
    ) -> SeriesReading:
        """Read the last ``seconds``, of one task if it is given.

        standing: how many wait and are due, and how many run, at this moment, where that is known: what has waited
        since before all that is looked at is then among the waiting. heads: since when the first of each queue waits;
        where that is long ago, what ends now was made before it.
        """
        step = next((one for one in STEPS if seconds / one <= PARTS), STEPS[-1])
        last = int(now.timestamp()) // step
        first = max(int(now.timestamp() - seconds) // step, last - PARTS)
        with self._lock:
            strata = self._read(conn, step, range(first - BEFORE, last + 1), task, now)
        gathered = _Gathering(step, first, last, now.timestamp())
        for place, stratum in strata.items():
            gathered.add_stratum(place, stratum)
        before = _moment((first - BEFORE) * step)
        gathered.add_rows(_behind_heads(conn, {at for at in heads if at < before}, first * step), 1.0)
        return gathered.reading(standing)

    def rates(self, conn: Connection, now: datetime, heads: Iterable[datetime]) -> dict[str, float]:
        """Jobs of each queue that ended per second, in the last five minutes; ``heads`` as for `read`."""
        return self.read(conn, now, seconds=2 * LATELY, heads=heads).rates

    def _read(
        self, conn: Connection, step: int, places: Iterable[int], task: str | None, now: datetime
    ) -> dict[int, _Stratum]:
        at = time.monotonic()
        wanted = list(places)
        missing = self._to_read({place: self._strata.get((task, step, place)) for place in wanted}, at)
        for begin in range(0, len(missing), AT_ONCE):
            for place, (number, rows) in _look(conn, step, missing[begin : begin + AT_ONCE], task).items():
                settled = all(row.status in _FINAL for row in rows)
                closed = (place + 2) * step < now.timestamp()
                good_for = (SETTLED_FOR if settled else OPEN_FOR) if closed else NEW_FOR
                self._strata[task, step, place] = _Stratum(number, rows, at, good_for)
        found = {place: self._strata[task, step, place] for place in wanted}
        while len(self._strata) > KEPT:
            self._strata.popitem(last=False)
        return found

    @staticmethod
    def _to_read(known: Mapping[int, _Stratum | None], at: float) -> list[int]:
        """The strata to read: unknown or old ones, and a few that may have changed, because reading all would be slow."""
        must: list[int] = []
        may: list[tuple[float, int]] = []
        for place, one in known.items():
            age = float("inf") if one is None else at - one.read_at
            if one is None or age >= one.good_for * (PATIENCE if one.good_for > NEW_FOR else 1):
                must.append(place)
            elif age >= one.good_for:
                may.append((one.read_at, place))
        return must + [place for _, place in sorted(may)[:AGAIN]]


def _look(conn: Connection, step: int, places: Sequence[int], task: str | None) -> dict[int, tuple[int, list[_Seen]]]:
    given: dict[str, Any] = {} if task is None else {"task": task}
    nothing = smallest_id(_moment(0))
    for slot in range(AT_ONCE):
        there = slot < len(places)
        given[f"low{slot}"] = smallest_id(_moment(places[slot] * step)) if there else nothing
        given[f"high{slot}"] = smallest_id(_moment((places[slot] + 1) * step)) if there else nothing
    counts = {row[0]: row[1] for row in conn.execute(_COUNTS[task is not None], given)}
    rows: dict[int, list[_Seen]] = defaultdict(list)
    for row in conn.execute(_SAMPLES[task is not None], given):
        rows[row.place].append(_seen(row))
    return {place: (counts[slot], rows[slot]) for slot, place in enumerate(places)}


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


_before_head = (
    select(*_COLUMNS).where(jobs.c.id < bindparam("head", type_=Id)).order_by(jobs.c.id.desc()).limit(BEHIND).subquery()
)
_BEHIND = select(_before_head).where(_before_head.c.finished_at >= bindparam("start", type_=Moment))


def _behind_heads(conn: Connection, heads: Iterable[datetime], start: float) -> list[_Seen]:
    """For a queue so long that the jobs ending now are older than all strata: the jobs before its head."""
    found: list[_Seen] = []
    for head in heads:
        rows = conn.execute(_BEHIND, {"head": smallest_id(head), "start": _moment(start)})
        found += [_seen(row) for row in rows]
    return found


def _empty_point(at: datetime) -> ChartPoint:
    return ChartPoint(at=at, submitted=0, finished={}, waiting=0, running=0, wait=None, run=None)


class _Gathering:
    """Adds jobs to the points in which they waited, ran and ended."""

    def __init__(self, step: int, first: int, last: int, now: float) -> None:
        self._step = step
        self._first = first
        self._start = first * step
        self._points = [_empty_point(_moment(place * step)) for place in range(first, last + 1)]
        self._finished: list[dict[str, float]] = [defaultdict(float) for _ in self._points]
        self._waits: list[list[tuple[float, float]]] = [[] for _ in self._points]
        self._runs: list[list[tuple[float, float]]] = [[] for _ in self._points]
        self._waiting = _Level(self._start, step, len(self._points), now)
        self._running = _Level(self._start, step, len(self._points), now)
        self._since = now - LATELY
        self._ended_lately: dict[str, float] = defaultdict(float)
        self._sampled = False

    def add_stratum(self, place: int, stratum: _Stratum) -> None:
        if place >= self._first:
            self._points[place - self._first].submitted = stratum.number
        self._sampled = self._sampled or stratum.number > len(stratum.rows)
        self.add_rows(stratum.rows, stratum.weight)

    def add_rows(self, rows: Iterable[_Seen], weight: float) -> None:
        for row in rows:
            if row.started is None or row.status == "pending":
                if row.finished is not None or not row.held_back:
                    self._waiting.stay(row.due, row.finished, weight)
            elif row.finished is not None or row.status in {"running", "cancelling"}:
                self._waiting.stay(row.due, row.started, weight)
                self._running.stay(row.started, row.finished, weight)
            if row.finished is not None and row.finished >= self._start:
                self._end(row, row.finished, weight)

    def _end(self, row: _Seen, over: float, weight: float) -> None:
        place = min(int((over - self._start) // self._step), len(self._points) - 1)
        self._finished[place][row.status] += weight
        if row.started is not None:
            self._waits[place].append((max(row.started - row.due, 0.0), weight))
            self._runs[place].append((max(over - row.started, 0.0), weight))
        if over >= self._since:
            self._ended_lately[row.queue] += weight

    def reading(self, standing: tuple[int, int] | None) -> SeriesReading:
        waiting, running = self._waiting.means(), self._running.means()
        if standing is not None:
            older = max(standing[0] - self._waiting.still, 0.0)
            waiting = [*(level + older for level in waiting[:-1]), float(standing[0])]
            running = [*running[:-1], float(standing[1])]
        for place, point in enumerate(self._points):
            point.finished = {status: round(share) for status, share in sorted(self._finished[place].items())}
            point.waiting, point.running = round(waiting[place]), round(running[place])
            point.wait, point.run = _spread(self._waits[place]), _spread(self._runs[place])
        rates = {queue: number / LATELY for queue, number in self._ended_lately.items()}
        return SeriesReading(self._step, self._points, self._sampled, rates)


class _Level:
    """The average number of jobs in a state over each step; a mean does not depend on which jobs of a stratum are sampled."""

    def __init__(self, start: float, step: int, parts: int, now: float) -> None:
        self._start = start
        self._step = step
        self._last = parts - 1
        self._now = now
        self._partly = [0.0] * parts  # job seconds
        self._wholly = [0.0] * (parts + 1)  # where jobs begin and cease to fill parts
        self.still = 0.0  # how many are there now

    def stay(self, since: float, until: float | None, weight: float) -> None:
        if since <= self._now and until is None:
            self.still += weight
        begin, end = max(since, self._start), self._now if until is None else min(until, self._now)
        if end <= begin:
            return
        first, last = (min(int((at - self._start) // self._step), self._last) for at in (begin, end))
        if first == last:
            self._partly[first] += weight * (end - begin)
            return
        self._partly[first] += weight * (self._start + (first + 1) * self._step - begin)
        self._partly[last] += weight * (end - self._start - last * self._step)
        self._wholly[first + 1] += weight
        self._wholly[last] -= weight

    def means(self) -> list[float]:
        lengths = [self._step] * self._last + [max(self._now - self._start - self._last * self._step, 1.0)]
        filled = accumulate(self._wholly[:-1])
        return [
            max(whole + part / length, 0.0) for whole, part, length in zip(filled, self._partly, lengths, strict=True)
        ]


def _spread(values: list[tuple[float, float]]) -> DurationSpread | None:
    """Percentiles of (seconds, weight) pairs."""
    if not values:
        return None
    values.sort()
    whole = sum(weight for _, weight in values)
    return DurationSpread(p50=_at(values, 0.5 * whole), p95=_at(values, 0.95 * whole))


def _at(values: Sequence[tuple[float, float]], share: float) -> float:
    passed = 0.0
    for seconds, weight in values:
        passed += weight
        if passed >= share:
            return seconds
    return values[-1][0]


def drained_in(due: Mapping[str, int], rates: Mapping[str, float]) -> dict[str, float | None]:
    """Seconds until each queue is empty at the recent rate; None if none of its jobs ended recently."""
    return {queue: (number / rates[queue] if rates.get(queue) else None) for queue, number in due.items()}
