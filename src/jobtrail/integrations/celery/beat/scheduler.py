"""``celery beat -S jobtrail.celery:Scheduler``: beat on the schedules of jobtrail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery.beat import Scheduler as CeleryScheduler

from jobtrail.config import Settings, database_url, from_environment
from jobtrail.integrations.celery.tracking import MARK

from .entries import BeatConversion
from .process import BeatProcess

if TYPE_CHECKING:
    from jobtrail.integrations.celery.tracking import Tracker

URL = "jobtrail_url"  # the setting of Celery with the address of the store, where nothing is tracked
_LONGEST = 1.0  # seconds


class BeatScheduler(CeleryScheduler):  # type: ignore[misc]  # Celery has no types
    """A scheduler for ``celery beat`` that several processes may run at once.

    Each entry of ``beat_schedule`` becomes a schedule in the store of `track_celery`; without tracking in the store that
    the setting ``jobtrail_url`` or the variable ``JOBTRAIL_URL`` names. Options of jobtrail, such as ``catch_up``, stand in the
    setting ``jobtrail_beat_options``, by the name of the entry; ``"*"`` is for all.

    Example:
        ``celery -A shop beat -S jobtrail.celery:Scheduler``
    """

    _process: BeatProcess | None = None

    def setup_schedule(self) -> None:
        """Read the entries and start; Celery calls it once.

        Raises:
            InvalidSchedule: If an entry cannot be converted; the message names it, and nothing is stored.
            InvalidOption: If a setting is not valid.
        """
        entries: dict[str, Any] = dict(self.app.conf.beat_schedule or {})
        self.install_default_entries(entries)
        entries = {**self.schedule, **entries}
        tracker: Tracker | None = getattr(self.app, MARK, None)
        if tracker is not None:
            url, settings = tracker.store
        else:
            url = database_url(self.app.conf.get(URL))
            settings = Settings().with_values(**from_environment())
        records = tracker.records if tracker is not None else lambda _: False
        declared = BeatConversion(self.app, settings, records).declared(entries)
        self._process = BeatProcess(self.app, url, settings, declared)
        self._process.start()

    def tick(self, *_: Any, **__: Any) -> float:
        """Return the seconds until the next call; the work is done by the threads of `BeatProcess`."""
        return min(_LONGEST, float(self.max_interval))

    def close(self) -> None:
        """End in order. Celery calls it in a signal handler and again at the end."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    @property
    def info(self) -> str:
        """Where the schedules are, for the greeting of ``celery beat``."""
        return "    . db -> jobtrail"
