"""Arguments fit their annotations when they are submitted, and arrive as what the signature says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from jobtrail import Context, InvalidArguments
from jobtrail.commands.job_fields import stored_row
from jobtrail.job.model import Status
from jobtrail.messages import render
from jobtrail.testing import drain

if TYPE_CHECKING:
    from nowhere import Unknown


class Colour(Enum):
    RED = "red"


@dataclass
class Place:
    x: int
    y: float = 0.5


class Order(BaseModel):
    id: UUID
    prices: list[Decimal]


class Opaque:
    """A class that pydantic does not know."""


UID = UUID("0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f")
GOOD = [
    ("int", int, 3, 3, 3),
    ("int from text", int, "3", 3, 3),
    ("date", date, date(2013, 2, 1), "2013-02-01", date(2013, 2, 1)),
    ("date from text", date, "2013-02-01", "2013-02-01", date(2013, 2, 1)),
    ("datetime", datetime, datetime(2013, 2, 1, 3), "2013-02-01T03:00:00", datetime(2013, 2, 1, 3)),
    ("timedelta", timedelta, timedelta(minutes=1), "PT1M", timedelta(minutes=1)),
    ("Decimal", Decimal, Decimal("1.10"), "1.10", Decimal("1.10")),
    ("UUID", UUID, UID, str(UID), UID),
    ("Enum", Colour, Colour.RED, "red", Colour.RED),
    ("Path", Path, Path("a/b"), "a/b", Path("a/b")),
    ("set", set[int], {1}, [1], {1}),
    ("tuple", tuple[int, str], (1, "a"), [1, "a"], (1, "a")),
    ("dataclass", Place, Place(1), {"x": 1, "y": 0.5}, Place(1)),
    ("dataclass from a dict", Place, {"x": "1"}, {"x": 1, "y": 0.5}, Place(1)),
    ("model", Order, Order(id=UID, prices=[Decimal("0.1")]), {"id": str(UID), "prices": ["0.1"]}, Order(id=UID, prices=[Decimal("0.1")])),
    ("optional", date | None, None, None, None),
    ("unknown to pydantic", Opaque, [1], [1], [1]),
    ("anything", Any, {"a": 1}, {"a": 1}, {"a": 1}),
]  # fmt: skip


def task_with(jobs, annotation, seen, **options):
    def body(ctx: Context, *, value):
        seen.append(value)

    body.__annotations__["value"] = annotation
    return jobs.task(**options)(body)


@pytest.mark.parametrize(("annotation", "given", "stored", "arrives"), [one[1:] for one in GOOD], ids=[one[0] for one in GOOD])
def test_what_fits_is_stored_as_json_and_arrives_as_annotated(make_jobs, annotation, given, stored, arrives):
    jobs, seen = make_jobs(), []
    job = task_with(jobs, annotation, seen).enqueue(value=given)
    assert json.loads(stored_row(job).args) == {"value": stored}
    drain(jobs)
    assert job.refresh().status == "completed", job.error
    assert seen == [arrives]
    assert type(seen[0]) is type(arrives)


@pytest.mark.parametrize(
    ("annotation", "given", "path"),
    [
        (int, "abc", r"\$\.value does not fit int: Input should be a valid integer"),
        (date, "yesterday", r"\$\.value does not fit date"),
        (Colour, "blue", r"\$\.value does not fit Colour: Input should be 'red'"),
        (Order, {"id": str(UID), "prices": ["1", "x"]}, r"\$\.value\.prices\[1\] does not fit Order"),
        (Place, {}, r"\$\.value\.x does not fit Place: Field required"),
        (int, None, r"\$\.value does not fit int"),
    ],
)
def test_what_does_not_fit_is_refused_by_path_and_reason(make_jobs, annotation, given, path):
    jobs = make_jobs()
    task = task_with(jobs, annotation, [])
    for submit in (lambda: task.enqueue(value=given), lambda: task.enqueue_many([{"value": given}]), lambda: jobs.group([(task, {"value": given})]),
                   lambda: jobs.schedules.add("s", task, "every 5 minutes", args={"value": given})):  # fmt: skip
        with pytest.raises(InvalidArguments, match=path) as refused:
            submit()
    assert "не подходит" in render(refused.value, "ru")
    assert jobs.find() == []


def test_raw_values_are_left_alone(make_jobs):
    jobs, seen = make_jobs(), []
    task_with(jobs, date, seen, validate=False).enqueue(value="yesterday")
    drain(jobs)
    assert seen == ["yesterday"]


def test_what_cannot_be_evaluated_is_left_and_the_others_are_checked(make_jobs):
    jobs, seen = make_jobs(), []

    @jobs.task
    def body(one: Unknown, when: date, count: int = None, **rest: int):  # noqa: RUF013 - as people write it
        seen.append((one, when, count, rest))

    body.enqueue(one=[1], when="2013-02-01", count=None, more="text")
    drain(jobs)
    assert seen == [([1], date(2013, 2, 1), None, {"more": "text"})]
    with pytest.raises(InvalidArguments, match=r"\$\.when"):
        body.enqueue(one=1, when="x")


def test_the_result_of_the_job_before_is_checked_when_it_arrives(make_jobs):
    jobs, seen = make_jobs(), []

    @jobs.task
    def first(*, good: bool) -> str:
        return "2013-02-01" if good else "never"

    @jobs.task
    def second(day: date) -> None:
        seen.append(day)

    chain = first.then(second, result_as="day")
    chain.enqueue(good=True)
    bad = chain.enqueue(good=False)
    drain(jobs)
    assert seen == [date(2013, 2, 1)]
    after = jobs.get(bad.successors()[0]["job"])
    assert after.status is Status.FAILED
    assert "$.day does not fit date" in after.error["message"]
