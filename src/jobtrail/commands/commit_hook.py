"""Says that there is work once a transaction is committed that is somebody else's: SQLAlchemy tells of a commit before it is made."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from jobtrail.errors import StoreError
from jobtrail.store.search.relations import is_stored

if TYPE_CHECKING:
    from jobtrail.store import Store

FIRST_LOOK = 0.0005  # seconds; each next one comes after twice the time
GIVES_UP = 2.0  # seconds: the commit failed, or it takes so long that polling finds the job as well


def when_committed(store: Store, job_id: str) -> None:
    """Look in a thread until others can see the job, which is to say until the commit, and wake the workers then."""
    threading.Thread(target=_announce, args=(store, job_id), name="jobtrail-announce", daemon=True).start()


def _announce(store: Store, job_id: str) -> None:
    pause, end = FIRST_LOOK, time.monotonic() + GIVES_UP
    while time.monotonic() < end:
        time.sleep(pause)
        try:
            if _is_visible(store, job_id):
                store.wake.need()
                store.wake.after_commit(None)
                return
        except StoreError:
            return
        pause = min(2 * pause, 0.1)


def _is_visible(store: Store, job_id: str) -> bool:
    with store.read() as conn:
        return is_stored(conn, job_id)
