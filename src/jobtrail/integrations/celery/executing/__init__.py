"""Celery as an executor: its workers run jobs that are handed over to it."""
