"""The claim of jobs that have a limit: never beyond it, whoever claims; blocked ones cost nothing; places come back by themselves."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import timedelta
from json import dumps
from typing import TYPE_CHECKING, Any

import pytest
from making import Maker, new_job, subject
from sqlalchemy import text

from jobtrail.database.tables import limit_starts
from jobtrail.job import transitions
from jobtrail.job.limits.limit import Limit, Quota
from jobtrail.job.model import Claim, Status, StopCause, new_id
from jobtrail.store import Store, jobs
from jobtrail.store.limits import claims, definitions, lanes
from jobtrail.store.limits.claims import LimitedClaims

if TYPE_CHECKING:
    from datetime import datetime

TENANT = "tenant:{tenant}"


class Limited:
    """One worker that claims limited jobs."""

    def __init__(self, store: Store) -> None:
        self.store, self.worker = store, new_id()
        self.claims = LimitedClaims(lambda: True)

    def declare(self, *limits: Limit) -> None:
        self.store.write(lambda conn: definitions.declare(conn, self.store.dialect, limits, self.store.now()))

    def add(self, tenant: str, number: int = 1, *, also: dict[str, str] | None = None, **rest: Any) -> list[str]:
        keys = dumps({**(also or {}), TENANT: f"tenant:{tenant}"})
        ids = [new_id() for _ in range(number)]
        self.store.insert_alike(new_job(limits=keys, **rest), [(one, "{}") for one in ids])
        return ids

    def claim(self, room: int = 100, *, queue: str = "default", now: datetime | None = None) -> list[Claim]:
        at, dialect = now or self.store.now(), self.store.dialect
        return self.store.write(
            lambda conn: self.claims.claim(conn, [(queue, room)], room, self.worker, at, dialect=dialect)
        )


@pytest.fixture
def limited(store: Store) -> Limited:
    return Limited(store)


def test_a_key_runs_no_more_than_its_limit_and_others_go_on(limited: Limited, make: Maker) -> None:
    limited.declare(Limit(TENANT, running=2))
    limited.add("a", 5)
    limited.add("b", 1)
    first = limited.claim()
    assert sorted(make.row(one.id).limits or "" for one in first) == ['{"tenant:{tenant}": "tenant:a"}'] * 2 + [
        '{"tenant:{tenant}": "tenant:b"}'
    ]
    assert limited.claim() == []
    assert make.claim() == [], "the plain claim takes none of them"
    make.finish(next(one for one in first if "tenant:a" in (make.row(one.id).limits or "")))
    assert len(limited.claim()) == 1


def test_a_claim_of_a_limited_job_carries_what_any_claim_does(limited: Limited, make: Maker) -> None:
    limited.declare(Limit(TENANT, running=2))
    due = limited.store.now() - timedelta(seconds=5)
    (job_id,) = limited.add("a", task="sync", run_at=due, options="{}", generation=(telling := new_id()))
    (claim,) = limited.claim()
    row = make.row(job_id)
    assert (claim.id, claim.run_no, claim.attempt, claim.options, claim.ledger, claim.due_at) == (job_id, 1, 1, "{}", telling, due)
    assert (row.status, row.worker, row.started_at) == (Status.RUNNING, limited.worker, claim.started_at)


def _ends(claim: Claim, now: datetime) -> dict[str, list[transitions.Move]]:
    job = subject(claim, worker=new_id())
    question = {"kind": "form", "name": "q"}
    asked_to_stop = transitions.stop_requested(job, now, cause=StopCause.CANCEL, actor="ada")
    stopping = subject(claim, status=Status.CANCELLING, stop_cause="cancel")
    forced = transitions.forced(stopping, now, actor="ada")
    return {
        "finished": [transitions.finished(job, now, Status.FAILED)],
        "retried": [transitions.retry_planned(job, now + timedelta(hours=1), reason="r")],
        "handed back": [transitions.handed_back(job, now + timedelta(hours=1), reason="r")],
        "interrupted": [transitions.interrupted(job, reason="r")],
        "stopped": [asked_to_stop, transitions.stopped_by_cancel(stopping, now)],
        "body returned": [
            asked_to_stop, forced, transitions.body_returned(subject(claim, status=Status.CANCELLED)),
        ],
        "asked": [transitions.snoozed(job, now + timedelta(hours=1), reason=str(question))],
    }  # fmt: skip


@pytest.mark.parametrize("how", ["finished", "retried", "handed back", "interrupted", "stopped", "body returned", "asked"])
def test_whatever_ends_a_run_gives_its_place_back(limited: Limited, make: Maker, how: str) -> None:
    limited.declare(Limit(TENANT, running=1))
    limited.add("a", 2)
    (claim,) = limited.claim()
    *before, last = _ends(claim, limited.store.now())[how]
    for move in before:
        assert make.apply(move) == []
        assert limited.claim() == [], "its body still runs"
    assert make.apply(last) == []
    assert len(limited.claim()) == 1


def test_a_rate_lets_so_many_start_and_tells_when_the_next_may(limited: Limited, make: Maker) -> None:
    limited.declare(Limit(TENANT, rate=2, per=10))
    limited.add("a", 5)
    now = limited.store.now()
    begun = limited.claim(now=now)
    assert len(begun) == 2
    for one in begun:
        make.finish(one, now=now)
    assert limited.claim(now=now + timedelta(seconds=9)) == []
    assert limited.claims.next_at == now + timedelta(seconds=10)
    assert len(limited.claim(now=now + timedelta(seconds=10))) == 2


def test_all_limits_of_a_job_count(limited: Limited, make: Maker) -> None:
    limited.declare(Limit(TENANT, running=1), Limit("api", running=2))
    for tenant in "abc":
        limited.add(tenant, 2, also={"api": "api"})
    first = limited.claim()
    assert len(first) == 2
    assert len({make.row(one.id).limits for one in first}) == 2
    make.finish(first[0])
    assert len(limited.claim()) == 1


def test_a_limit_counts_over_queues(limited: Limited) -> None:
    limited.declare(Limit(TENANT, running=1))
    limited.add("a", queue="one")
    limited.add("a", queue="two")
    assert len(limited.claim(queue="one")) == 1
    assert limited.claim(queue="two") == []


def test_within_a_key_urgent_jobs_come_first_then_the_oldest(limited: Limited, make: Maker) -> None:
    limited.declare(Limit(TENANT, running=1))
    now = limited.store.now()
    order = [(0, 1), (0, 0), (5, 9)]
    ids = [limited.add("a", priority=p, run_at=now - timedelta(minutes=m))[0] for p, m in reversed(order)][::-1]
    for expected in ids:
        (claim,) = limited.claim()
        assert claim.id == expected
        make.finish(claim)


def test_a_job_for_later_is_not_taken_and_its_time_is_told(limited: Limited) -> None:
    limited.declare(Limit(TENANT, running=1))
    at = limited.store.now() + timedelta(minutes=1)
    limited.add("a", run_at=at)
    assert limited.claim() == []
    assert limited.claims.next_at == at
    assert len(limited.claim(now=at)) == 1


def test_a_suspect_takes_its_place_too(limited: Limited, make: Maker) -> None:
    limited.declare(Limit(TENANT, running=1))
    (suspect,) = limited.add("a")
    (claim,) = limited.claim()
    job = subject(claim)
    make.apply(transitions.interrupted(job, reason="r"))
    make.apply(transitions.requeued(subject(claim, status=Status.INTERRUPTED), limited.store.now(), reason="r", strikes=1))
    limited.add("a")
    (other,) = limited.claim()
    assert other.id != suspect

    def look() -> list[Claim]:
        store, now = limited.store, limited.store.now()
        return store.write(
            lambda conn: jobs.claim_suspect(
                conn, store.dialect, ["default"], limited.worker, now,
                lambda keys: claims.admit(conn, store.dialect, keys, now),
            )
        )  # fmt: skip

    assert look() == []
    make.finish(other)
    assert [one.id for one in look()] == [suspect]
    limited.add("a")
    assert limited.claim() == []


def test_a_changed_limit_holds_from_the_next_claim_on(limited: Limited) -> None:
    store = limited.store
    limited.declare(Limit(TENANT, running=1))
    limited.add("a", 9)
    assert len(limited.claim()) == 1

    def change(quota: Quota | None) -> Any:
        return store.write(
            lambda conn: definitions.change(conn, store.dialect, TENANT, quota, store.now(), actor="ada", reason="more")
        )

    assert change(Quota(running=3)).actor == "ada"
    assert len(limited.claim()) == 2
    limited.declare(Limit(TENANT, running=2))
    with store.read() as conn:
        found = definitions.read_all(conn)[TENANT]
    assert (found.quota, found.declared) == (Quota(running=3), Quota(running=2)), "a program does not undo what a person set"
    assert change(Quota()).quota == Quota()
    assert len(limited.claim(4)) == 4, "without numbers it limits nothing"
    assert change(None).quota == Quota(running=2)
    assert limited.claim() == []
    with store.read() as conn:
        told = [row.name for row in conn.execute(text("SELECT name FROM jobtrail_actions WHERE name LIKE 'limit%' ORDER BY id"))]
    assert told == ["limit_set", "limit_set", "limit_reset"]


@pytest.mark.both_databases
def test_claims_of_many_workers_at_once_never_pass_a_limit(limited: Limited, make: Maker, migrated: str) -> None:
    """Eight claim and end against each other; each looks, after its claim, how many of a key run."""
    limited.declare(Limit(TENANT, running=2), Limit("api", rate=40, per=3600))
    for tenant in "abc":
        limited.add(tenant, 20, also={"api": "api"})
    over: list[int] = []
    taken: list[str] = []

    def work() -> None:
        with closing(Store(migrated)) as store:
            mine, hand = Limited(store), Maker(store)
            empty = 0
            while empty < 30:
                found = mine.claim(2)
                empty = 0 if found else empty + 1
                taken.extend(one.id for one in found)
                with store.read() as conn:
                    rows = conn.execute(text("SELECT limits, count(*) FROM jobtrail_jobs WHERE status = 'running' GROUP BY limits"))
                    over.extend(number for _, number in rows if number > 2)
                for one in found:
                    hand.finish(one)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert over == []
    assert len(taken) == len(set(taken)) == 40, "as many as the rate allows in an hour, none twice"
    assert make.count(limit_starts) == 1


def test_blocked_jobs_are_one_step_however_many(limited: Limited) -> None:
    """`bench/limits.py` measures it with 100,000."""
    limited.declare(Limit(TENANT, running=1))
    limited.add("a", 1000)
    limited.claim()
    limited.add("z", 1)
    with limited.store.read() as conn:
        assert len(lanes.of_queue(conn, "default", 1000)[0]) == 2
    assert len(limited.claim()) == 1


def test_more_keys_than_one_look_takes_are_looked_at_in_turns(limited: Limited, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MOST_LANES", 3)
    limited.declare(Limit(TENANT, running=1))
    for number in range(8):
        limited.add(f"t{number}", 2)
    found = [len(limited.claim()) for _ in range(6)]
    assert sum(found) == 8
