"""An application for processes under test: FastAPI around a schedule, and many schedules for a plain worker."""

from __future__ import annotations

import os

from jobtrail import JobTrail
from jobtrail.schedules.rules.rules import calendar_interval

jobs = JobTrail(os.environ.get("CLOCK_URL", "sqlite:///clock.db"), poll_interval=0.2, graceful_shutdown_timeout=2)
MANY = 1000
RULES = (
    "every 1 second", "every 2 seconds", "every 5 seconds", "* * * * * *", "every 1 minute", "*/5 * * * *",
    "every 90 minutes", "0 3 * * *", "0 0 * * 1", calendar_interval(months=1, hour=3),
)  # fmt: skip


def mark(ctx, place: int = 0):
    """Say which slot runs, and in which process."""
    with open(os.environ["CLOCK_DIARY"], "a") as diary:
        diary.write(f"{ctx.slot.isoformat()} {os.getpid()}\n")


def note(place: int = 0):
    """Do nothing."""
    del place


task = jobs.task(mark)
quiet = jobs.task(note)
if os.environ.get("CLOCK_SCHEDULES") == "many":
    for number in range(MANY):
        jobs.schedule(RULES[number % len(RULES)], name=f"s{number:04}", args={"place": number}, overlap="allow")(quiet)
else:
    jobs.schedule("every 1 second", name="second", overlap="allow")(task)


def web():
    """The web application; under --preload its module, and the store with it, is used before the fork."""
    from fastapi import FastAPI

    return FastAPI(lifespan=jobs.lifespan)


if os.environ.get("CLOCK_USED_BEFORE_FORK"):
    jobs.find("status:pending")
app = web() if os.environ.get("CLOCK_WEB") else None
