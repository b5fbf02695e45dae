"""Folders in which nobody else can place, change or link anything: those of uploads, of the spool and of sockets."""

from __future__ import annotations

import os
import stat

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def is_private(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder belongs to this user, is no link, and nobody else can write to it; one that is not there is."""
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return True
    ours = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE)
    return ours and stat.S_ISDIR(found.st_mode)
