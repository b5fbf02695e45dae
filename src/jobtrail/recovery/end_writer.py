"""One fallback for every write that has to reach the store: the group, then each alone, then bare, then the spool.

The worker writes the ends of runs in the transaction of its turn and comes here when that fails; the spool's replay,
the orphaned bodies and upkeep come here at once. An outage (`StoreUnavailable`) stops the fallback: nothing is written
in another form because the store is away.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from jobtrail.errors import StoreUnavailable, ValueNotStorable
from jobtrail.messages import Message
from jobtrail.store import workers

from . import spool
from .run_end import complete, write_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from jobtrail.recovery.run_end import RunEnd
    from jobtrail.store import Store


class AboutJob(Protocol):
    """What is written here is about one job."""

    @property
    def job_id(self) -> str:
        """The job."""


T = TypeVar("T", bound=AboutJob)
RETRY_STUCK = 5.0  # seconds between two tries to write an end that the store refuses to store
_log = logging.getLogger("jobtrail.worker")


@dataclass(slots=True)
class Written(Generic[T]):
    """What became of things to write.

    Attributes:
        done: how many changed the store.
        refused: the ones that changed nothing, because the store has moved on.
        stuck: the ones that the store cannot store, even bare.
        unwritten: the ones that were not tried, because the store is away.

    """

    done: int = 0
    refused: list[T] = field(default_factory=list)
    stuck: list[T] = field(default_factory=list)
    unwritten: list[T] = field(default_factory=list)


def write_group(
    store: Store,
    things: Sequence[T],
    write: Callable[[Connection, list[T]], list[T]],
    bare: Callable[[T, Exception], T] | None = None,
) -> Written[T]:
    """Write things in one transaction; where that fails, as `write_each`. Blocking.

    Args:
        store: where to.
        things: what to write.
        write: writes some of them on a connection and returns those that changed nothing.
        bare: makes a smaller thing of one that could not be stored; None where there is no smaller form.

    Raises:
        StoreUnavailable: if the store is away; nothing was written.

    """
    if not things:
        return Written()
    try:
        refused = store.write(lambda conn: write(conn, list(things)))
    except StoreUnavailable:
        raise
    except Exception as error:
        if len(things) > 1:
            _log.warning("writing %d things at once failed, each is written alone: %s", len(things), error)
        return write_each(store, things, write, bare)
    return Written(len(things) - len(refused), refused)


def write_each(
    store: Store,
    things: Sequence[T],
    write: Callable[[Connection, list[T]], list[T]],
    bare: Callable[[T, Exception], T] | None = None,
) -> Written[T]:
    """Write each thing in a transaction of its own, and what cannot be stored a second time in its bare form. Blocking.

    Never raises: what could not be written is in the answer.
    """
    found: Written[T] = Written()
    for place, thing in enumerate(things):
        try:
            left = _write_one(store, thing, write, bare)
        except StoreUnavailable:
            found.unwritten = list(things[place:])
            break
        except Exception as error:
            _log.error("job %s could not be written: %s", thing.job_id, error, exc_info=error)
            found.stuck.append(thing)
            continue
        found.refused += left
        found.done += 0 if left else 1
    return found


def _write_one(
    store: Store, thing: T, write: Callable[[Connection, list[T]], list[T]], bare: Callable[[T, Exception], T] | None
) -> list[T]:
    try:
        return store.write(lambda conn: write(conn, [thing]))
    except StoreUnavailable:
        raise
    except Exception as error:
        if bare is None:
            raise
        smaller = bare(thing, error)
    return store.write(lambda conn: write(conn, [smaller]))


class EndWriter:
    """Writes the ends of one worker's runs, and keeps those that the store does not take.

    Args:
        store: where to.
        worker: the worker's id, which names its file in the spool.
        spool_after: seconds that ends wait in memory before they are copied into the spool.

    """

    def __init__(self, store: Store, worker: str, spool_after: float) -> None:
        self._store = store
        self._copy = spool.SpoolCopy(store, worker, spool_after)
        self._retry_at = float("-inf")
        self.stuck: list[RunEnd] = []

    def write_each(self, ends: Sequence[RunEnd]) -> list[RunEnd]:
        """Write ends one by one; those that the store cannot store are kept in `stuck` and in the spool. Blocking.

        Returns:
            The ends that were not tried because the store is away.

        """
        written = write_each(self._store, ends, partial(_write_ends, self._store), partial(_bare, self._store))
        if written.stuck:
            self.stuck += written.stuck
            self._retry_at = time.monotonic() + RETRY_STUCK
            self._copy.update([*written.unwritten, *self.stuck], at_once=True)
        return written.unwritten

    def retry_stuck(self, *, now: float | None = None) -> None:
        """Try the stuck ends again where that is due (``now``: at once with ``float("inf")``). Blocking."""
        at = time.monotonic() if now is None else now
        if not self.stuck or at < self._retry_at:
            return
        ends, self.stuck = self.stuck, []
        self.stuck = self.write_each(ends) + self.stuck
        if not self.stuck:
            self._copy.remove()

    def store_is_away(self, ends: Sequence[RunEnd]) -> None:
        """Copy the unwritten ends into the spool once they have waited for too long. Blocking."""
        self._copy.update([*ends, *self.stuck])

    def store_is_back(self) -> None:
        """All ends but the stuck ones are written."""
        if not self.stuck:
            self._copy.remove()

    def leave(self, ends: Sequence[RunEnd]) -> Path | None:
        """Hand what is not written over to the spool for good: the worker ends. Blocking.

        Raises:
            OSError: if the file cannot be written.

        """
        path = spool.keep(self._store, [*ends, *self.stuck])
        self._copy.remove()
        return path


def replay(store: Store, worker: str) -> int:
    """Write what workers of this machine have left in the spool that are dead now. Blocking.

    A file with an end that cannot be stored, even bare, is renamed to ``.bad`` and kept. A job whose end was stored bare
    because of a fault gets its values from their file, once the store takes them.

    Args:
        store: whose spool it is.
        worker: the worker that asks; it is named in the log.

    Returns:
        How many ends were written.

    Raises:
        StoreError: if the store is away; the files stay.

    """
    refused, waiting = spool.files(store, suffix=spool.REFUSED), spool.files(store)
    written = sum(_held(store, path, _complete) for path in refused)
    if waiting:
        with store.read() as conn:
            living = {row.id for row in workers.living(conn)}
        written += sum(_held(store, path, _replay) for path in spool.files(store, besides=living))
    if written:
        _log.warning("worker %s has written %d ends that another worker could not write", worker, written)
    return written


def _held(store: Store, path: Path, write: Callable[[Store, Path], int]) -> int:
    with spool.held(path) as mine:
        return write(store, path) if mine else 0


def _replay(store: Store, path: Path) -> int:
    try:
        ends = spool.read(path)
    except OSError:
        return 0  # another process has just written them, or the file belongs to another user
    written = write_group(store, ends, partial(_write_ends, store), partial(_bare, store))
    if written.unwritten:
        raise StoreUnavailable(Message("recovery.file-kept", path=path))
    if written.stuck:
        path.replace(path.with_suffix(".bad"))
    else:
        spool.remove(path)
    return written.done


def _write_ends(store: Store, conn: Connection, ends: list[RunEnd]) -> list[RunEnd]:
    return write_ends(conn, store, ends, store.now())


def _bare(store: Store, end: RunEnd, error: Exception) -> RunEnd:
    """Return the end without its values: they are dropped if no database takes them, else a file keeps them.

    Raises:
        OSError: if the file cannot be written.

    """
    if isinstance(error, ValueNotStorable):
        _log.warning("job %s: its result could not be stored, its end is stored without it: %s", end.job_id, error)
        return end.without_values(Message("recovery.result-not-stored", type=type(error).__name__).stored)
    path = spool.keep(store, [end], end.name, suffix=spool.REFUSED)
    _log.error(
        "job %s: its end was refused and is stored without its values; they are kept in %s and written by the next worker "
        "that can. Please report this fault.", end.job_id, path, exc_info=error,
    )  # fmt: skip
    return end.without_values(end.kept_note.stored)


def _complete(store: Store, path: Path) -> int:
    """Give a job the values with which its end was refused; the file stays while the store refuses them.

    Raises:
        StoreUnavailable: if the store is away.

    """
    try:
        (end,) = spool.read(path)
        done = store.write(lambda conn: complete(conn, store, end, store.now()))
    except StoreUnavailable:
        raise
    except Exception as error:
        _log.warning("the values in %s are still refused: %s", path, error)
        return 0
    if done:
        spool.remove(path)
        return 1
    path.replace(path.with_suffix(".bad"))
    _log.warning("the job of %s has moved on; its values are kept in %s", path.name, path.with_suffix(".bad"))
    return 0
