"""The spool: files with ends of runs that the store did not take.

A worker that lives keeps ends there that have waited for too long, beside its own memory, so that its death loses
nothing; a worker that leaves puts its unwritten ends there. `end_writer.replay` writes them under the token of their
run, so that an end whose job was given away meanwhile is refused. Only the owner can read the files.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from jobtrail.commands.uploads import check_private
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Status, new_id
from jobtrail.job.transitions import Move
from jobtrail.messages import Message
from jobtrail.private_folder import is_private
from jobtrail.recovery.run_end import RunEnd
from jobtrail.store.items import Recorded
from jobtrail.store.runs import LogChunk, Progress, Records

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from jobtrail.store import Store

_log = logging.getLogger("jobtrail.worker")
_MOMENT = "$moment"
WAITING, REFUSED = ".jsonl", ".refused"
MOST = 10_000  # ends that are held in memory alone, however short they have waited


def folder_of(store: Store) -> Path:
    """The spool's folder: beside a SQLite file; for PostgreSQL in the user's state folder, one for each database."""
    path = store.database.path
    if path is not None:
        return path.with_name(path.name + "-spool")
    address = store.database.url.render_as_string(hide_password=True)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "jobtrail" / "spool" / blake2b(address.encode(), digest_size=8).hexdigest()


def keep(store: Store, ends: Sequence[RunEnd], name: str | None = None, *, suffix: str = WAITING) -> Path | None:
    """Write ends into a file; it appears under its name only when it is complete.

    Args:
        store: whose spool it is.
        ends: what to keep, in this order.
        name: the file's name without its suffix; a new id by default.
        suffix: `WAITING` for what is to be written as it is, `REFUSED` for the full form of ends that were stored bare.

    Returns:
        The file; None where there are no ends.

    Raises:
        OSError: if the file cannot be written, or somebody else can write to the folder.

    """
    if not ends:
        return None
    folder = folder_of(store)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_private(folder)
    path = folder / f"{name or new_id()}{suffix}"
    part = folder / f"{new_id()}.part"
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            for one in ends:
                file.write(json.dumps(_plain(one), default=_tagged) + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return path


def files(store: Store, *, besides: Container[str] = (), suffix: str = WAITING) -> list[Path]:
    """Return the files of the spool, oldest name first, but for those of the workers ``besides``.

    A folder to which somebody else can write is not read: ends of runs could be made up there.
    """
    folder = folder_of(store)
    if not is_private(folder):
        _log.error("%s", Message("commands.folder-not-private", folder=folder))
        return []
    return [path for path in sorted(folder.glob(f"*{suffix}")) if path.stem not in besides and not path.is_symlink()]


def read(path: Path) -> list[RunEnd]:
    """The ends of a file; a line that cannot be read is logged and left out.

    Raises:
        OSError: if the file cannot be read, because another process has just written its ends, say.

    """
    ends = []
    for line in path.read_text(encoding="ascii").splitlines():
        try:
            ends.append(_run_end(json.loads(line, object_hook=_untagged)))
        except (ValueError, KeyError, TypeError):
            _log.exception("a line of %s cannot be read; it is left out", path)
    return ends


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold a file while its ends are written; False if another thread or process holds it or has written them.

    Without this, two that replay the same file write each end twice, and the trail has a refusal that means nothing.
    """
    try:
        file = path.open("rb")
    except OSError:
        yield False
        return
    with file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno()))
        except OSError:
            mine = False
        yield mine


def remove(path: Path) -> None:
    """Remove a file whose ends are written, and the folder where it was the last."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


class SpoolCopy:
    """The copy on disk of the ends that one living worker holds in memory because the store does not take them.

    Args:
        store: whose spool it is.
        worker: the worker's id, which names the file.
        after: seconds that ends wait in memory before they are copied.

    """

    def __init__(self, store: Store, worker: str, after: float) -> None:
        self._store = store
        self._name = worker
        self._after = after
        self._since: float | None = None
        self._copied: list[Move] = []

    def update(self, ends: Sequence[RunEnd], *, at_once: bool = False) -> bool:
        """Copy the unwritten ends if they have waited for too long, are too many, or ``at_once``. Blocking.

        Returns:
            Whether a file was written.

        """
        moves = [one.move for one in ends]
        if self._since is None:
            self._since = time.monotonic() if moves else None
        late = self._since is not None and time.monotonic() - self._since >= self._after
        if not moves or moves == self._copied or not (late or at_once or len(moves) >= MOST):
            return False
        try:
            path = keep(self._store, ends, self._name)
        except OSError as error:
            _log.error("%d ends wait for the store, and cannot be kept in a file either: %s", len(moves), error)
            return False
        if not self._copied:
            _log.warning("the store does not take the ends of runs; they are kept in %s too", path)
        self._copied = moves
        return True

    def remove(self) -> None:
        """All ends are written: the copy is not needed any more."""
        self._since = None
        if self._copied:
            self._copied = []
            remove(folder_of(self._store) / f"{self._name}{WAITING}")


def _plain(one: RunEnd) -> dict[str, Any]:
    return {
        "move": _plain_move(one.move),
        "records": asdict(one.records) if one.records is not None else None,
        "ledger": one.ledger,
        "instead": {cause: _plain_move(move) for cause, move in one.instead.items()},
        "note": one.note,
        "body_over": one.body_over,
        "suspect": one.suspect,
    }


def _plain_move(move: Move) -> dict[str, Any]:
    return {f.name: getattr(move, f.name) for f in fields(Move)}


def _run_end(kept: dict[str, Any]) -> RunEnd:
    ledger, note = kept["ledger"], kept["note"]
    counts = None if ledger is None or ledger[1] is None else tuple(ledger[1])
    return RunEnd(
        _move(kept["move"]),
        _records(kept["records"]),
        None if ledger is None else (ledger[0], counts),
        {cause: _move(move) for cause, move in kept["instead"].items()},
        None if note is None else (note[0], note[1]),
        body_over=kept["body_over"],
        suspect=kept["suspect"],
    )


def _move(kept: dict[str, Any]) -> Move:
    given = dict(kept)
    given["leaves"] = tuple(Status(state) for state in given["leaves"])
    given["to"] = Status(given["to"])
    given["follow"] = tuple(given["follow"])
    given["about"] = tuple(about) if (about := given.get("about")) is not None else None
    return Move(**given)


def _records(kept: dict[str, Any] | None) -> Records | None:
    if kept is None:
        return None
    given = dict(kept)
    given["items"] = [Recorded(**{**item, "outcome": ItemOutcome(item["outcome"])}) for item in given["items"]]
    given["progress"] = None if given["progress"] is None else Progress(**given["progress"])
    given["log"] = [LogChunk(**chunk) for chunk in given["log"]]
    given["notes"] = [(name, reason) for name, reason in given["notes"]]
    given["deadline"] = None  # the run has ended
    return Records(**given)


def _tagged(value: Any) -> Any:
    if isinstance(value, datetime):
        return {_MOMENT: value.isoformat()}
    if isinstance(value, Mapping):
        return dict(value)
    message = f"{type(value).__name__} has no place in the spool"
    raise TypeError(message)


def _untagged(value: dict[str, Any]) -> Any:
    return datetime.fromisoformat(value[_MOMENT]) if set(value) == {_MOMENT} else value
