"""A job asks a person: it leaves its slot, keeps what it has done, and goes on with the answer."""

from __future__ import annotations

import threading
from datetime import timedelta
from enum import Enum

import pytest
from pydantic import BaseModel
from trails import event, names

from jobtrail import Context
from jobtrail.commands.answers import expire
from jobtrail.commands.job_fields import stored_row
from jobtrail.errors import AlreadyAnswered, AnswerRefused, NotFound, QuestionClosed
from jobtrail.job.model import Status
from jobtrail.store import jobs as store_jobs
from jobtrail.store import questions, retention
from jobtrail.testing import MovableClock, drain


class Choice(BaseModel):
    column: str
    skip: int = 0


class Color(Enum):
    RED = "red"
    BLUE = "blue"


def test_a_job_that_asks_holds_no_slot_and_goes_on_with_the_answer(jobs):
    done = []

    @jobs.task
    def load(ctx: Context) -> dict:
        ctx.step("download", lambda: done.append("downloaded"))
        for item in ctx.items(["a", "b"], durable=True):
            with item:
                done.append(item.value)
        choice = ctx.ask("column", "Which column is the date?", Choice)
        assert isinstance(choice, Choice)
        return choice.model_dump()

    job = load.enqueue()
    drain(jobs)
    row = stored_row(job.refresh())
    assert row.status is Status.AWAITING_INPUT
    assert (row.attempt, row.run_no) == (0, 1), "asking is no attempt"
    assert job.item_counts() == {"ok": 2, "failed": 0, "skipped": 0}, "finished items stay while it waits"
    assert drain(jobs) == [], "nothing of it is handed out"
    job.answer({"column": "when"}, actor="ann", reason="I looked")
    drain(jobs)
    assert job.result() == {"column": "when", "skip": 0}
    assert job.refresh().attempt == 1
    assert done == ["downloaded", "a", "b"], "steps and items before the question are not repeated"
    assert names(job) == ["asked", "answered"]
    assert (event(job, "answered").actor, event(job, "answered").reason) == ("ann", "I looked")
    (asked,) = job.questions()
    assert (asked.state, asked.actor, asked.answer) == ("answered", "ann", '{"column":"when"}')
    assert asked.closed_at is not None


def test_it_works_in_a_child_process_too(make_jobs):
    from process_tasks import app

    jobs = make_jobs()
    jobs.tasks.add(app.tasks.get("asking"))
    job = jobs.task_named("asking").enqueue()
    drain(jobs)
    assert job.refresh().status is Status.AWAITING_INPUT, job.error
    job.answer(3)
    drain(jobs)
    assert job.result() == [3, "downloaded"]


def test_an_async_body_awaits_its_question(jobs):
    @jobs.task
    async def load(ctx):
        return [await ctx.ask("many", "How many?", int), await ctx.ask("color", "Which?", Color)]

    job = load.enqueue()
    for value in (3, "blue"):
        drain(jobs)
        job.answer(value)
    drain(jobs)
    assert job.result() == [3, "blue"]


def test_several_questions_in_order_also_inside_a_loop(jobs):
    tried = []

    @jobs.task
    def load(ctx: Context) -> None:
        for item in ctx.items(["a", "b", "c"]):
            with item:
                tried.append(item.value)
                if item.value != "a" and not ctx.ask(f"keep {item.value}", f"Keep {item.value}?", bool):
                    item.skip("not wanted")

    job = load.enqueue()
    drain(jobs)
    assert job.item_counts() == {"ok": 1, "failed": 0, "skipped": 0}, "the item that asks stays open"
    job.answer(True)
    drain(jobs)
    job.answer(False)
    drain(jobs)
    assert job.refresh().status is Status.COMPLETED
    assert tried == ["a", "b", "b", "c", "c"]
    assert job.item_counts() == {"ok": 2, "failed": 0, "skipped": 1}
    assert [one.name for one in job.questions()] == ["keep b", "keep c"]


def test_the_same_name_twice_is_an_error_at_once(jobs):
    @jobs.task
    def load(ctx: Context) -> None:
        for item in ctx.items(["a", "b"]):
            with item:
                ctx.ask("keep", "Keep it?", bool)

    job = load.enqueue()
    drain(jobs)
    job.answer(True)
    drain(jobs)
    assert job.items("failed")[0].reason == (
        "this job has asked 'keep' already; each question needs a name of its own (in a loop: with the item's key)"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("n", "", int), "the text of the question 'n' must have 1 to 4,000 characters"),
        (("n", "What?", {"$ref": "https://example.org/schema"}), "$ref"),
        (("n", "What?", {"type": "nonsense"}), "nonsense"),
    ],
)
def test_what_could_not_be_answered_is_not_asked(jobs, arguments, said):
    @jobs.task
    def load(ctx: Context) -> None:
        ctx.ask(*arguments)

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status is Status.FAILED
    assert said in job.error["message"]
    assert job.questions() == []


