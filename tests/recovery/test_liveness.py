"""Death is judged by beat numbers and the observer's monotonic clock (C-13): numbers only, no sleeping."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from trails import until

from jobtrail.messages import render
from jobtrail.recovery.liveness import HostIdentity, LifeSign, Liveness
from jobtrail.store.workers import process_start

HERE = HostIdentity("boot-1", "pid:[1]")


def deaths(starts: dict[int, str] | None = None, place: HostIdentity = HERE) -> Liveness:
    return Liveness(15.0, place, (starts or {}).get)


def watch(observer: Liveness, beats, *, start: float = 0.0, step: float = 2.0) -> float | None:
    """Feed one worker's numbers, one each ``step`` seconds; when it was judged dead, or None."""
    at = start
    for beat in beats:
        if observer.judge([LifeSign("w", beat)], at):
            return at
        at += step
    return None


@pytest.mark.parametrize("start", [0.0, 1e6, 0.5], ids=["clock at zero", "long since", "odd"])
def test_a_number_that_stands_for_fifteen_seconds_is_a_death(start):
    assert watch(deaths(), [7] * 20, start=start) == start + 16.0


def test_the_verdict_names_worker_beat_and_how():
    observer = deaths()
    for at in range(0, 15, 2):
        assert observer.judge([LifeSign("w", 7)], at) == []
    (verdict,) = observer.judge([LifeSign("w", 7)], 15.2)
    assert (verdict.worker, verdict.beat, render(verdict.how)) == ("w", 7, "its worker was silent for 15 s")


def test_a_number_that_changes_lives_whatever_it_changes_to():
    assert watch(deaths(), [n // 3 for n in range(200)]) is None
    assert watch(deaths(), [1000 - n // 3 for n in range(200)]) is None, "a restored database may count back"


def test_an_observer_that_has_just_started_watches_first():
    observer = deaths()
    assert observer.judge([LifeSign("w", 7)], 1_000_000.0) == []
    assert watch(observer, [7] * 20, start=1_000_000.0) == 1_000_016.0


def test_each_worker_is_judged_by_its_own_number():
    observer = deaths()
    dead = []
    for tick in range(12):
        signs = [LifeSign("quiet", 3), LifeSign("alive", tick), *([LifeSign("late", 9)] if tick >= 4 else [])]
        dead += [verdict.worker for verdict in observer.judge(signs, tick * 2.0)]
    assert set(dead) == {"quiet"}, "'late' was first seen at 8 s, so it may be silent until 23 s"


def test_a_blind_observer_watches_anew():
    observer = deaths()
    assert watch(observer, [7] * 7) is None  # 0 to 12 s
    observer.blind()
    assert watch(observer, [7] * 20, start=14.0) == 30.0


def test_an_observer_that_was_stopped_itself_watches_anew():
    """After a paused machine goes on, the first number read is as old as the pause, for everybody."""
    observer = deaths()
    assert watch(observer, [7, 7]) is None  # 0 and 2 s
    assert observer.judge([LifeSign("w", 7)], 3600.0) == []
    assert watch(observer, [7] * 20, start=3602.0) == 3616.0


def test_wall_clocks_have_no_say():
    """C-13: a sign holds no time at all, so nobody's clock can kill a worker whose number rises."""
    assert not {name for name in LifeSign.__slots__ if name in {"at", "time", "beat_at", "started_at"}}
    assert watch(deaths(), range(50)) is None


def test_a_worker_that_went_and_came_back_is_watched_anew():
    observer = deaths()
    assert watch(observer, [7] * 6) is None  # until 10 s
    assert observer.judge([], 12.0) == []
    assert watch(observer, [7] * 20, start=14.0) == 30.0


# -- proof on the same host ------------------------------------------------------------------------------


def sign(**rest) -> LifeSign:
    return LifeSign("w", 1, **{"boot": "boot-1", "pid_namespace": "pid:[1]", "pid": 42, "process_start": "100", **rest})


def test_the_system_proves_a_death_at_once():
    (verdict,) = deaths({}).judge([sign()], 0.0)
    assert render(verdict.how) == "its worker's process 42 is gone"


def test_a_process_that_lives_is_not_dead():
    assert deaths({42: "100"}).judge([sign()], 0.0) == []


def test_the_same_pid_with_another_start_is_another_process():
    assert len(deaths({42: "777"}).judge([sign()], 0.0)) == 1


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"boot": "boot-2"}, {"boot": None}, {"pid_namespace": "pid:[2]"}, {"pid_namespace": None},
        {"process_start": None},
    ],
)  # fmt: skip
def test_nothing_is_proven_where_the_pid_may_mean_somebody_else(elsewhere):
    assert deaths({}).judge([sign(**elsewhere)], 0.0) == []


@pytest.mark.parametrize("place", [HostIdentity(None, None), HostIdentity(None, "pid:[1]"), HostIdentity("boot-1", None)])
def test_nothing_is_proven_by_an_observer_that_does_not_know_where_it_is(place):
    same = sign(boot=place.boot, pid_namespace=place.pid_namespace)
    assert deaths({}, place).judge([same], 0.0) == []


def test_who_cannot_be_proven_dead_is_still_judged_by_silence():
    observer = deaths({})
    far = sign(boot="boot-2")
    found = [at for at in range(0, 40, 2) if observer.judge([far], float(at))]
    assert found[0] == 16


def test_a_process_that_is_stopped_is_judged_by_silence_only():
    """SIGSTOP: the process is there with its start time, its number stands."""
    observer = deaths({42: "100"})
    found = [at for at in range(0, 40, 2) if observer.judge([sign()], float(at))]
    assert found[0] == 16


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_a_process_that_has_ended_and_was_not_waited_for_is_gone():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert process_start(process.pid) is not None
        process.kill()
        until("it has ended", lambda: " Z " in Path(f"/proc/{process.pid}/stat").read_text())
        assert process_start(process.pid) is None
    finally:
        process.wait()
