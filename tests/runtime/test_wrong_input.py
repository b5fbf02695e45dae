"""What wrong input gets, row by row: refused with a sentence, nothing stored; or the end that it should have."""

from __future__ import annotations

import asyncio

import pytest
from trails import count_rows

from jobtrail import InvalidArguments, InvalidOption, InvalidPeriod, JobTrail, Retry, StoreUnavailable, UnknownTask
from jobtrail.commands.job_fields import stored_row
from jobtrail.testing import MovableClock, drain


@pytest.fixture
def load(jobs):
    @jobs.task
    def load(*, airport: str, rows: list = ()):
        return airport

    return load


def looped():
    value = [1]
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["load(", "'airport'", "needs"]),
        ({"airport": "EWR", "ariport": 1}, ["load(", "'ariport'", "no argument"]),
        ({"airport": "EWR", "rows": [1, 2, 3, {"price": float("nan")}]}, ["$.rows[3].price"]),
        ({"airport": "EWR", "rows": [float("inf")]}, ["$.rows[0]"]),
        ({"airport": b"EWR"}, ["$.airport", "bytes"]),
        ({"airport": {1, 2}}, ["$.airport", "set"]),
        ({"airport": object()}, ["$.airport", "object"]),
        ({"airport": "EWR", "rows": looped()}, ["$.rows[1]"]),
        ({"airport": {1: "x"}}, ["$.airport"]),
        ({"airport": "x" * 300_000}, ["262", "300"]),
    ],
    ids=["missing", "unknown", "nan", "inf", "bytes", "set", "object", "loop", "int-key", "large"],
)
def test_wrong_arguments_are_refused_at_once_with_the_signature_or_the_path(jobs, load, arguments, words):
    with pytest.raises(ValueError) as error:
        load.enqueue(**arguments)
    for word in words:
        assert word in str(error.value).replace(",", "")
    assert count_rows(jobs) == 0


def test_unnamed_arguments_too_many_or_twice(jobs):
    @jobs.task
    def load(a, b=1):
        pass

    with pytest.raises(InvalidArguments, match="takes 2 unnamed"):
        load.enqueue(1, 2, 3)
    with pytest.raises(InvalidArguments, match="'a' twice"):
        load.enqueue(1, a=2)
    assert load.enqueue(1, 2).arguments == {"a": 1, "b": 2}


def test_what_is_json_comes_back_as_it_was(jobs, load):
    rows = [2**70, -1, 1.5, "ü\u2028", None, True, {"a": []}]
    job = load.enqueue(airport="EWR", rows=rows)
    assert job.refresh().arguments["rows"] == rows


@pytest.mark.parametrize("text", ["nul \x00 inside", "lone \ud800 surrogate"])
def test_text_that_a_database_refuses_is_refused_or_comes_back_as_it_was(jobs, load, text):
    try:
        job = load.enqueue(airport=text)
    except InvalidArguments as error:
        assert "$.airport" in str(error)
        assert count_rows(jobs) == 0
    else:
        assert job.refresh().arguments["airport"] == text


def test_an_unknown_task_is_refused_with_those_that_there_are(jobs, load):
    with pytest.raises(UnknownTask, match=r"'laod'.*load"):
        jobs.task_named("laod")


def test_two_tasks_of_one_name_and_tasks_with_nameless_arguments_are_refused(jobs, load):
    with pytest.raises(InvalidOption, match="two tasks are called 'load'"):
        jobs.task(name="load")(lambda: None)
    with pytest.raises(InvalidOption, match="without a name"):
        jobs.task(name="star")(lambda *rows: None)


@pytest.mark.parametrize(
    "period", ["2013-13", "2013-02-30", "2013-03-01/2013-02-01", "2013-02-01T10:00/2013-02-01T11:00:00+99:00", "soon", "", 5]
)
def test_a_wrong_period_is_refused_with_what_is_accepted(jobs, load, period):
    with pytest.raises((InvalidPeriod, InvalidOption)) as error:
        load.using(period=period).enqueue(airport="EWR")
    assert len(str(error.value)) > 20
    assert count_rows(jobs) == 0


@pytest.mark.parametrize("bad", [{"attempts": 0}, {"wait": -1}, {"wait": float("nan")}, {"wait": True}, {"wait": "3"}, {"max_delay": 0}])
def test_a_wrong_retry_policy_is_refused_at_registration_with_the_fields_name(bad):
    with pytest.raises(InvalidOption, match=next(iter(bad))):
        Retry(**bad)


@pytest.mark.parametrize("answer", [ValueError("no"), None, float("nan"), -1, 10**400, "3", True])
def test_a_wait_function_that_misbehaves_never_loses_the_job(make_jobs, answer):
    clock = MovableClock()
    jobs = make_jobs(clock=clock)

    def wait(_attempt):
        if isinstance(answer, Exception):
            raise answer
        return answer

    @jobs.task(retry=Retry(attempts=2, wait=wait))
    def load():
        raise OSError("the job's own error")

    job = load.enqueue()
    drain(jobs)
    row = stored_row(job.refresh())
    assert row.status == "pending"
    assert 0 <= (row.run_at - clock.now()).total_seconds() <= 3600
    assert "the job's own error" in row.retry_reason
    assert "wait of the retry policy" in row.retry_reason
    clock.move(hours=2)
    drain(jobs)
    assert (job.refresh().status, job.error["message"]) == ("failed", "the job's own error")


@pytest.mark.parametrize(
    "url", ["mysql://x/y", "nonsense", "sqlite://", "sqlite:///:memory:", "oracle+cx://a"]
)
def test_an_address_that_cannot_be_is_refused(url):
    with pytest.raises(InvalidOption) as error:
        JobTrail(url)
    assert "\n" not in str(error.value)


def test_a_setting_that_there_is_not_or_cannot_be_is_refused(sqlite_url):
    with pytest.raises(InvalidOption, match=r"no setting 'slot'.*slots"):
        JobTrail(sqlite_url, slot=5)
    for bad in (0, -1, float("nan"), True, "5"):
        with pytest.raises(InvalidOption, match="slots"):
            JobTrail(sqlite_url, slots=bad)


def unavailable(url, words):
    jobs = JobTrail(url, submit_retry_seconds=0.2)

    @jobs.task
    def load():
        pass

    try:
        with pytest.raises(StoreUnavailable) as error:
            load.enqueue()
        for word in words:
            assert word in str(error.value)
        assert "\n" not in str(error.value)
    finally:
        jobs.close()


def test_a_database_that_is_none_is_told_in_one_sentence(tmp_path):
    (tmp_path / "text.db").write_text("this is not a database " * 100)
    unavailable(f"sqlite:///{tmp_path}/text.db", ["text.db", "is not a SQLite database"])
    (tmp_path / "folder.db").mkdir()
    unavailable(f"sqlite:///{tmp_path}/folder.db", ["is a folder"])
    unavailable(f"sqlite:///{tmp_path}/missing/jobs.db", ["folder must exist"])
    unavailable("postgresql://nobody@127.0.0.1:1/none", ["127.0.0.1:1", "cannot be reached"])


def test_arguments_that_are_async_or_results_of_async_tasks(jobs):
    @jobs.task
    async def load():
        await asyncio.sleep(0)
        return {"a": 1}

    assert asyncio.run(load()) == {"a": 1}
