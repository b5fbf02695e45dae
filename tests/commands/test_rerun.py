"""Running again: full, failed items, resume, a corrected file, retry of the same job; refusals and lineage."""

from __future__ import annotations

import pytest
from trails import event

from jobtrail import AlreadyActive, Conflict, IllegalMove, InvalidFile, InvalidOption, NotFound, Retry
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import drain


@pytest.fixture
def load(jobs):
    """A task over ten items; those named in `bad` fail; every piece of work is noted."""

    @jobs.task
    def load(ctx, bad=()):
        rows = ctx.step("download", download, 10)
        for item in ctx.items(rows):
            with item:
                jobs.worked.append(item.value)
                if item.value in jobs.bad:
                    raise ValueError(f"{item.value} is bad")
            if item.value == jobs.leave_after:
                break
        return {"rows": len(rows)}

    def download(n):
        jobs.downloads += 1
        return list(range(n))

    jobs.worked, jobs.bad, jobs.downloads, jobs.leave_after = [], {3, 5}, 0, None
    return load


def reset(jobs, *, bad=()):
    jobs.worked.clear()
    jobs.bad, jobs.downloads, jobs.leave_after = set(bad), 0, None


def counts(job):
    found = job.item_counts(generation=True)
    return found["ok"], found["failed"], found["skipped"]


def snapshot(job):
    row = stored_row(job.refresh())
    return {name: getattr(row, name) for name in row.__slots__}


@pytest.mark.parametrize("unit", [{}, {"source": "s", "period": "2013-02"}])
def test_failed_items_gives_only_what_failed_and_repeats_the_steps(jobs, load, unit):
    first = load.using(**unit).enqueue()
    drain(jobs)
    before = snapshot(first)
    reset(jobs)
    again = first.rerun("failed_items", reason="the rule is corrected")
    assert again.created
    drain(jobs)
    assert jobs.worked == [3, 5]
    assert jobs.downloads == 1, "a step was not repeated"
    assert (again.refresh().status, counts(again)) == ("completed", (10, 0, 0))
    assert (again.items_ok, again.rerun_of, again.mode) == (2, first.id, "failed_items")
    assert again.reason == "the rule is corrected"
    assert snapshot(first) == before, "a re-run touched the old job"
    assert again.generation == first.id


@pytest.mark.parametrize("unit", [{}, {"source": "s", "period": "2013-02"}])
def test_chosen_items_are_given_again_whatever_they_were_and_no_others(jobs, load, unit):
    first = load.using(**unit).enqueue()
    drain(jobs)
    reset(jobs, bad={1, 5})
    chosen = first.rerun(items=[1, "3", *[item for item in first.items() if item.key == "5"]])
    drain(jobs)
    assert (jobs.worked, chosen.refresh().status, chosen.mode) == ([1, 3, 5], "partial", "failed_items")
    assert [(item.key, item.outcome) for item in chosen.items()] == [("1", "failed"), ("3", "ok"), ("5", "failed")]
    assert counts(chosen) == (8, 2, 0), "the others stand as they were"
    assert not [item for item in first.items() if item.key == "1" and item.outcome != "ok"], "the first job shows what it had"
    reset(jobs)
    chosen.retry()
    drain(jobs)
    assert jobs.worked == [1, 5], "a retry gives what failed of them"
    reset(jobs)
    chosen.rerun("full")
    drain(jobs)
    assert len(jobs.worked) == 10, "the choice is not inherited"


def test_chosen_items_are_done_once_although_the_attempt_is_repeated(jobs):
    worked = []

    @jobs.task(retry=Retry(attempts=3, wait=0))
    def twice(ctx, breaks=0):
        for item in ctx.items(range(4)):
            with item:
                worked.append(item.value)
        for item in ctx.items(range(4), name="prices"):
            with item:
                worked.append(f"price {item.value}")
        if ctx.attempt <= breaks:
            raise OSError("away")

    first = twice.enqueue()
    drain(jobs)
    worked.clear()
    again = first.rerun(items=[item for item in first.items() if (item.loop, item.key) in {("items", "2"), ("prices", "0")}], args='{"breaks": 2}')
    drain(jobs)
    assert (again.refresh().status, again.attempt, worked) == ("completed", 3, [2, "price 0"])
    with pytest.raises(InvalidOption, match="in several loops"):
        first.rerun(items=[2])


