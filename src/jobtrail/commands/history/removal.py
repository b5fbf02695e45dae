"""What a function is told that is called before jobs are removed."""

from __future__ import annotations

from dataclasses import dataclass

RETENTION, DELETED = "retention", "deleted"


@dataclass(frozen=True, slots=True)
class Removal:
    """Ended jobs that are about to be removed, together; they are still there.

    Attributes:
        ids: The jobs.
        cause: "retention", or "deleted" for what a person asked for.
    """

    ids: tuple[str, ...]
    cause: str
