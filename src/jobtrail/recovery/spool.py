"""Ends that could not be written because the store stayed away: kept in a local file until they are.

They are written under the token of their run, so what was given away meanwhile is refused and nothing counts
twice. A worker that lives keeps there what has waited for too long, beside its own memory, so that its death loses
nothing; whoever finds it dead on the same machine writes them before its jobs are given to others. The files are
readable by their owner only.
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
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StoreUnavailable
from jobtrail.job.ids import new_id
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Status
from jobtrail.job.transitions import Move
from jobtrail.store import workers
from jobtrail.store.items import Recorded
from jobtrail.store.runs import LogChunk, Progress, Records
from jobtrail.worker.settlement import Ended, bare, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from jobtrail.store import Store

_log = logging.getLogger("jobtrail.worker")
_MOMENT = "$moment"
MOST = 10_000  # ends in memory alone, however short they have waited


def folder_of(store: Store) -> Path:
    """Beside a SQLite file; for PostgreSQL in the user's state folder, one for each database."""
    path = store.database.path
    if path is not None:
        return path.with_name(path.name + "-spool")
    address = store.database.url.render_as_string(hide_password=True)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "jobtrail" / "spool" / blake2b(address.encode(), digest_size=8).hexdigest()


def keep(store: Store, ended: Sequence[Ended], name: str | None = None) -> Path | None:
    """Put ends into a file; None where there are none. The file appears under its name only when it is whole."""
    if not ended:
        return None
    folder = folder_of(store)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{name or new_id()}.jsonl"
    part = folder / f"{new_id()}.part"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        for one in ended:
            file.write(json.dumps(_plain(one), default=_tagged) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return path


class Waiting:
    """The ends of one living worker that wait for the store: in its memory, and after a while in its file too."""

    def __init__(self, store: Store, worker: str, after: float) -> None:
        self._store = store
        self._name = worker
        self._after = after
        self._since: float | None = None
        self._kept: list[Move] = []

    def look(self, ended: Sequence[Ended]) -> bool:
        """The store is away: keep these if they have waited for too long, or are too many; True where a file was written.

        Blocking.
        """
        moves = [one.move for one in ended]
        if self._since is None:
            self._since = time.monotonic() if moves else None
        late = self._since is not None and time.monotonic() - self._since >= self._after
        if not moves or moves == self._kept or not (late or len(moves) >= MOST):
            return False
        try:
            path = keep(self._store, ended, self._name)
        except OSError as error:
            _log.error("%d ends wait for the store, and cannot be kept in a file either: %s", len(moves), error)
            return False
        if not self._kept:
            _log.warning("the store stays away; the ends that wait for it are kept in %s too", path)
        self._kept = moves
        return True

    def written(self) -> None:
        """They stand in the store."""
        self._since = None
        if self._kept:
            self._kept = []
            _drop(folder_of(self._store) / f"{self._name}.jsonl")


def replay(store: Store, worker: str) -> int:
    """Write what workers of this machine had to keep that are dead now; how many ends were written. Blocking.

    Raises: StoreError while the store is away; the files stay.
    """
    files = sorted(folder_of(store).glob("*.jsonl"))
    if not files:
        return 0
    with store.read() as conn:
        living = {row.id for row in workers.living(conn)}
    written = sum(_replay(store, worker, path) for path in files if path.stem not in living)
    if written:
        _log.warning("%d ends that a worker could not write before are written now", written)
    return written


def _replay(store: Store, worker: str, path: Path) -> int:
    try:
        ended = _read(path)
    except OSError:
        return 0  # another has just written them, or the file is not ours to read
    bad = False
    try:
        refused = store.write(partial(_settle, store, ended, worker))
        written = len(ended) - len(refused)
    except StoreUnavailable:
        raise
    except Exception:
        alone = [_write_alone(store, worker, one) for one in ended]
        written, bad = alone.count(True), None in alone
    if bad:
        path.replace(path.with_suffix(".bad"))
    else:
        _drop(path)
    return written


def _write_alone(store: Store, worker: str, one: Ended) -> bool | None:
    """True where it was written, False where it was refused, None where it cannot be."""
    for _ in range(2):
        try:
            return not store.write(partial(_settle, store, [one], worker))
        except StoreUnavailable:
            raise
        except Exception as error:
            _log.exception("the end of job %s could not be stored as it was kept", one.move.job_id)
            one = bare(one, error)
    return None


def _drop(path: Path) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def _settle(store: Store, ended: list[Ended], worker: str, conn: Connection) -> list[Ended]:
    return settle(conn, store, ended, worker, store.now())


def _read(path: Path) -> list[Ended]:
    ended = []
    for line in path.read_text(encoding="ascii").splitlines():
        try:
            ended.append(_ended(json.loads(line, object_hook=_untagged)))
        except (ValueError, KeyError, TypeError):
            _log.exception("a line of %s cannot be read; it is left out", path)
    return ended


def _plain(one: Ended) -> dict[str, Any]:
    move = {f.name: getattr(one.move, f.name) for f in fields(Move)}
    records = asdict(one.records) if one.records is not None else None
    return {"move": move, "records": records, "ledger": one.ledger, "line": one.line}


def _ended(kept: dict[str, Any]) -> Ended:
    told = dict(kept["move"])
    told["leaves"] = tuple(Status(state) for state in told["leaves"])
    told["to"] = Status(told["to"])
    told["follow"] = tuple(told["follow"])
    ledger, line = kept["ledger"], kept["line"]
    counts = None if ledger is None or ledger[1] is None else tuple(ledger[1])
    return Ended(
        Move(**told),
        _records(kept["records"]),
        None if ledger is None else (ledger[0], counts),
        line=None if line is None else (line[0], line[1]),
    )


def _records(kept: dict[str, Any] | None) -> Records | None:
    if kept is None:
        return None
    told = dict(kept)
    told["items"] = [Recorded(**{**item, "outcome": ItemOutcome(item["outcome"])}) for item in told["items"]]
    told["progress"] = None if told["progress"] is None else Progress(**told["progress"])
    told["log"] = [LogChunk(**chunk) for chunk in told["log"]]
    told["notes"] = [(name, reason) for name, reason in told["notes"]]
    told["deadline"] = None  # the run has ended
    return Records(**told)


def _tagged(value: Any) -> Any:
    if isinstance(value, datetime):
        return {_MOMENT: value.isoformat()}
    if isinstance(value, Mapping):
        return dict(value)
    message = f"{type(value).__name__} has no place in the spool"
    raise TypeError(message)


def _untagged(value: dict[str, Any]) -> Any:
    return datetime.fromisoformat(value[_MOMENT]) if set(value) == {_MOMENT} else value
