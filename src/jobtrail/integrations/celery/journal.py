"""A file with the records that a process has not written yet, so that they survive its death.

Each record is appended with one system call before it waits in memory; the file is emptied when nothing waits. A process that
leads others writes what dead processes of this host have left.
"""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail.commands.uploads import check_private
from jobtrail.job.items import Counts
from jobtrail.job.outcome import Ledger, Raised, Returned
from jobtrail.job.period import Period
from jobtrail.private_folder import is_private
from jobtrail.recovery import spool
from jobtrail.store.workers import boot_id, pid_namespace, process_start

from .declaration import Described
from .task_run import RunBegins, RunEnds, TaskRejected, TaskRetry, TaskRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.store import Store

    from .task_run import Report

SUFFIX = ".celery"
_FIELDS = (
    "celery_id", "job_id", "task", "queue", "args", "options", "context", "stamped", "known", "sent", "max_attempts", "parent",
    "root",
)  # fmt: skip
_OUTCOMES = {one.__name__: one for one in (Returned, Raised, TaskRetry, TaskRejected)}
_OUTCOME_FIELDS = {name: tuple(field.name for field in fields(kind)) for name, kind in _OUTCOMES.items()}
_log = logging.getLogger("jobtrail.celery")


class Journal:
    """The file of this process; where it cannot be written, records are in memory alone, and the log says so.

    Args:
        store: The store, whose spool folder is used.
        worker: The id of this process.
    """

    def __init__(self, store: Store, worker: str) -> None:
        self._file: int | None = None
        self._empty = True
        try:
            folder = spool.folder_of(store)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_private(folder)
            self.path = folder / f"{worker}{SUFFIX}"
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._head = _line({"worker": worker, **_identity(os.getpid())})
            os.write(self._file, self._head)
        except Exception as error:
            _log.warning("records of Celery tasks are kept in memory alone: %s", error)

    def add(self, report: Report) -> None:
        """Append a record."""
        if self._file is not None and isinstance(report, (RunBegins, RunEnds)):
            self._empty = False
            os.write(self._file, _line(_plain(report)))

    def clear(self) -> None:
        """Everything is written: empty the file."""
        if self._file is not None and not self._empty:
            os.ftruncate(self._file, len(self._head))
            self._empty = True

    def close(self, *, keep: bool) -> None:
        """End; the file stays where records are left in it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            if not keep:
                self.path.unlink(missing_ok=True)


def left_behind(store: Store) -> Iterator[tuple[Path, str, list[Report]]]:
    """Yield the file, the process and the records of each dead process of this host."""
    folder = spool.folder_of(store)
    if not folder.is_dir() or not is_private(folder):
        return
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            head, *lines = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
            dead = _is_dead(head)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if dead and not path.is_symlink():
            yield path, head["worker"], _reports(lines)


def _is_dead(head: dict[str, Any]) -> bool:
    """Whether the process is gone: proved on the same start of this machine, and certain on a later one."""
    if head["boot"] is None or head["boot"] != boot_id():
        return head["boot"] is not None
    return bool(head["namespace"] == pid_namespace() and process_start(head["pid"]) != head["start"])


def _identity(pid: int) -> dict[str, Any]:
    return {"pid": pid, "boot": boot_id(), "namespace": pid_namespace(), "start": process_start(pid)}


def _line(values: dict[str, Any]) -> bytes:
    return (json.dumps(values) + "\n").encode("ascii")


def _plain(report: RunBegins | RunEnds) -> dict[str, Any]:
    run = report.run
    if isinstance(report, RunBegins):
        described = run.described
        period = described.period.text if described.period else None
        about = {"kind": described.kind, "source": described.source, "period": period, "trouble": described.trouble}
        begun = time.time() - (time.monotonic() - run.begun)
        return {"begun": begun, "described": about, **{name: getattr(run, name) for name in _FIELDS}}
    ledger = run.ledger()
    at = time.time() - (time.monotonic() - report.at)
    told = report.outcome
    outcome = {"kind": type(told).__name__, **{name: getattr(told, name) for name in _OUTCOME_FIELDS[type(told).__name__]}}
    items = {**asdict(ledger), "never": sorted(ledger.never)} if ledger.has_items else None
    return {"ended": run.celery_id, "at": at, "outcome": outcome, "items": items}


def _reports(lines: list[dict[str, Any]]) -> list[Report]:
    """The records of a file; ends whose beginning was written before bring a run that is known by its Celery id."""
    found: list[Report] = []
    runs: dict[str, TaskRun] = {}
    shift = time.monotonic() - time.time()
    for values in lines:
        if "begun" in values:
            about = values["described"]
            period = Period.parse(about["period"]) if about["period"] else None
            described = Described(about["kind"], about["source"], period, about["trouble"])
            given = {name: values[name] for name in _FIELDS}
            run = runs[values["celery_id"]] = TaskRun(**given, begun=values["begun"] + shift, described=described)
            found.append(RunBegins(run))
            continue
        outcome = dict(values["outcome"])
        ended = runs.get(values["ended"])
        if ended is None:
            ended = TaskRun(values["ended"], "", "", "", "{}", "{}", {}, known=True)
        if values["items"]:
            counts = {name: Counts(**values["items"].pop(name)) for name in ("counts", "own")}
            given = {**values["items"], **counts, "never": frozenset(map(tuple, values["items"]["never"]))}
            ended.kept_ledger = Ledger(**given)
        found.append(RunEnds(ended, _OUTCOMES[outcome.pop("kind")](**outcome), at=values["at"] + shift))
    return found
