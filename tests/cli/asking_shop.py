"""An application whose jobs ask and are followed, for the tests of questions on the command line."""

from __future__ import annotations

import os
from datetime import date, timedelta
from typing import Any

from pydantic import BaseModel, Field

from jobtrail import Context, JobTrail

PLANE = {
    "type": "object",
    "properties": {"tailnum": {"type": "string"}, "year": {"type": "integer"}, "seats": {"type": "integer"}},
    "required": ["tailnum", "year"],
}


class Choice(BaseModel):
    """What is asked about a file."""

    column: str = Field(description="As it stands in the first line")
    skip: int = Field(0, title="Rows to skip", ge=0)
    day: date | None = None
    password: str = "x"


def make() -> JobTrail:
    """A new application over the database that SHOP_URL names."""
    made = JobTrail(os.environ["SHOP_URL"], graceful_shutdown_timeout=2, cancel_timeout=0.5)
    for function in (choose, pick, columns, load, report, alert):
        made.task(function)
    return made


def choose(ctx: Context) -> Any:
    """Ask for several fields, with a deadline."""
    choice = ctx.ask("date column", "Which column is the date?\nSee the \x1b[31mfile.", Choice, expires=timedelta(hours=3))
    return choice.model_dump(mode="json")


def pick(ctx: Context) -> Any:
    """Ask for one of two, with a default."""
    return ctx.ask("colour", "Which colour?", ["red", "blue"], expires=timedelta(days=2), default="red")


def columns(ctx: Context) -> Any:
    """Ask which column is which."""
    there = {"Tail Num": ["N10156"], "Built": ["2004"], "No. of seats": ["55"], "api token": ["hidden"]}
    return ctx.ask("columns", "Which column is which?", PLANE, kind="mapping", columns=there, remember=True)


def load(*, bad: bool = False) -> int:
    """Is followed."""
    if bad:
        message = "no way"
        raise RuntimeError(message)
    return 3


def report(*, rows: int) -> int:
    """Follow."""
    return rows


def alert() -> None:
    """Follow a failure."""


if "SHOP_URL" in os.environ:
    jobs = make()
