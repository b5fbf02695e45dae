"""The plug-in `aps`: the tables of the integration, and ``jobs.aps``, which reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobtrail.messages import tr
from jobtrail.plugins.plugin import Plugin
from jobtrail.store.schedules import MISSED

from .slots import runs_of
from .tables import aps_metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .slots import PlannedRun

NAME = "aps"


class KeptSlots:
    """What became of the planned times of APScheduler jobs, ``jobs.aps``."""

    def __init__(self, jobs: Any) -> None:
        self._jobs = jobs

    def slots(self, schedule: str | None = None, *, store: str | None = None, limit: int = 100) -> Sequence[PlannedRun]:
        """Return planned times and what happened to them, latest first.

        Args:
            schedule: Id of the APScheduler job; default: all.
            store: Name of the job store; default: all.
            limit: Greatest number of rows.
        """
        return self._read(schedule, store, None, limit)

    def missed(
        self, schedule: str | None = None, *, store: str | None = None, limit: int = 100
    ) -> Sequence[PlannedRun]:
        """Return planned times that did not run, each with its reason, latest first.

        Args:
            schedule: Id of the APScheduler job; default: all.
            store: Name of the job store; default: all.
            limit: Greatest number of rows.
        """
        return self._read(schedule, store, MISSED, limit)

    def _read(self, schedule: str | None, store: str | None, state: str | None, limit: int) -> list[PlannedRun]:
        self._jobs.make_ready()
        with self._jobs.store.read() as conn:
            return runs_of(conn, store, schedule, state=state, limit=limit)


def apscheduler_plugin() -> Plugin:
    """Return the plug-in with the tables, for ``JobTrail(plugins=[…])``; a job store mounts it where it is not given."""
    plugin = Plugin(NAME, about=tr("integrations.aps-about"))
    plugin.tables(aps_metadata, "jobtrail.integrations.apscheduler.migrations", "0001")
    plugin.service(KeptSlots)
    return plugin


def mount_on(jobs: Any) -> None:
    """Give an application the tables of the integration, once."""
    if NAME not in jobs.plugins:
        jobs.plugins.mount(apscheduler_plugin())
