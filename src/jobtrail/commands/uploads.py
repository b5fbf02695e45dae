"""Uploaded files for jobs: stored under their name, found by id, and removed when no job needs them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

from jobtrail.errors import InvalidFile, NotFound, TooLarge, UsageError
from jobtrail.job.model import FileInput, Outcome, new_id
from jobtrail.messages import Message, render
from jobtrail.private_folder import is_private
from jobtrail.store.search import relations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from jobtrail.config import Settings
    from jobtrail.store import Store

UNCLAIMED = 86_400.0  # seconds after which an upload that no job took goes
NAME_LIMIT = 200  # bytes
_PART = ".part-"
# A folder for each upload: its id, and the SHA-256 of what is in it.
_KEPT = re.compile(r"(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(?P<sha256>[0-9a-f]{64})")
_INCOMPLETE = (Outcome.PARTIAL.value, Outcome.ERROR.value)


@dataclass(frozen=True, slots=True)
class Upload:
    """A complete upload; a submission names it by ``id``."""

    id: str
    file: FileInput


def folder_of(settings: Settings, store: Store) -> Path:
    """The folder of the uploads.

    Raises:
        UsageError: If it is not set and there is no database file beside which it could be.
    """
    if settings.upload_folder is not None:
        return Path(settings.upload_folder).absolute()
    database = store.database.path
    if database is None:
        raise UsageError(Message("commands.no-upload-folder"))
    return Path(f"{database.absolute()}.uploads")


class Incoming:
    """An upload in progress: under a temporary name, readable by its owner only."""

    def __init__(self, folder: Path, name: str, limit: int) -> None:
        """Create the temporary file.

        Raises:
            InvalidFile: If the name is empty, not printable or too long.
            OSError: If the file cannot be created, or somebody else can write to the folder.
        """
        self.name = plain_name(name)
        self._folder = folder
        self._limit = limit
        self._id = new_id()
        self._digest = hashlib.sha256()
        self._size = 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_private(folder)
        self._part = folder / f"{_PART}{self._id}"
        self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")

    def write(self, data: bytes) -> None:
        """Write a piece; after an error nothing is left.

        Raises:
            TooLarge: If the upload exceeds its limit.
            OSError: If the piece cannot be written.
        """
        self._size += len(data)
        if self._size > self._limit:
            self.abandon()
            raise TooLarge(Message("commands.upload-too-large", most=self._limit))
        self._digest.update(data)
        try:
            self._file.write(data)
        except OSError:
            self.abandon()
            raise

    def finish(self) -> Upload:
        """Move the complete upload to its name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        sha256 = self._digest.hexdigest()
        home = self._folder / f"{self._id}.{sha256}"
        home.mkdir(mode=0o700)
        self._part.replace(home / self.name)
        for changed in (home, self._folder):
            _sync(changed)
        return Upload(self._id, FileInput(str(home / self.name), self._size, sha256, uploaded=True))

    def abandon(self) -> None:
        """Delete the temporary file."""
        self._file.close()
        self._part.unlink(missing_ok=True)


def check_private(folder: Path) -> None:
    """Refuse a folder in which somebody else could place or change files.

    Raises:
        PermissionError: If it is not `is_private`.
    """
    if not is_private(folder):
        raise PermissionError(errno.EPERM, render(_not_ours(folder)))


def _not_ours(folder: Path) -> Message:
    return Message("commands.folder-not-private", folder=folder)


def plain_name(name: str) -> str:
    """The name of a file without folders.

    Raises:
        InvalidFile: If it is empty, not printable or too long.
    """
    plain = name.replace("\\", "/").rsplit("/", 1)[-1].strip()
    if not plain.strip(".") or not plain.isprintable():
        raise InvalidFile(Message("commands.upload-name", name=repr(name[:100])))
    if len(plain.encode()) > NAME_LIMIT:
        raise InvalidFile(Message("commands.upload-name-too-long", most=NAME_LIMIT, name=plain[:50]))
    return plain


