"""The `JobTrail` of a Django project, by ``settings.JOBTRAIL``; it follows Django to its test databases."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.module_loading import import_string

from jobtrail.app import JobTrail
from jobtrail.errors import JobTrailError
from jobtrail.executors.hooks import Hooks
from jobtrail.integrations.django.address import url_of
from jobtrail.integrations.django.body_care import ConnectionCare
from jobtrail.integrations.django.transactions import DjangoConnections
from jobtrail.messages import render
from jobtrail.store import Store

DOTTED = ("around_body", "clock", "on_worker_start", "on_worker_stop")
OWN = ("APP", "DATABASE", "ROLE")


def options() -> dict[str, Any]:
    """Return ``settings.JOBTRAIL``."""
    return dict(getattr(settings, "JOBTRAIL", {}))


def alias() -> str:
    """Return the name in DATABASES of the database that keeps the jobs."""
    return str(options().get("DATABASE", DEFAULT_DB_ALIAS))


@functools.cache
def application() -> JobTrail:
    """Return the project's `JobTrail`: the object that ``APP`` names, or one made by the other settings.

    Raises:
        ImproperlyConfigured: If a setting is not valid.
    """
    given = options()
    try:
        if "APP" in given:
            jobs: JobTrail = _named(given["APP"])
        else:
            jobs = JobTrail(url_of(connections[alias()]), **_keywords(given))
    except JobTrailError as error:
        raise ImproperlyConfigured(render(error)) from error
    jobs.service.caller_connections = DjangoConnections()
    hooks: Hooks = jobs.service.hooks
    care = hooks.around_body or ConnectionCare
    jobs.service.hooks = replace(hooks, around_body=care, imports=("jobtrail.integrations.django.setup",))
    return jobs


def _named(place: str) -> JobTrail:
    found = import_string(place.replace(":", "."))
    if not isinstance(found, JobTrail):
        message = f"JOBTRAIL['APP'] must name a JobTrail, and {place} is a {type(found).__name__}"
        raise ImproperlyConfigured(message)
    return found


def _keywords(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of `JobTrail`: its settings in capitals, functions also by their dotted names."""
    found = {name.lower(): value for name, value in given.items() if name not in OWN}
    for name in DOTTED:
        if isinstance(found.get(name), str):
            found[name] = import_string(found[name])
    if "middleware" in found:
        found["middleware"] = [import_string(one) if isinstance(one, str) else one for one in found["middleware"]]
    return found


def follow() -> None:
    """Use the database that Django uses now: its runner of tests changes the name after the settings were read."""
    if "APP" in options():
        return
    jobs = application()
    url = url_of(connections[alias()])
    fresh = Store(url, clock=jobs.service.store.database.clock if "CLOCK" in options() else None, pooler=jobs.settings.pooler)
    if fresh.database.url == jobs.store.database.url:
        fresh.close()
        return
    jobs.store.close()
    jobs.store = jobs.service.store = fresh
    jobs.service.after_fork()  # a submitter of its own, in tables that were not looked at yet
    for name in ("queries", "schedules"):
        jobs.__dict__.pop(name, None)
