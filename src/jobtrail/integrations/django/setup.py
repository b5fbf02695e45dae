"""Imported first in a child process: the modules of tasks import models, which need Django's applications."""

from __future__ import annotations

import django
from django.apps import apps


def set_up() -> None:
    """Load Django's applications, unless they are loaded or being loaded."""
    if not apps.ready and not apps.loading:
        django.setup()


set_up()
