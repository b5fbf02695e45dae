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
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 20
YOUNG, SETTLE = 2.0, 0.25  # seconds


def inspect(path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> FileInput:
    """Read a file whole and remember what it is: absolute path, size in bytes, SHA-256.

    ``progress`` is told (bytes read, size). A file that was changed within the last two seconds is looked at
    twice, a quarter of a second apart.

    Raises: InvalidFile when it is missing, no plain file, unreadable, has a name that cannot be shown, or
    changes while it is read.
    """
    where = Path(path)
    if not str(where).isprintable():
        message = Message("commands.file-name-unprintable", name=repr(str(where)))
        raise InvalidFile(message)
    where = where.absolute()
    before = _stat(where)
    if time.time() - before.st_mtime < YOUNG:
        time.sleep(SETTLE)
        _refuse_changed(where, before)
    sha256 = _hash(where, before.st_size, progress)
    _refuse_changed(where, before)
    return FileInput(str(where), before.st_size, sha256)


def given(file: FileInput | str | os.PathLike[str]) -> FileInput:
    """A file that somebody hands in: one that was looked at already, or a path.

    Raises: InvalidFile.
    """
    return file if isinstance(file, FileInput) else inspect(file)


def check_unchanged(file: FileInput) -> FileInput:
    """Look at a submitted file again; the file as it is now.

    Raises: InputChanged when it is gone or its content is another one (``error.now`` then tells which).
    """
    try:
        now = FileInput(file.path, _stat(Path(file.path)).st_size, _hash(Path(file.path), file.size, None))
    except InvalidFile as error:
        message = Message("commands.input-gone", error=error)
        raise InputChanged(message) from error
    if now.sha256 != file.sha256:
        changed = InputChanged(
            Message("commands.input-changed", file=file.name, submitted=file.sha256[:12], now=now.sha256[:12])
        )
        changed.now = now  # type: ignore[attr-defined]
        raise changed
    return now


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
        message = Message("commands.no-file", path=path)
        raise InvalidFile(message) from None
    except OSError as error:
        message = Message("commands.file-unreadable", path=path, error=error.strerror)
        raise InvalidFile(message) from None
    if path.is_dir():
        message = Message("commands.file-is-folder", path=path)
        raise InvalidFile(message)
    if not path.is_file():
        message = Message("commands.not-a-file", path=path)
        raise InvalidFile(message)
    return found


def _refuse_changed(path: Path, before: os.stat_result) -> None:
    now = _stat(path)
    if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        message = Message("commands.file-growing", path=path)
        raise InvalidFile(message)


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
        message = Message("commands.file-unreadable", path=path, error=error.strerror)
        raise InvalidFile(message) from None
    return digest.hexdigest()