@pytest.mark.parametrize(
    ("mode", "items", "error", "words"),
    [
        ("full", [], InvalidOption, "from 1 to 10000 items"),
        ("resume", ["1"], InvalidOption, "with the mode resume"),
        ("full", ["1", "nonsense"], NotFound, "has no item 'nonsense'"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(jobs, load, mode, items, error, words):
    job = load.enqueue()
    drain(jobs)
    with pytest.raises(error, match=words):
        job.rerun(mode, items=items)
    assert len(jobs.find("task:load")) == 1


def test_a_job_whose_items_a_later_one_has_mended_offers_no_re_run_of_them(jobs, load):
    def offers(job, name="rerun_failed_items"):
        (one,) = [one for one in jobs.queries.actions(job.id).actions if one.name == name]
        return one.allowed, one.job

    first = load.enqueue()
    drain(jobs)
    assert offers(first) == (True, None)
    reset(jobs, bad={5})
    second = first.rerun("failed_items")
    drain(jobs)
    assert (second.refresh().note, offers(first), offers(second)) == ("1 of 2 items failed", (True, None), (True, None))
    reset(jobs)
    third = second.rerun("failed_items")
    drain(jobs)
    assert third.refresh().status == "completed"
    assert offers(first) == offers(second) == offers(first, "rerun_resume") == (False, third.id)
    assert offers(first, "rerun_full") == (True, None)


def test_full_tells_the_unit_from_nothing(jobs, load):
    first = load.using(period="2013-02").enqueue()
    drain(jobs)
    reset(jobs)
    again = first.rerun()
    drain(jobs)
    assert jobs.worked == list(range(10))
    assert jobs.downloads == 1
    assert (again.refresh().status, counts(again), counts(first)) == ("completed", (10, 0, 0), (8, 2, 0))


def test_resume_keeps_steps_and_gives_what_was_not_reached(jobs, load):
    jobs.leave_after = 6
    first = load.using(period="2013-02").enqueue()
    drain(jobs)
    assert counts(first) == (5, 2, 0)
    reset(jobs)
    again = first.rerun("resume")
    drain(jobs)
    assert jobs.worked == [7, 8, 9]
    assert jobs.downloads == 0, "a step was repeated"
    assert (again.refresh().status, counts(again)) == ("partial", (8, 2, 0))


def test_failed_items_gives_what_was_not_reached_too(jobs, load):
    jobs.leave_after = 6
    first = load.using(period="2013-02").enqueue()
    drain(jobs)
    reset(jobs)
    again = first.rerun("failed_items")
    drain(jobs)
    assert jobs.worked == [3, 5, 7, 8, 9]
    assert again.refresh().status == "completed"


def test_a_re_run_of_a_re_run_goes_on_with_the_same_telling(jobs, load):
    first = load.using(period="2013-02").enqueue()
    drain(jobs)
    reset(jobs, bad={5})
    second = first.rerun("failed_items")
    drain(jobs)
    assert (second.refresh().status, counts(second)) == ("partial", (9, 1, 0))
    reset(jobs)
    third = second.rerun("failed_items")
    drain(jobs)
    assert jobs.worked == [5]
    assert (third.refresh().status, third.rerun_of) == ("completed", second.id)


def test_failed_keys_that_the_input_has_no_more_are_closed_as_gone(jobs):
    @jobs.task
    def load(ctx):
        for item in ctx.items(jobs.rows):
            with item:
                if item.value < 0:
                    raise ValueError("negative")

    jobs.rows = [1, -2, -3]
    first = load.using(period="2013-02").enqueue()
    drain(jobs)
    jobs.rows = [1, 2]
    again = first.rerun("failed_items")
    drain(jobs)
    assert again.refresh().status == "completed"
    assert [(i.key, i.outcome, i.reason) for i in again.items("skipped")] == [("-2", "skipped", "gone"), ("-3", "skipped", "gone")]


def test_a_re_run_of_failed_items_that_fails_before_it_reaches_them_keeps_what_was_known(jobs):
    @jobs.task
    def load(ctx):
        if jobs.broken:
            raise OSError("no source")
        for item in ctx.items([1, 2]):
            with item:
                jobs.worked.append(item.value)
                if item.value == 2 and len(jobs.worked) == 2:
                    raise ValueError("two")

    jobs.broken, jobs.worked = False, []
    first = load.using(source="s", period="2013-02").enqueue()
    drain(jobs)
    jobs.broken = True
    second = first.rerun("failed_items")
    drain(jobs)
    assert second.refresh().status == "failed"
    jobs.broken = False
    third = second.rerun("failed_items")
    drain(jobs)
    assert jobs.worked == [1, 2, 2]
    assert (third.refresh().status, counts(third)) == ("completed", (2, 0, 0))


# -- refusals ------------------------------------------------------------------------------------------


def test_what_has_not_ended_is_not_run_again(jobs, load):
    job = load.using(period="2013-02").enqueue()
    for refused in (job.rerun, job.retry):
        with pytest.raises(IllegalMove, match=r"is pending and cannot be") as error:
            refused()
        assert error.value.job_id == job.id
    drain(jobs)
    with pytest.raises(InvalidOption, match="full, failed_items, resume"):
        job.rerun("everything")


def test_while_the_unit_is_active_a_re_run_is_refused_with_the_id_or_queued(jobs, load):
    first = load.using(period="2013-02").enqueue()
    drain(jobs)
    active = first.rerun("failed_items")
    for mode in ("full", "failed_items", "resume"):
        with pytest.raises(AlreadyActive) as error:
            first.rerun(mode)
        assert error.value.job_id == active.id
    queued = first.rerun("failed_items", if_active="queue")
    assert queued.waits_for == active.id
    with pytest.raises(AlreadyActive) as error:
        first.retry()
    assert error.value.job_id == active.id
    reset(jobs)
    drain(jobs)
    assert jobs.worked == [3, 5], "the two were done twice"
    assert {active.refresh().status, queued.refresh().status} == {"completed"}


def test_without_a_unit_one_telling_is_still_continued_by_one_job_at_a_time(jobs, load):
    first = load.enqueue()
    drain(jobs)
    active = first.rerun("failed_items")
    with pytest.raises(AlreadyActive) as error:
        first.rerun("failed_items")
    assert error.value.job_id == active.id


def test_only_the_newest_job_of_a_unit_can_be_retried(jobs, load):
    first = load.using(period="2013-02").enqueue()
    drain(jobs)
    second = first.rerun("failed_items")
    drain(jobs)
    with pytest.raises(Conflict) as error:
        first.retry()
    assert error.value.job_id == second.id


# -- retry ---------------------------------------------------------------------------------------------


def test_retry_is_the_same_job_with_one_more_attempt_and_its_failed_items(jobs, load):
    job = load.using(period="2013-02").enqueue()
    drain(jobs)
    reset(jobs)
    job.retry("the source is back", actor="anna")
    assert (job.status, job.max_attempts, job.outcome) == ("pending", 2, None)
    drain(jobs)
    assert jobs.worked == [3, 5]
    assert jobs.downloads == 0
    assert (job.refresh().status, job.attempt, counts(job)) == ("completed", 2, (10, 0, 0))
    line = event(job, "retried")
    assert (line.actor, line.reason, line.from_status) == ("anna", "the source is back", "partial")


def test_a_cancelled_job_can_be_retried_and_a_completed_one_cannot(jobs, load):
    job = load.enqueue()
    job.cancel(reason="not now")
    assert job.status == "cancelled"
    reset(jobs)
    job.retry()
    drain(jobs)
    assert job.refresh().status == "completed"
    with pytest.raises(IllegalMove, match="completed"):
        job.retry()


# -- files ---------------------------------------------------------------------------------------------


@pytest.fixture
def import_file(jobs):
    @jobs.task
    def import_file(ctx):
        jobs.read.append(ctx.file.name)
        with open(ctx.file.path) as file:
            for item in ctx.items(file.read().split()):
                with item:
                    jobs.worked.append(item.value)
                    int(item.value.split("=")[1])

    jobs.worked, jobs.read = [], []
    return import_file


def test_a_corrected_file_continues_the_old_ledger_and_both_units_point_at_each_other(jobs, import_file, tmp_path):
    wrong, right = tmp_path / "planes.csv", tmp_path / "planes2.csv"
    wrong.write_text("a=1\nb=x\nc=3\nd=y")
    right.write_text("a=1\nb=2\nc=3")
    first = import_file.using(source="planes", file=wrong).enqueue()
    drain(jobs)
    assert counts(first) == (2, 2, 0)
    jobs.worked.clear()
    again = first.rerun("failed_items", file=right)
    drain(jobs)
    assert jobs.worked == ["b=2"]
    assert [i.key for i in again.items("skipped")] == ["b=x", "d=y"]
    assert again.refresh().unit != first.unit
    assert again.generation == first.id
    assert jobs.read == ["planes.csv", "planes2.csv"]


def test_a_corrected_file_with_keys_of_its_rows(jobs, tmp_path):
    @jobs.task
    def import_rows(ctx):
        with open(ctx.file.path) as file:
            for item in ctx.items(enumerate(file.read().split(), 1), key=lambda pair: f"row {pair[0]}"):
                with item:
                    jobs.worked.append(item.value[0])
                    int(item.value[1])

    jobs.worked = []
    wrong, right = tmp_path / "a.csv", tmp_path / "b.csv"
    wrong.write_text("1 x 3 y")
    right.write_text("1 2 3 4")
    first = import_rows.using(file=wrong).enqueue()
    drain(jobs)
    jobs.worked.clear()
    again = first.rerun("failed_items", file=right)
    drain(jobs)
    assert jobs.worked == [2, 4]
    assert (again.refresh().status, counts(again)) == ("completed", (4, 0, 0))
    with jobs.store.read() as conn:
        from jobtrail.store import units

        old, new = units.get(conn, first.unit), units.get(conn, again.unit)
    assert (old.linked_unit, new.linked_unit) == (new.unit, old.unit)


def test_a_corrected_file_for_a_job_without_a_file_is_refused(jobs, load, tmp_path):
    job = load.enqueue()
    drain(jobs)
    (tmp_path / "x").write_text("x")
    with pytest.raises(InvalidOption, match="did not work on a file"):
        job.rerun("failed_items", file=tmp_path / "x")
    with pytest.raises(InvalidFile):
        job.rerun("failed_items", file=tmp_path / "missing")


def test_a_held_job_is_retried_although_a_newer_one_waits_behind_it(jobs):
    """Found by the state machine: the newer one waits for the held one, so to refuse the retry would end in nothing."""
    from jobtrail.job import transitions
    from jobtrail.job.transitions import Subject
    from jobtrail.store import jobs as rows

    @jobs.task(on_interrupt="hold")
    def load():
        return "done"

    held = load.using(source="s", period="2013-02").enqueue()
    store = jobs.store
    store.write(lambda conn: rows.claim(conn, store.dialect, "default", 1, "01a22846-0000-7000-8000-000000000001", store.now()))
    lost = transitions.interrupted(Subject.of(stored_row(held.refresh())), reason="its worker is gone")
    assert store.write(lambda conn: rows.apply(conn, store.dialect, [lost], store.now())) == []
    behind = load.using(source="s", period="2013-02", if_active="queue").enqueue()
    assert held.retry().status == "pending"
    drain(jobs)
    assert (held.refresh().status, behind.refresh().status) == ("completed", "completed")
