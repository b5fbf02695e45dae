"""Celery: every task run of an existing project becomes a job, and no task is rewritten (extra ``jobtrail[celery]``)."""

from __future__ import annotations

from .current import current_job
from .declaration import tracked
from .executing.executor import CeleryExecutor
from .tracking import track_celery

__all__ = ["CeleryExecutor", "current_job", "track_celery", "tracked"]
