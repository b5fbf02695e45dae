"""Time series: how many jobs ended, by status, and how long they waited and ran.

Every number is a count that was kept in the transaction of an end (`jobtrail.store.totals`), so it does not change when retention
removes the jobs. Percentiles are those of histograms whose classes are a sixteenth wide.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import Field

from jobtrail.queries.base import Model
from jobtrail.store.totals import durations, ends

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

PARTS = 72  # at most, of the time that is told
LATELY = timedelta(seconds=300)
STEPS = (60, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400, 604_800)  # seconds; as long as the counts of their time


class DurationSpread(Model):
    """Durations in seconds: the median ``p50`` and the 95th percentile ``p95``, within 4 %."""

    p50: float
    p95: float


class ChartPoint(Model):
    """What ended in one step of a series, and how long that waited and ran."""

    at: datetime
    finished: dict[str, int] = Field(examples=[{"completed": 41, "failed": 2}], description="Jobs by status.")
    wait: DurationSpread | None
    run: DurationSpread | None


class ChartSeries(Model):
    """Ended jobs over time, in steps of ``step`` seconds. A job that was retried counts where it ends again."""

    step: int
    points: list[ChartPoint]
    task: str | None
    queue: str | None
    source: str | None
    now: datetime


@dataclass(slots=True)
class _Step:
    jobs: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    waits: dict[int, int] = field(default_factory=dict)
    runs: dict[int, int] = field(default_factory=dict)


def series(
    conn: Connection,
    now: datetime,
    seconds: float,
    *,
    task: str | None = None,
    queue: str | None = None,
    source: str | None = None,
) -> ChartSeries:
    """Read the last ``seconds``.

    Args:
        conn: A connection for reading.
        now: The store's time.
        seconds: How far back.
        task: Of this task only.
        queue: Of this queue only.
        source: Of this source only.
    """
    step = next((one for one in STEPS if seconds / one <= PARTS), STEPS[-1])
    last = int(now.timestamp()) // step
    first = max(int(now.timestamp() - seconds) // step, last - PARTS)
    steps = [_Step() for _ in range(first, last + 1)]
    for row in ends.read(conn, _moment(first * step), task=task, queue=queue, source=source):
        one = steps[min(int(row.at.timestamp()) // step - first, last - first)]
        one.jobs[row.status] += row.jobs
        durations.add_written(one.waits, row.waits)
        durations.add_written(one.runs, row.runs)
    points = [_point(_moment((first + place) * step), one) for place, one in enumerate(steps)]
    return ChartSeries(step=step, points=points, task=task, queue=queue, source=source, now=now)


def _point(at: datetime, step: _Step) -> ChartPoint:
    finished = {status: number for status, number in sorted(step.jobs.items()) if number}
    return ChartPoint(at=at, finished=finished, wait=_spread(step.waits), run=_spread(step.runs))


def _spread(histogram: Mapping[int, int]) -> DurationSpread | None:
    p50, p95 = durations.percentile(histogram, 0.5), durations.percentile(histogram, 0.95)
    return None if p50 is None or p95 is None else DurationSpread(p50=p50, p95=p95)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def rates(conn: Connection, now: datetime) -> dict[str, float]:
    """Jobs of each queue that ended per second in the last five minutes; the first of these minutes is a whole one."""
    since = (now - LATELY).replace(second=0, microsecond=0)
    return {queue: number / (now - since).total_seconds() for queue, number in ends.by_queue(conn, since).items()}


def drained_in(due: Mapping[str, int], rates: Mapping[str, float]) -> dict[str, float | None]:
    """Seconds until each queue is empty at the recent rate; None if none of its jobs ended recently."""
    return {queue: (number / rates[queue] if rates.get(queue) else None) for queue, number in due.items()}
