"""The policy refuses what cannot be, and its delay can neither overflow, shrink nor raise."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from datetime import timedelta
from math import inf, isfinite, nan

import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st

from jobtrail.errors import InvalidOption, PermanentError, RetryableError
from jobtrail.job.retry import DEFAULT_WAIT, UNCAPPED, Exponential, Retry, coerce_retry
from jobtrail.messages import render


def explode(attempt):
    raise RuntimeError(attempt)


WAITS = [
    DEFAULT_WAIT,
    0,
    3,
    timedelta(seconds=90),
    Exponential(factor=1e6),
    Exponential(base=0),
    Exponential(maximum=60),
    tenacity.wait_exponential(exp_base=1e6),
    tenacity.wait_exponential(multiplier=5, exp_base=5, max=inf),
    tenacity.wait_exponential_jitter(),
    tenacity.wait_random_exponential(),
    tenacity.wait_incrementing(1, 1e300),
    tenacity.wait_fixed(1) + tenacity.wait_exponential(exp_base=1e6),
    tenacity.wait_chain(tenacity.wait_fixed(1), tenacity.wait_fixed(2)),
    lambda attempt: 2**attempt,
    lambda attempt: 2.5**attempt,
    explode,
    lambda _: None,
    lambda _: nan,
    lambda _: -1,
    lambda _: inf,
    lambda _: "3",
    lambda _: True,
    lambda: 1,
]


@pytest.mark.parametrize("max_delay", [3600, 0.5, None, inf])
@pytest.mark.parametrize("wait", WAITS)
def test_a_delay_never_raises_and_stays_within_the_cap(wait, max_delay):
    if isinstance(wait, (int, timedelta)) and max_delay == 0.5:
        wait = 0.25
    retry = Retry(attempts=None, wait=wait, max_delay=max_delay)
    cap = UNCAPPED if max_delay in {None, inf} else max_delay
    for attempt in [*range(40), *range(40, 2_001, 7), 10**9 if isinstance(wait, Exponential) else 2_000]:
        seconds, _ = retry.delay(attempt, ValueError("x"))
        assert isfinite(seconds)
        assert 0 <= seconds <= cap


@pytest.mark.parametrize(
    "wait",
    [
        Exponential(jitter=False),
        Exponential(factor=5, jitter=False),
        Exponential(factor=1e6, jitter=False, maximum=100),
        tenacity.wait_exponential(exp_base=5),
        tenacity.wait_incrementing(1, 10),
        lambda attempt: 3.0**attempt,
        explode,
    ],
)
@pytest.mark.parametrize("max_delay", [3600, None])
def test_a_delay_without_jitter_never_decreases(wait, max_delay):
    retry = Retry(wait=wait, max_delay=max_delay)
    delays = [retry.delay(attempt, None)[0] for attempt in range(1, 2_001)]
    assert delays == sorted(delays)


def test_the_series():
    plain = Retry(wait=Exponential(jitter=False), max_delay=20)
    assert [plain.delay(n, None)[0] for n in range(1, 8)] == [1, 2, 4, 8, 16, 20, 20]
    from_tenacity = Retry(wait=tenacity.wait_exponential(multiplier=2, exp_base=3), max_delay=60)
    assert [from_tenacity.delay(n, None) for n in range(1, 6)] == [
        (2, None),
        (6, None),
        (18, None),
        (54, None),
        (60, None),
    ]
    assert Retry(wait=lambda attempt: attempt * 10).delay(3, None) == (30, None)


@given(st.integers(1, 12))
def test_jitter_draws_from_the_upper_half(attempt):
    full = 2.0 ** (attempt - 1)
    assert full / 2 <= Retry().delay(attempt, None)[0] <= full


def test_jitter_spreads():
    assert len({Retry().delay(5, None)[0] for _ in range(20)}) > 10


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (explode, "raised RuntimeError"),
        (lambda _: None, "of type NoneType, not a number"),
        (lambda _: nan, "NaN"),
        (lambda _: -1, "negative"),
        (lambda _: -inf, "negative"),
        (lambda _: inf, "endless"),
        (lambda _: 10**400, "endless"),
        (lambda _: "3", "of type str, not a number"),
        (lambda _: True, "of type bool, not a number"),
        (tenacity.wait_exponential(multiplier=-1, min=-9), None),
        (tenacity.wait_exception(explode), "raised RuntimeError"),
        (tenacity.wait_fixed(-2), "negative"),
    ],
)
def test_an_unusable_wait_warns_and_the_default_stands_in(wait, words):
    seconds, warning = Retry(wait=wait).delay(4, ValueError("x"))
    if words is None:
        assert seconds >= 0
        return
    assert words in render(warning)
    assert seconds == 8


def test_a_huge_wait_is_capped_with_a_warning():
    seconds, warning = Retry(wait=lambda _: 1e300).delay(1, None)
    assert seconds == 3600
    assert "1e+300" in render(warning)
    assert Retry(wait=tenacity.wait_incrementing(1e300)).delay(1, None) == (3600, None)
    assert Retry(wait=tenacity.wait_fixed(1) + (lambda _: 10**400)).delay(1, None) == (3600, None)


def test_tenacity_sees_the_error():
    wait = tenacity.wait_exception(lambda error: error.args[0])
    assert Retry(wait=wait).delay(1, ValueError(7)) == (7, None)
    assert Retry(wait=tenacity.wait_fixed(2)).delay(1, asyncio.CancelledError()) == (2, None)


def test_the_errors_own_delay_wins_within_the_cap():
    retry = Retry(wait=5, max_delay=60)
    assert retry.delay(1, RetryableError("x", delay=30)) == (30, None)
    assert retry.delay(1, RetryableError("x", delay=0)) == (0, None)
    assert retry.delay(1, RetryableError("x")) == (5, None)
    seconds, warning = retry.delay(1, RetryableError("x", delay=90))
    assert seconds == 60
    assert "above max_delay" in render(warning)
    for bad in (-1, nan, inf, "soon"):
        seconds, warning = retry.delay(1, RetryableError("x", delay=bad))  # type: ignore[arg-type]
        assert seconds == 5
        assert "ignored" in render(warning)


# -- what is tried again -----------------------------------------------------------------------------


class Gone(ConnectionError):
    pass


@pytest.mark.parametrize(
    ("retry", "error", "allowed"),
    [
        (Retry(), ValueError(), True),
        (Retry(), PermanentError(), False),
        (Retry(on=PermanentError), PermanentError(), False),  # type: ignore[arg-type]
        (Retry(on=(OSError,)), ValueError(), False),
        (Retry(on=(OSError,)), Gone(), True),
        (Retry(on=(OSError,), never=(Gone,)), Gone(), False),
        (Retry(on=(OSError,)), RetryableError(), True),
        (Retry(never=(RetryableError,)), RetryableError(), False),
        (Retry(), SystemExit(3), True),
        (Retry(), KeyboardInterrupt(), True),
        (Retry(never=(SystemExit,)), SystemExit(3), False),
        (Retry(on=(OSError,)), SystemExit(3), False),
    ],
)
def test_allows(retry, error, allowed):
    assert retry.allows(error) is allowed


def test_attempts_count_executions():
    retry = Retry(attempts=3)
    assert [retry.next_attempt_allowed(n, 3) for n in (1, 2, 3, 4)] == [True, True, False, False]
    assert not retry.next_attempt_allowed(1, 1)
    assert retry.next_attempt_allowed(10**9, None)
    assert retry.with_attempts(None).attempts is None
    assert retry.with_attempts(7).wait == retry.wait


# -- refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("attempts", bad) for bad in (0, -1, True, False, "3", 2.5, 3.0, nan, 2**31)),
        *(("max_delay", bad) for bad in (0, -1, nan, -inf, True, "60", 1e12)),
        *(("wait", bad) for bad in (-1, nan, inf, True, "3", [1])),
        ("wait", 7_200),
        *(("on", bad) for bad in ("ValueError", int, (ValueError, 3))),
        ("never", [ValueError()]),
        ("on_partial", 1),
    ],
)
def test_refused_with_the_field_named(field, value):
    with pytest.raises(InvalidOption, match=f"retry {field}"):
        Retry(**{field: value})


@pytest.mark.parametrize(
    "options", [{"base": -1}, {"factor": 0.5}, {"factor": nan}, {"factor": inf}, {"maximum": nan}, {"base": True}]
)
def test_an_exponential_that_cannot_grow_is_refused(options):
    with pytest.raises(InvalidOption, match="retry wait"):
        Exponential(**options)


@pytest.mark.parametrize("bad", [True, False, 0, -1, 2.5, "3", object()])
def test_coerce_refuses(bad):
    with pytest.raises(InvalidOption):
        coerce_retry(bad)


def test_coerce():
    retry = Retry(attempts=4)
    assert coerce_retry(retry) is retry
    assert coerce_retry(3) == Retry(attempts=3)
    assert coerce_retry(None) == Retry(attempts=1)
    assert coerce_retry({"attempts": None}) == Retry(attempts=None)


# -- stored ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "retry",
    [
        Retry(),
        Retry(attempts=None, wait=30, on_partial=True, max_delay=60),
        Retry(attempts=5, wait=Exponential(2, 3, jitter=False, maximum=9), max_delay=inf),
    ],
)
def test_a_stored_policy_comes_back(retry):
    assert Retry.from_json(json.loads(json.dumps(retry.to_json()))) == retry
    assert Retry.from_json(json.dumps(retry.to_json())) == retry


def test_stored_waits_of_tenacity():
    assert Retry(wait=tenacity.wait_fixed(3)).to_json()["wait"] == {"kind": "fixed", "seconds": 3.0}
    plain = Retry(wait=tenacity.wait_exponential(multiplier=2, exp_base=3, max=50))
    back = Retry.from_json(plain.to_json())
    assert [back.delay(n, None) for n in range(1, 9)] == [plain.delay(n, None) for n in range(1, 9)]
    assert Retry(wait=tenacity.wait_exponential(min=10)).to_json()["wait"] == {"kind": "custom"}
    assert Retry(wait=tenacity.wait_random(1, 2)).to_json()["wait"] == {"kind": "custom"}


def test_what_cannot_be_stored_comes_from_the_base():
    base = Retry(attempts=2, wait=explode, on=(OSError,), never=(Gone,))
    stored = base.with_attempts(9).to_json()
    assert stored["wait"] == {"kind": "custom"}
    back = Retry.from_json(stored, base)
    assert (back.attempts, back.wait, back.on, back.never) == (9, explode, (OSError,), (Gone,))
    assert Retry.from_json(stored).wait == DEFAULT_WAIT


@pytest.mark.parametrize(
    "stored", [{"attempts": 0}, {"wait": {"kind": "magic"}}, {"wait": {"kind": "fixed", "seconds": -1}}]
)
def test_a_stored_policy_is_checked_too(stored):
    with pytest.raises(InvalidOption):
        Retry.from_json(stored)


def test_a_producer_does_not_pay_for_tenacity():
    code = (
        "import sys, jobtrail.job.retry as r; r.Retry(attempts=3, wait=2).delay(1); sys.exit('tenacity' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
