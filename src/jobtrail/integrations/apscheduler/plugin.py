"""The plug-in `aps`: the tables of the integration, and ``jobs.aps``, which reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobtrail.errors import PermanentError
from jobtrail.messages import Message, tr
from jobtrail.plugins.plugin import Plugin
from jobtrail.plugins.running import application
from jobtrail.runtime.async_context import AsyncContext
from jobtrail.store.schedules import MISSED

from .firing import QUEUE
from .slots import runs_of
from .tables import aps_metadata
from .tracker import recorder_of

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


async def run_firing(
    ctx: AsyncContext,
    *,
    job: str,
    name: str,
    function: str | None,
    args: list[Any] | None,
    kwargs: dict[str, Any] | None,
) -> Any:
    """Record one firing of an APScheduler job, which runs in this process; a re-run calls its function."""
    del job, name
    recorder = recorder_of(application())
    firing = recorder.firings.get(ctx.job_id)
    if firing is None and ctx.run_no > 1 and ctx.attempt == 1:
        raise PermanentError(Message("integrations.aps-end-unknown"))  # handed back: nobody asked for another run
    if firing is None:
        return await recorder.run_again(function, args, kwargs)
    try:
        return await firing.recorded()
    finally:
        recorder.firings.pop(ctx.job_id, None)


def apscheduler_plugin() -> Plugin:
    """Return the plug-in with the tables, for ``JobTrail(plugins=[…])``; a job store mounts it where it is not given."""
    plugin = Plugin(NAME, about=tr("integrations.aps-about"))
    plugin.tables(aps_metadata, "jobtrail.integrations.apscheduler.migrations", "0001")
    plugin.service(KeptSlots)
    plugin.task(name="run", kind="schedule", queue=QUEUE, on_interrupt="fail")(run_firing)
    return plugin


def mount_on(jobs: Any) -> None:
    """Give an application the tables of the integration, once."""
    if NAME not in jobs.plugins:
        jobs.plugins.mount(apscheduler_plugin())