def waiting(jobs, **options):
    @jobs.task
    def load(ctx: Context):
        return ctx.ask("many", "How many?", int, **options)

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status is Status.AWAITING_INPUT
    return job


def test_an_answer_is_checked_and_a_wrong_one_leaves_it_waiting(jobs):
    job = waiting(jobs)
    with pytest.raises(AnswerRefused) as refused:
        job.answer("three")
    assert refused.value.errors == {"$": "must be a whole number; it is 'three'"}
    assert job.refresh().status is Status.AWAITING_INPUT
    with pytest.raises(AnswerRefused):
        job.answer(float("nan"))
    with pytest.raises(AnswerRefused):
        job.answer(object())
    with pytest.raises(NotFound, match="asked nothing called 'other'"):
        job.answer(3, question="other")
    assert job.answer(3, question="many").status is Status.PENDING


def test_a_deadline_without_a_default_fails_the_job(make_jobs):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)
    job = waiting(jobs, expires=timedelta(hours=1))
    assert job.questions()[0].expires_at - job.questions()[0].asked_at == timedelta(hours=1)
    clock.move(minutes=59)
    assert expire(jobs.store) == 0
    clock.move(minutes=1)
    with pytest.raises(QuestionClosed, match="could be answered until"):
        job.answer(3)
    assert expire(jobs.store) == 1
    assert job.refresh().status is Status.FAILED
    assert job.error["message"].startswith("nobody answered 'many' until ")
    assert names(job) == ["asked", "question_expired"]
    with pytest.raises(QuestionClosed, match="its time is over"):
        job.answer(3)
    job.retry()
    drain(jobs)
    assert job.refresh().status is Status.AWAITING_INPUT, "a retry asks anew"
    job.answer(5)
    drain(jobs)
    assert job.result() == 5


def test_a_deadline_with_a_default_takes_it(make_jobs):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)
    job = waiting(jobs, expires=60, default=7)
    clock.move(minutes=2)
    assert expire(jobs.store) == 1
    drain(jobs)
    assert job.result() == 7
    assert names(job) == ["asked", "default_taken"]
    assert job.questions()[0].state == "defaulted"


def test_upkeep_looks_for_deadlines(make_jobs):
    from jobtrail.testing import recover

    clock = MovableClock()
    jobs = make_jobs(clock=clock)
    job = waiting(jobs, expires=60, default=7)
    clock.move(minutes=2)
    recover(jobs)
    assert job.result() == 7


def test_cancelling_closes_the_question(jobs):
    job = waiting(jobs)
    job.cancel("not needed", actor="ann")
    assert job.refresh().status is Status.CANCELLED
    assert [(one.state, one.actor, one.reason) for one in job.questions()] == [("closed", "ann", "not needed")]
    with pytest.raises(QuestionClosed, match="not needed"):
        job.answer(3)


def test_an_answer_belongs_to_its_telling(jobs):
    @jobs.task
    def load(ctx: Context):
        return ctx.ask("many", "How many?", int)

    job = load.using(source="s", period="2013-02").enqueue()
    drain(jobs)
    job.answer(3)
    drain(jobs)
    again = job.rerun("resume")
    drain(jobs)
    assert again.result() == 3, "a continuation asks nothing again"
    anew = again.rerun("full")
    drain(jobs)
    assert anew.refresh().status is Status.AWAITING_INPUT, "a new telling asks"


def test_an_answer_is_reused_for_the_same_question_only(jobs):
    top = [10]

    @jobs.task
    def load(ctx: Context):
        answer = ctx.ask("many", "How many?", {"type": "integer", "maximum": top[0]})
        if top[0] == 10:
            top[0] = 5
            raise ValueError
        return answer

    job = load.using(retry=2).enqueue()
    drain(jobs)
    job.answer(8)
    drain(jobs, delayed=True)
    assert job.refresh().status is Status.AWAITING_INPUT, "8 is no answer to what is asked now"
    job.answer(4)
    drain(jobs)
    assert job.result() == 4


