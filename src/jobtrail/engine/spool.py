"""Ends that could not be written because the store stayed away: kept in a local file, written by the next worker.

They are written under the token of their run, so what was given away meanwhile is refused and nothing counts
twice. The file is readable by its owner only.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from dataclasses import asdict
from datetime import datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail.job.ids import new_id
from jobtrail.job.items import ItemOutcome
from jobtrail.job.model import Status
from jobtrail.job.moves import Move
from jobtrail.store.items import Recorded
from jobtrail.store.runs import LogChunk, Progress, Records

from .settle import Ended, settle

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.store import Store

_log = logging.getLogger("jobtrail.engine")
_MOMENT = "$moment"


def folder_of(store: Store) -> Path:
    """Beside a SQLite file; for PostgreSQL in the user's state folder, one for each database."""
    path = store.database.path
    if path is not None:
        return path.with_name(path.name + "-spool")
    address = store.database.url.render_as_string(hide_password=True)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "jobtrail" / "spool" / blake2b(address.encode(), digest_size=8).hexdigest()


def keep(store: Store, ended: list[Ended]) -> Path | None:
    """Put ends into a file; None where there are none. The file appears under its name only when it is whole."""
    if not ended:
        return None
    folder = folder_of(store)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{new_id()}.jsonl"
    part = path.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        for one in ended:
            file.write(json.dumps(_plain(one), default=_tagged) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.rename(path)
    return path


def replay(store: Store, worker: str) -> int:
    """Write what earlier workers of this host had to keep; how many ends were written. Blocking.

    Raises: StoreError while the store is away; the files stay.
    """
    written = 0
    for path in sorted(folder_of(store).glob("*.jsonl")):
        ended = _read(path)
        refused = store.write(partial(_settle, store, ended, worker))
        written += len(ended) - len(refused)
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder_of(store).rmdir()
    if written:
        _log.warning("%d ends that an earlier worker could not write are written now", written)
    return written


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
    move = one.move
    names = ("name", "job_id", "run_no", "actor", "reason", "unit", "keeps_unit")
    kept: dict[str, Any] = {name: getattr(move, name) for name in names}
    kept |= {"leaves": list(move.leaves), "to": move.to, "values": dict(move.values), "detail": move.detail and dict(move.detail)}
    return {"move": kept, "records": asdict(one.records) if one.records is not None else None, "ledger": one.ledger}


def _ended(kept: dict[str, Any]) -> Ended:
    told = dict(kept["move"])
    told["leaves"] = tuple(Status(state) for state in told["leaves"])
    told["to"] = Status(told["to"])
    ledger = kept["ledger"]
    counts = None if ledger is None or ledger[1] is None else tuple(ledger[1])
    return Ended(Move(**told), _records(kept["records"]), None if ledger is None else (ledger[0], counts))


def _records(kept: dict[str, Any] | None) -> Records | None:
    if kept is None:
        return None
    told = dict(kept)
    told["items"] = [Recorded(**{**item, "outcome": ItemOutcome(item["outcome"])}) for item in told["items"]]
    told["progress"] = None if told["progress"] is None else Progress(**told["progress"])
    told["log"] = [LogChunk(**chunk) for chunk in told["log"]]
    told["notes"] = [(name, reason) for name, reason in told["notes"]]
    return Records(**told)


def _tagged(value: Any) -> Any:
    if isinstance(value, datetime):
        return {_MOMENT: value.isoformat()}
    message = f"{type(value).__name__} has no place in the spool"
    raise TypeError(message)


def _untagged(value: dict[str, Any]) -> Any:
    return datetime.fromisoformat(value[_MOMENT]) if set(value) == {_MOMENT} else value
