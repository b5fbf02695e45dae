"""SIGKILL at every point between question, answer and second run, and between an end and what follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fleet import Fleet, fleet
from sqlalchemy import func, select
from test_crash_points import crash_and_recover

from jobtrail.database.tables import releases
from jobtrail.store.successors import CHUNK
from jobtrail.testing import drain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(240)
ASKING = ("claimed", "step:download", "before_settle", "settle_answer_lost", "after_settle")
ANSWERED = ("claim_answer_lost", "claimed", "step:load", "before_settle", "settle_answer_lost", "after_settle")
SHORT = {("sqlite", "settle_answer_lost", "before_settle"), ("sqlite", "step:download", "step:load")}
CASES = [
    pytest.param(kind, first, second, marks=() if (kind, first, second) in SHORT else pytest.mark.long)
    for kind in ("sqlite", "postgresql")
    for first in ASKING
    for second in ANSWERED
]


@pytest.fixture
def one(url: str, tmp_path: Path) -> Iterator[Fleet]:
    with fleet(url, tmp_path) as made:
        yield made


@pytest.mark.parametrize(("url", "first", "second"), CASES, indirect=["url"])
def test_asked_once_answered_once_and_followed_once(one: Fleet, first: str, second: str) -> None:
    job = one.jobs.get(one.submit("asks"))
    crash_and_recover(one, first)
    assert job.refresh().status.value == "awaiting_input"
    assert [question.state for question in job.questions()] == ["open"]
    job.answer(3, actor="ann")
    crash_and_recover(one, second)
    assert (job.refresh().status.value, job.result()) == ("completed", 3)
    assert [(question.state, question.actor) for question in job.questions()] == [("answered", "ann")]
    assert len(one.diary("download")) == 1, "a step before the question is not repeated"
    assert len(one.diary("load")) == 1
    assert [line["many"] for line in one.diary("follows")] == [3], "exactly one successor"
    assert [found.status.value for found in one.jobs.find("task:follows")] == ["completed"]


@pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
def test_a_worker_that_dies_between_two_chunks_of_successors_loses_none_and_doubles_none(one: Fleet) -> None:
    import works

    works.jobs.store = works.jobs.service.store = one.jobs.store
    quick, count = works.jobs.task_named("quick"), 2 * CHUNK + 50
    bound = quick.using()
    for _ in range(count):
        bound = bound.then(quick, on="ended")
    job = bound.enqueue()
    crash_and_recover(one, "released")
    with one.jobs.store.read() as conn:
        assert conn.execute(select(func.count()).select_from(releases)).scalar() == 0
    assert {str(row.status) for row in one.rows().values()} == {"completed"}
    assert len(one.rows()) == 1 + count
    assert len({made["job"] for made in job.successors()}) == count
    assert len(one.diary("end")) == 1 + count, "each ran once"


@pytest.mark.parametrize(
    ("url", "at"),
    [
        ("sqlite", "settle_answer_lost"),
        pytest.param("sqlite", "before_settle", marks=pytest.mark.long),
        ("postgresql", "after_settle"),
        ("postgresql", "settle_answer_lost"),
        ("postgresql", "before_settle"),
    ],
    indirect=["url"],
)
def test_a_group_is_followed_once(one: Fleet, at: str) -> None:
    import works

    works.jobs.store = works.jobs.service.store = one.jobs.store
    quick = works.jobs.task_named("quick")
    group = works.jobs.group([(quick, {}), (quick, {}), (quick, {})], then=works.jobs.task_named("follows"), result_as="many")
    crash_and_recover(one, at)
    assert group.outcome() == "success"
    assert [line["many"] for line in one.diary("follows")] == [[None, None, None]]
    assert drain(works.jobs) == []
