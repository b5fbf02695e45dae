"""What a caller who sees masked values only may search: a filter is compared with these, never with a secret."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps, loads
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import false, not_, or_

from jobtrail.job.failure import mask_urls
from jobtrail.job.masking import TEXT_HINTS, masked

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement

_JSON = ("args", "error", "labels", "context", "file")


@dataclass(frozen=True, slots=True)
class MaskedView:
    """The view of a caller who sees no secrets; ``marked(task)`` returns the names that a task declares secret."""

    marked: Callable[[str], frozenset[str]]

    def row(self, row: Any) -> SimpleNamespace:
        """Return the columns of a row as they are shown."""
        found = dict(row._mapping)
        marked = self.marked(found["task"])
        for name, value in found.items():
            if isinstance(value, str):
                found[name] = _masked_json(value, marked) if name in _JSON else mask_urls(value)
        return SimpleNamespace(**found)


def _masked_json(text: str, marked: frozenset[str]) -> str:
    try:
        return dumps(masked(loads(text), marked), ensure_ascii=False)
    except (ValueError, RecursionError):
        return mask_urls(text)


def shown_as_stored(column: Any) -> ColumnElement[bool]:
    """Return a condition under which masking does not change a text; it is false for some others too."""
    # Both databases fold the case of the letters of the patterns.
    return not_(or_(false(), *(column.ilike(pattern, escape="\\") for pattern in TEXT_HINTS)))
