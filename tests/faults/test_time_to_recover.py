"""From the death of a worker to the next start of its job, measured across processes."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from fleet import Fleet, fleet, until
from sqlalchemy import update

from jobtrail.database.tables import workers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
QUICK = {"beat_interval": 0.4, "silent_after": 1.6, "sweep_interval": 0.4}  # instead of 5, 15 and 2 s


def rounds(one: Fleet, number: int, *, beat_too: bool = False, elsewhere: bool = False) -> list[float]:
    """Kill the worker that runs a job, as often as asked; the seconds until the other one starts it.

    ``elsewhere``: nothing can be proven by the operating system, as if the worker had lived on another host.
    """
    found = []
    one.start_many(2)
    for _ in range(number):
        job = one.submit("quick", seconds=0.4)
        first = until("it has begun", lambda job=job: _start(one, job, 1))
        (victim,) = (process for process in one.living() if process.pid == first["pid"])
        if elsewhere:
            _move_elsewhere(one, victim.pid)
        beat = victim.beat_child()
        assert beat is not None
        died = time.time()
        if beat_too:
            os.kill(beat, signal.SIGKILL)
        victim.kill()
        second = until("it has begun again", lambda job=job: _start(one, job, 2), timeout=40)
        found.append(second["at"] - died)
        one.drained()
        one.start()
    return found


def _start(one: Fleet, job: str, run: int) -> dict | None:
    return next((line for line in one.diary("start") if (line["job"], line["run"]) == (job, run)), None)


def _move_elsewhere(one: Fleet, pid: int) -> None:
    one.jobs.store.write(lambda conn: conn.execute(update(workers).where(workers.c.pid == pid).values(boot="elsewhere")))


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_with_its_beat_child_alive_it_takes_less_than_two_seconds(url: str, tmp_path: Path) -> None:
    with fleet(url, tmp_path) as one:
        assert max(rounds(one, 1)) < 2 + LOADED


@pytest.mark.long
def test_without_any_last_word_silence_tells(postgres_url: str, tmp_path: Path) -> None:
    """With the short settings: 1.6 s of silence, seen at a sweep, after the last beat."""
    with fleet(postgres_url, tmp_path, **QUICK) as one:
        assert max(rounds(one, 1, beat_too=True, elsewhere=True)) < 1.6 + 2 * 0.4 + 1 + LOADED


LOADED = 2.0  # seconds that a busy machine may add
