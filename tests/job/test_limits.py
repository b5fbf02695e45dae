"""Limits by key: templates, what is refused, how a rate counts, and the fair allotment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobtrail import InvalidArguments, InvalidOption, Limit
from jobtrail.job.limits.allotment import Lane, LimitUse, allot, next_look
from jobtrail.job.limits.limit import Quota, keys_of, read_keys
from jobtrail.job.limits.starts import Starts
from jobtrail.job.task import Task, Tasks

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def send(tenant: str, size: int = 1, *, token: str | None = None) -> None:
    """A task function."""


def task(*limits: Any, name: str = "send") -> Task:
    return Task.made(name, send, {"limits": limits})


def keys(**args: Any) -> dict[str, str]:
    one = task(Limit("tenant:{tenant}", running=1), Limit("api", rate=5), Limit("{source}/{queue}", running=2))
    return dict(read_keys(one.limit_keys(args, "mail", args.pop("source", None)) or "{}"))


def test_a_key_is_made_of_arguments_and_of_the_job() -> None:
    assert keys(tenant="acme", source="ftp") == {"api": "api", "tenant:{tenant}": "tenant:acme", "{source}/{queue}": "ftp/mail"}
    assert keys(tenant=7) == {"api": "api", "tenant:{tenant}": "tenant:7"}, "without a source that limit does not apply"


def test_a_default_counts_as_the_argument() -> None:
    assert task(Limit("size:{size}", running=1)).limit_keys({"tenant": "a"}, "q", None) == '{"size:{size}": "size:1"}'


def test_jobs_with_the_same_keys_have_the_same_text() -> None:
    limits = [Limit("b:{x}", running=1), Limit("a", running=1)]
    assert keys_of(limits, {"x": "1"}) == keys_of(reversed(limits), {"x": "1"}) == '{"a": "a", "b:{x}": "b:1"}'


@pytest.mark.parametrize("value", ["x" * 500, "a\nb", "a\x00b", "\ud800"])
def test_a_key_is_short_and_printable_and_its_own(value: str) -> None:
    limit = Limit("{x}", running=1)
    key = limit.key({"x": value})
    assert key is not None
    assert len(key) <= 60
    assert key.isprintable()
    assert key != limit.key({"x": value + "1"})


def test_what_cannot_be_part_of_a_key_is_refused_with_the_argument() -> None:
    with pytest.raises(InvalidArguments, match=r"'tenant:\{tenant\}'.*'tenant'.*\['a'\]"):
        keys(tenant=["a"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a", "running": 0}, "running must be a whole number from 1 .* it is 0"),
        ({"name": "a", "rate": True}, "rate must be a whole number"),
        ({"name": "a", "rate": 1.5}, "rate must be a whole number"),
        ({"name": "a", "rate": 1, "per": 0}, "per must be a positive number of seconds, it is 0"),
        ({"name": "a", "rate": 1, "per": -1}, "per must be"),
        ({"name": "a"}, "allows any number"),
        ({"name": "", "running": 1}, "printable text"),
        ({"name": "a{b", "running": 1}, "not a template"),
        ({"name": "a{b.c}", "running": 1}, "not a template"),
        ({"name": "a{}", "running": 1}, "not a template"),
        ({"name": "a{b!r}", "running": 1}, "not a template"),
    ],
)
def test_a_limit_that_could_not_work_is_refused_where_it_is_written(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Limit(**given)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ([Limit("{nobody}", running=1)], "names 'nobody', which is no argument"),
        ([Limit("{token}", running=1)], "'token', whose values are hidden"),
        ([Limit("a", running=1), Limit("a", rate=1)], "twice"),
        ([5], "it has 5"),
        ([Limit(f"a{number}", running=1) for number in range(9)], "9 limits, at most 8"),
    ],
)
def test_a_task_refuses_limits_that_it_cannot_fill(limits: list[Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        task(*limits)


def test_two_tasks_share_a_limit_with_the_same_numbers_only() -> None:
    tasks = Tasks()
    tasks.add(task(Limit("api", rate=5)))
    tasks.add(task(Limit("api", rate=5, per=timedelta(seconds=1)), name="second"))
    with pytest.raises(InvalidOption, match="other numbers"):
        tasks.add(task(Limit("api", rate=6), name="third"))


# -- the rate ----------------------------------------------------------------------------------------


def test_no_span_of_the_rate_has_more_starts() -> None:
    """At every moment as many are started as may be: no span, wherever it begins, has more than the rate."""
    quota, starts, begun = Quota(rate=5, per=1.0), Starts(), []
    for step in range(0, 4000, 7):
        now = NOW + timedelta(milliseconds=step)
        free = starts.free(quota, now)
        if free:
            starts = Starts.from_json(starts.with_started(quota, free, now).to_json())
            begun += [step] * free
    assert max(sum(at <= one < at + 1000 for one in begun) for at in begun) == 5
    assert len(begun) >= 19, "and hardly less than the rate allows"


def test_the_next_start_is_when_the_oldest_comes_back() -> None:
    quota = Quota(rate=2, per=10.0)
    starts = Starts().with_started(quota, 1, NOW).with_started(quota, 1, NOW + timedelta(seconds=4))
    at = NOW + timedelta(seconds=5)
    assert starts.next_at(quota, at) == NOW + timedelta(seconds=10)
    assert starts.next_at(quota, NOW + timedelta(seconds=10)) is None
    assert starts.next_at(Quota(rate=1, per=10.0), at) == NOW + timedelta(seconds=14), "a lower rate waits for the later one"


def test_a_start_that_another_clock_has_seen_later_is_not_forgotten_early() -> None:
    quota = Quota(rate=2, per=10.0)
    ahead = NOW + timedelta(milliseconds=3)
    starts = Starts().with_started(quota, 1, ahead).with_started(quota, 1, NOW)
    assert starts.next_at(quota, NOW) == ahead + timedelta(seconds=10)


def test_a_clock_that_was_set_back_holds_nobody_for_longer_than_two_spans() -> None:
    quota = Quota(rate=1, per=10.0)
    starts = Starts().with_started(quota, 1, NOW + timedelta(hours=1))
    assert starts.next_at(quota, NOW) == NOW + timedelta(seconds=20)


def test_what_is_kept_of_many_starts_is_short() -> None:
    quota, starts = Quota(rate=100_000, per=60.0), Starts()
    for step in range(5000):
        starts = starts.with_started(quota, 1, NOW + timedelta(milliseconds=10 * step))
    assert len(starts.used) <= 51
    assert starts.free(quota, NOW + timedelta(seconds=50)) == 95_000


# -- the allotment -----------------------------------------------------------------------------------


def lane(tenant: str, priority: int = 5, *, due: float = 0.0) -> Lane:
    return Lane(f'{{"t": "{tenant}"}}', priority, NOW + timedelta(seconds=due))


def use(running: int | None = None, rate: int | None = None, **held: int) -> LimitUse:
    return LimitUse({"t": Quota(running, rate)}, {lane(tenant).keys: number for tenant, number in held.items()})


def test_slots_go_to_those_who_run_least_and_never_beyond_a_limit() -> None:
    a, b, c = lane("a"), lane("b"), lane("c")
    assert allot([a, b, c], 3, use(a=2, b=0, c=1), NOW) == {b: 2, c: 1}
    assert allot([a, b], 4, use(a=0, b=0), NOW) == {a: 2, b: 2}
    assert allot([a, b], 10, use(running=3, a=2, b=3), NOW) == {a: 1}
    assert allot([a, b], 10, use(rate=2), NOW) == {a: 2, b: 2}


def test_urgent_ones_come_first_and_later_ones_not_at_all() -> None:
    urgent, later = lane("a", 0), lane("b", 0, due=1)
    assert allot([lane("c"), urgent, later], 1, use(), NOW) == {urgent: 1}
    assert allot([later], 1, use(), NOW) == {}


def test_one_slot_goes_round() -> None:
    a, b = lane("a"), lane("b", due=-1)
    assert allot([a, b], 1, use(), NOW) == {b: 1}
    assert allot([a, b], 1, use(), NOW, {b.keys: 7}) == {a: 1}


def test_lanes_of_one_key_share_its_places() -> None:
    one, two = Lane('{"api": "api", "t": "a"}', 5, NOW), Lane('{"api": "api", "t": "b"}', 5, NOW)
    shared = LimitUse({"api": Quota(running=3), "t": Quota(running=1)}, {one.keys: 1, two.keys: 0})
    assert allot([one, two], 9, shared, NOW) == {two: 1}


def test_the_next_look_is_the_first_moment_at_which_something_may_start() -> None:
    starts = {("t", "a"): Starts().with_started(Quota(rate=1), 1, NOW)}
    blocked = LimitUse({"t": Quota(rate=1)}, {}, starts)
    assert next_look([lane("a"), lane("b", due=5)], blocked, NOW) == NOW + timedelta(seconds=1)
    assert next_look([lane("a")], use(running=1, a=1), NOW) is None, "an end wakes it"
    blocking = blocked.blocking(lane("a").keys, NOW)
    assert blocking is not None
    assert (blocking.name, blocking.key, blocking.why) == ("t", "a", "rate")