PLANE = {
    "type": "object",
    "properties": {"tailnum": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["tailnum"],
}


def test_a_mapping_is_proposed_corrected_and_remembered_for_the_source(jobs):
    columns = {"Tail Num": ["N10156"], "built": ["2004"]}

    @jobs.task
    def load(ctx: Context):
        return ctx.ask("columns", "Which column is which?", PLANE, kind="mapping", columns=dict(columns), remember=True)

    job = load.using(source="planes", period="2013-01").enqueue()
    drain(jobs)
    assert job.refresh().status is Status.AWAITING_MAPPING
    with pytest.raises(AnswerRefused) as refused:
        job.answer({"tailnum": "built", "year": "built"})
    assert list(refused.value.errors)
    job.answer({"tailnum": "Tail Num", "year": "built"}, actor="ann")
    drain(jobs)
    assert job.result() == {"tailnum": "Tail Num", "year": "built"}
    following = load.using(source="planes", period="2013-02").enqueue()
    drain(jobs)
    assert following.result() == {"tailnum": "Tail Num", "year": "built"}, "the next period asks nothing"
    assert "is the one that is remembered for planes" in following.log()
    other = load.using(source="other", period="2013-02").enqueue()
    drain(jobs)
    assert other.refresh().status is Status.AWAITING_MAPPING, "another source is asked about"
    columns["engine"] = ["2"]
    changed = load.using(source="planes", period="2013-03").enqueue()
    drain(jobs)
    assert changed.refresh().status is Status.AWAITING_MAPPING, "other columns are another question"


def test_remember_may_be_decided_by_who_answers(jobs):
    @jobs.task
    def load(ctx: Context, *, n: int):
        return ctx.ask("many", "How many?", int, remember=True)

    first = load.using(source="s").enqueue(n=1)
    drain(jobs)
    first.answer(3, remember=False)
    second = load.using(source="s").enqueue(n=2)
    drain(jobs)
    assert first.result() == 3
    assert second.refresh().status is Status.AWAITING_INPUT


def test_c53_of_two_answers_in_the_same_moment_one_counts(jobs):
    """Many times with a barrier: one answer counts, the other is told who was first."""
    for _ in range(8):
        job = waiting_again(jobs)
        barrier, outcomes = threading.Barrier(2), {}

        def answer(value, job=job, barrier=barrier, outcomes=outcomes):
            barrier.wait()
            try:
                job.answer(value, actor=f"person {value}")
            except AlreadyAnswered as error:
                outcomes[value] = error
            else:
                outcomes[value] = None

        threads = [threading.Thread(target=answer, args=(value,)) for value in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (won,) = [value for value, error in outcomes.items() if error is None]
        (lost,) = [error for error in outcomes.values() if error is not None]
        assert lost.actor == f"person {won}"
        assert f"was answered by person {won} at " in str(lost)
        job.answer(won, actor="person 9")  # the same answer once more is a harmless replay
        drain(jobs)
        assert job.result() == won
        assert names(job) == ["asked", "answered"]


def waiting_again(jobs):
    task = jobs.tasks.find("load")
    if task is None:
        return waiting(jobs)
    job = jobs.task_named("load").enqueue()
    drain(jobs)
    return job


def test_c53_an_answer_and_the_deadline_in_the_same_moment(make_jobs):
    """Whoever is first wins; nothing is written back over the other, and no question is left open."""
    clock = MovableClock()
    jobs = make_jobs(clock=clock)
    for index in range(6):
        job = waiting_again(jobs) if index else waiting(jobs, expires=60)
        clock.move(seconds=59)
        barrier = threading.Barrier(2)

        def late(barrier=barrier):
            barrier.wait()
            clock.move(seconds=1)
            expire(jobs.store)

        thread = threading.Thread(target=late)
        thread.start()
        barrier.wait()
        try:
            job.answer(3)
        except QuestionClosed:
            pass
        thread.join()
        expire(jobs.store)
        (asked,) = job.questions()
        assert (job.refresh().status, asked.state) in {(Status.PENDING, "answered"), (Status.FAILED, "expired")}
        drain(jobs)


def test_c53_waiting_counts_for_no_limit_and_survives_clean_up(make_jobs):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)

    @jobs.task(timeout=3600, stall_timeout=60)
    def load(ctx: Context):
        return ctx.ask("many", "How many?", int)

    job = load.enqueue()
    drain(jobs)
    clock.move(days=400)
    retention.run_once(jobs.store, retention.Retention(0, 0, 0, 0), jobs.store.now())
    job.answer(3)
    drain(jobs)
    assert job.result() == 3


def test_c53_reading_changes_nothing(jobs):
    job = waiting(jobs)
    with jobs.store.read() as conn:
        before = questions.get(conn, job.questions()[0].id)
        assert questions.count_open(conn) == 1
        ((listed, about),) = questions.list_open(conn)
    assert (listed, about.task) == (before, "load")
    assert job.refresh().status is Status.AWAITING_INPUT


def test_questions_go_with_their_jobs(make_jobs):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)
    job = waiting(jobs)
    job.answer(3)
    drain(jobs)
    clock.move(days=1)
    retention.run_once(jobs.store, retention.Retention(0, 0, 0, 0), jobs.store.now())
    with jobs.store.read() as conn:
        assert store_jobs.get(conn, job.id) is None
        assert questions.of_job(conn, job.id) == []


def test_a_job_that_was_cancelled_meanwhile_asks_nothing(jobs):
    @jobs.task
    def load(ctx: Context):
        jobs.get(ctx.job_id).cancel()
        return ctx.ask("many", "How many?", int)

    job = load.enqueue()
    drain(jobs)
    assert job.refresh().status is Status.CANCELLED
    assert job.questions() == []


