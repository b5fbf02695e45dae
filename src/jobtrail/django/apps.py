"""The application for ``INSTALLED_APPS``."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db import router
from django.db.models.signals import pre_migrate
from django.utils.module_loading import autodiscover_modules


class JobTrailConfig(AppConfig):
    """Finds the ``tasks.py`` of each application, and makes the tables with ``manage.py migrate``."""

    name = "jobtrail.django"
    label = "jobtrail"
    verbose_name = "jobtrail"

    def ready(self) -> None:
        """Import the tasks."""
        from .application import application

        application()
        autodiscover_modules("tasks")
        pre_migrate.connect(migrate, sender=self)


def migrate(using: str, verbosity: int = 1, **_: Any) -> None:
    """Create or upgrade the tables before Django's own migrations, which may submit jobs.

    Args:
        using: The database that is migrated.
        verbosity: How much is printed; 0 for nothing.
    """
    from .application import alias, application, follow

    if using != alias() or not router.allow_migrate(using, "jobtrail"):
        return
    follow()
    changed = application().migrate()
    if verbosity and changed:
        print("  Applied the migrations of jobtrail.")  # noqa: T201 - as the command itself does
