"""APScheduler 3.11 inside the application's process: a job store without pickle over the application's database."""

from .job_store import JobTrailJobStore
from .plugin import KeptSlots, apscheduler_plugin

__all__ = ["JobTrailJobStore", "KeptSlots", "apscheduler_plugin"]
