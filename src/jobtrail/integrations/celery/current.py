"""`current_job`: the job of the Celery task that runs here."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from .context import unrecorded_job

if TYPE_CHECKING:
    from .context import TrackedJob
    from .task_run import TaskRun

running: ContextVar[TaskRun | None] = ContextVar("jobtrail_celery_run", default=None)


def current_job() -> TrackedJob:
    """Return the job of the Celery task that runs here.

    Outside of a tracked task its reports are dropped (`TrackedJob.recorded` is False), so that tests need no Celery.

    Example:
        ```python
        job = current_job()
        for item in job.items(rows, key=lambda row: row["id"]):
            with item as row:
                save(row)
        ```
    """
    run = running.get()
    return unrecorded_job() if run is None else run.job()
