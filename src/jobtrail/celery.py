"""What a Celery project names in its settings and command lines: ``celery beat -S jobtrail.celery:Scheduler``."""

from __future__ import annotations

from .integrations.celery import CeleryExecutor, current_job, track_celery, tracked
from .integrations.celery.beat.scheduler import BeatScheduler as Scheduler

__all__ = ["CeleryExecutor", "Scheduler", "current_job", "track_celery", "tracked"]
