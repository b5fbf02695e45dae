"""The fixtures of `trails`, and an application whose jobs are handed over to a box."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from handing import Box, Hosted
from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobtrail import JobTrail


@pytest.fixture
def box() -> Box:
    """What tickets are sent to."""
    return Box()


@pytest.fixture
def jobs(make_jobs: Callable[..., JobTrail], box: Box) -> JobTrail:
    """An application whose jobs are handed over."""
    made = make_jobs(executor=box, cancel_timeout=0.3, graceful_shutdown_timeout=1, beat_interval=0.5)
    made.make_ready()
    return made


@pytest.fixture
def hosted(jobs: JobTrail, box: Box) -> Iterator[Hosted]:
    """A host that does not lead, so that a test decides what is sent."""
    one = Hosted(jobs, box)
    yield one
    one.close()


@pytest.fixture
def slow(jobs: JobTrail) -> Callable[..., None]:
    """A task that sleeps in small steps until it is asked to stop."""

    @jobs.task(name="slow")
    def slow(ctx, seconds: float = 30.0) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.01)
            ctx.check_cancelled()
        return "slept"

    return slow
