"""Ids of jobs, workers and the rest: UUIDv7, made by whoever needs one, in order of their making."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from uuid import uuid7
else:
    from uuid_utils import uuid7


def new_id() -> str:
    """A new id as text; later ones sort behind earlier ones."""
    return str(uuid7())