def find(folder: Path, upload: str) -> FileInput:
    """Find an upload by its id.

    Raises:
        NotFound: If there is no such upload.
        InvalidFile: If somebody else can write to the folder.
    """
    if not is_private(folder):
        raise InvalidFile(_not_ours(folder))
    for home in folder.glob(f"{upload}.*") if re.fullmatch(r"[0-9a-f-]{36}", upload) else ():
        kept = _KEPT.fullmatch(home.name)
        held = [one for one in home.iterdir() if one.is_file() and not one.is_symlink()]
        if kept is not None and len(held) == 1:
            return FileInput(str(held[0]), held[0].stat().st_size, kept["sha256"], uploaded=True)
    raise NotFound(Message("commands.no-upload", upload=upload[:50]))


def below(roots: Iterable[str], path: str) -> str:
    """A file of this server below one of the roots, after links are followed.

    Raises:
        InvalidFile: If it is not allowed or not there; the message is the same.
    """
    allowed = [Path(root).absolute() for root in roots]
    for root in allowed if path.isprintable() else ():
        found = (root / path).resolve()
        if found.is_relative_to(root.resolve()) and _is_file(found):
            return str(found)
    where = ", ".join(str(root) for root in allowed)
    message = Message("commands.no-server-files")
    if allowed:
        message = Message("commands.file-outside", path=path[:200], where=where)
    raise InvalidFile(message)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, say
        return False


# -- retention -----------------------------------------------------------------------------------------


def sweep(store: Store, settings: Settings) -> int:
    """Remove uploads that no job has taken or needs; returns how many.

    A job needs its upload as long as its row is kept, and until its unit is complete.
    """
    try:
        folder = folder_of(settings, store)
    except UsageError:
        return 0
    if not folder.is_dir() or not is_private(folder):
        return 0
    old = [one for one in folder.iterdir() if _age(one) > UNCLAIMED]
    kept = {one: found["sha256"] for one in old if (found := _KEPT.fullmatch(one.name)) is not None}
    with store.read() as conn:
        needed = _needed(conn, kept) if kept else set()
    gone = [one for one in old if one.name.startswith(_PART) or (one in kept and one not in needed)]
    for one in gone:
        shutil.rmtree(one, ignore_errors=True) if one.is_dir() else one.unlink(missing_ok=True)
    return len(gone)


def remove(store: Store, settings: Settings, files: Iterable[str]) -> int:
    """Remove the uploads among the input files of jobs that are gone; returns how many. One that is needed stays.

    Args:
        store: The store.
        settings: The settings.
        files: The input files, as the jobs had stored them.
    """
    given = [FileInput(**loads(one)) for one in files]
    homes = {Path(one.path).parent: one.sha256 for one in given if one.uploaded}
    if not homes:
        return 0
    try:
        folder = folder_of(settings, store)
    except UsageError:
        return 0
    kept = {one: sha256 for one, sha256 in homes.items() if one.parent == folder and _KEPT.fullmatch(one.name)}
    with store.read() as conn:
        gone = set(kept) - _needed(conn, kept) if kept and is_private(folder) else set()
    for one in gone:
        shutil.rmtree(one, ignore_errors=True)
    return len(gone)


def _needed(conn: Connection, kept: dict[Path, str]) -> set[Path]:
    """The uploads whose unit is not complete, or whose job is still stored."""
    found = relations.units_of_files(conn, kept.values())
    incomplete = {sha256 for _, sha256, outcome in found if outcome in _INCOMPLETE}
    named = [file for unit, _, _ in found for file in relations.files_of_unit(conn, unit)]
    return {home for home, sha256 in kept.items() if sha256 in incomplete or any(home.name in one for one in named)}


def _age(path: Path) -> float:
    with suppress(OSError):
        return time.time() - path.stat().st_mtime
    return 0.0


def _sync(folder: Path) -> None:
    """A new name is on the disk only when its folder is."""
    with suppress(OSError):  # not everywhere can a folder be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
