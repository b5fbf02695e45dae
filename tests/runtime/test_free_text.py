"""Whatever is in a person's words (NUL, half a character): nothing is lost, and every database takes them."""

import pytest
from sqlalchemy import text

from jobtrail import Partial, Retry, Snooze
from jobtrail.commands import queues
from jobtrail.testing import drain

pytestmark = pytest.mark.both_databases
WORDS = "why\x00 not \ud800 é 🙂"
STORED = "why\\x00 not \\ud800 é 🙂"


def trail(jobs, job):
    with jobs.store.read() as conn:
        rows = conn.execute(text("SELECT name, actor, reason FROM jobtrail_events ORDER BY id")).all()
    return [tuple(row) for row in rows]


def test_the_reason_of_a_partial_result_keeps_the_result(jobs):
    @jobs.task
    def load():
        return Partial({"rows": 3}, reason=WORDS)

    job = load.enqueue()
    drain(jobs)
    job.refresh()
    assert job.status == "partial"
    assert job.result() == {"rows": 3}
    assert STORED in stored_notes(jobs)


def test_the_words_of_every_action(jobs):
    @jobs.task
    def load(*, n):
        return n

    job = load.using(delay=3600).enqueue(n=1)
    job.run_now(actor=WORDS)
    job.cancel(reason=WORDS, actor=WORDS)
    job.retry(reason=WORDS, actor=WORDS)
    again = load.using(delay=3600).enqueue(n=2)
    again.cancel(reason=WORDS, actor=WORDS)
    again.rerun(reason=WORDS, actor=WORDS)
    queues.set_paused(jobs.service, "default", paused=True, actor=WORDS, reason=WORDS)
    assert {(name, actor) for name, actor, _ in trail(jobs, job)} >= {
        ("run_now", STORED), ("cancelled", STORED), ("retried", STORED),
    }  # fmt: skip
    assert {reason for name, _, reason in trail(jobs, job) if name in {"cancelled", "retried"}} == {STORED}
    with jobs.store.read() as conn:
        kept = conn.execute(text("SELECT actor, reason FROM jobtrail_queues")).all()
        kept += conn.execute(text("SELECT actor, reason FROM jobtrail_jobs WHERE rerun_of IS NOT NULL")).all()
    assert [tuple(row) for row in kept] == [(STORED, STORED)] * 2


def stored_notes(jobs):
    with jobs.store.read() as conn:
        return list(conn.execute(text("SELECT note FROM jobtrail_jobs")).scalars())


@pytest.mark.parametrize("end", ["snooze", "retry"])
def test_the_reason_of_a_run_that_goes_on(jobs, end):
    @jobs.task(retry=Retry(attempts=2))
    def load(ctx):
        if ctx.attempt == 1 and end == "retry":
            ctx.request_retry(after=3600, reason=WORDS)
        return Snooze(3600, reason=WORDS)

    load.enqueue()
    drain(jobs)
    assert [reason for name, _, reason in trail(jobs, None) if name in {"snoozed", "retry_planned"}] == [STORED]
