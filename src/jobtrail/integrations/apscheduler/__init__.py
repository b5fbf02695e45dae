"""APScheduler 3.11 inside the application's process: a job store without pickle, and a record of what it runs."""

from .executor import JobTrailExecutor, track_apscheduler
from .job_store import JobTrailJobStore
from .plugin import KeptSlots, apscheduler_plugin

__all__ = ["JobTrailExecutor", "JobTrailJobStore", "KeptSlots", "apscheduler_plugin", "track_apscheduler"]
