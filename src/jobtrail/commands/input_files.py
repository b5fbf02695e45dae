"""Input files: looked at, hashed, and compared at the start of each attempt."""

from __future__ import annotations

import hashlib
import os
import time
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING

from jobtrail.errors import InputChanged, InvalidFile
from jobtrail.job.model import FileInput
from jobtrail.job.task import SETTLE
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 20
YOUNG = 2.0  # seconds: a file that was changed within them may still grow
UNFINISHED = (".part", ".partial", ".filepart", ".tmp", ".crdownload", "~")  # of names that a writer renames at its end
Look = tuple[int, int, int]  # size, time of change and inode: equal as long as nobody writes


def inspect(
    path: str | os.PathLike[str],
    *,
    settle: float = SETTLE,
    ready_marker: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FileInput:
    """Read a file whole and remember what it is: absolute path, size in bytes, SHA-256.

    A file that was changed a short time ago is looked at twice, until it has been left alone for ``settle`` seconds.

    Args:
        path: the file.
        settle: seconds for which it must not have changed. This call waits for what is left of them.
        ready_marker: a file beside it that says it is whole: an ending to add to its name (".done"), or a name.
        progress: is told (bytes read, size).

    Raises:
        InvalidFile: when it is missing, no plain file, unreadable, has a name that cannot be shown or that of a file
            on its way, has no marker, or changes while it is read.

    """
    where = Path(path)
    if not str(where).isprintable():
        raise InvalidFile(Message("commands.file-name-unprintable", name=repr(str(where))))
    where = where.absolute()
    before = _stat(where)
    _refuse_unfinished(where, ready_marker)
    age = time.time() - before.st_mtime
    if age < max(YOUNG, settle):
        time.sleep(min(settle, max(SETTLE, settle - age)))
        _refuse_changed(where, before)
    sha256 = _hash(where, before.st_size, progress)
    _refuse_changed(where, before)
    return FileInput(str(where), before.st_size, sha256)


def given(
    file: FileInput | str | os.PathLike[str], *, settle: float = SETTLE, ready_marker: str | None = None
) -> FileInput:
    """A file that somebody hands in: one that was looked at already, or a path, as for `inspect`.

    Raises: InvalidFile.
    """
    return file if isinstance(file, FileInput) else inspect(file, settle=settle, ready_marker=ready_marker)


def check_unchanged(file: FileInput) -> FileInput:
    """Look at a submitted file again; the file as it is now.

    Raises: InputChanged when it is gone or its content is another one (``error.now`` then tells which).
    """
    try:
        now = FileInput(file.path, _stat(Path(file.path)).st_size, _hash(Path(file.path), file.size, None))
    except InvalidFile as error:
        raise InputChanged(Message("commands.input-gone", error=error)) from error
    if now.sha256 != file.sha256:
        changed = InputChanged(
            Message("commands.input-changed", file=file.name, submitted=file.sha256[:12], now=now.sha256[:12])
        )
        changed.now = now  # type: ignore[attr-defined]
        raise changed
    return now


def look(path: str) -> Look | None:
    """What tells without reading that a file was written or replaced; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def check_unchanged_since(file: FileInput, before: Look | None) -> None:
    """Compare a file at the end of a body with ``before`` its start. It is read again only if the look differs.

    A file that is gone is no change: many bodies move their file away.

    Raises: InputChanged when its content is another one (``error.now`` then tells which).
    """
    now = look(file.path)
    if now is None or now == before:
        return
    try:
        found = FileInput(file.path, now[0], _hash(Path(file.path), now[0], None))
    except InvalidFile:
        return
    if found.sha256 != file.sha256:
        message = Message(
            "commands.input-changed-meanwhile", file=file.name, before=file.sha256[:12], now=found.sha256[:12]
        )
        changed = InputChanged(message)
        changed.now = found  # type: ignore[attr-defined]
        raise changed


def to_json(file: FileInput) -> str:
    """As it is kept in the job's row."""
    return dumps({"path": file.path, "size": file.size, "sha256": file.sha256, "uploaded": file.uploaded})


def from_json(text: str) -> FileInput:
    """What `to_json` wrote."""
    return FileInput(**loads(text))


def _stat(path: Path) -> os.stat_result:
    try:
        found = path.stat()
    except FileNotFoundError:
        raise InvalidFile(Message("commands.no-file", path=path)) from None
    except OSError as error:
        raise InvalidFile(Message("commands.file-unreadable", path=path, error=error.strerror)) from None
    if path.is_dir():
        raise InvalidFile(Message("commands.file-is-folder", path=path))
    if not path.is_file():
        raise InvalidFile(Message("commands.not-a-file", path=path))
    return found


def _refuse_unfinished(path: Path, marker: str | None) -> None:
    """Raises: InvalidFile for a name that writers use until a file is whole, and where its marker is missing."""
    if path.name.startswith(".") or path.name.lower().endswith(UNFINISHED):
        raise InvalidFile(Message("commands.file-on-its-way", path=path, endings=UNFINISHED))
    if marker is not None:
        beside = path.with_name(path.name + marker if marker.startswith(".") else marker)
        if not beside.is_file():
            raise InvalidFile(Message("commands.file-not-ready", path=path, marker=beside.name))


def _refuse_changed(path: Path, before: os.stat_result) -> None:
    now = _stat(path)
    if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise InvalidFile(Message("commands.file-growing", path=path))


def _hash(path: Path, size: int, progress: Callable[[int, int], None] | None) -> str:
    digest = hashlib.sha256()
    done = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, size)
    except OSError as error:
        raise InvalidFile(Message("commands.file-unreadable", path=path, error=error.strerror)) from None
    return digest.hexdigest()
