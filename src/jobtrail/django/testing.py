"""Tests of a Django project: ``TEST_RUNNER = "jobtrail.django.testing.JobTrailRunner"``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.db import connections
from django.db.backends.base.creation import TEST_DATABASE_PREFIX
from django.test.runner import DiscoverRunner

from .application import alias, application

END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
)


def _end_sessions(connection: Any) -> None:
    """End the sessions of threads that ran task functions: Django keeps theirs (``CONN_MAX_AGE``) until they are collected."""
    if connection.vendor == "postgresql" and connection.settings_dict["NAME"].startswith(TEST_DATABASE_PREFIX):
        with connection.cursor() as cursor:
            cursor.execute(END_OTHERS)


class RunnerMixin:
    """For a test runner of your own: jobs live in Django's test database, which can be dropped at the end.

    A test database of SQLite is a file in a temporary folder, because jobs cannot live in memory.
    """

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def setup_databases(self, **options: Any) -> Any:
        """Create the test databases; the store of the jobs follows when they are migrated."""
        connection = connections[alias()]
        if connection.vendor == "sqlite" and not connection.settings_dict["TEST"].get("NAME"):
            self._folder = tempfile.TemporaryDirectory(prefix="jobtrail-test-")
            connection.settings_dict["TEST"]["NAME"] = str(Path(self._folder.name) / "test.sqlite3")
        return super().setup_databases(**options)  # type: ignore[misc]

    def teardown_databases(self, old_config: Any, **options: Any) -> None:
        """Close the connections of the jobs, then drop the test databases."""
        application().store.close()
        _end_sessions(connections[alias()])
        super().teardown_databases(old_config, **options)  # type: ignore[misc]
        if self._folder is not None:
            self._folder.cleanup()


class JobTrailRunner(RunnerMixin, DiscoverRunner):
    """Django's test runner with jobs."""
