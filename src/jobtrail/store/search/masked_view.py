"""What a caller who sees masked values only may search: a filter is compared with these, never with a secret."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps, loads
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, not_, or_

from jobtrail.job.masking import STEMS, mask_text, masked

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement

_JSON = ("args", "error", "labels", "context", "file")


@dataclass(frozen=True, slots=True)
class MaskedView:
    """The view of a caller who sees no secrets.

    Attributes:
        marked: returns the names that are secret for a task, beside those that always are.
        names: these names of all tasks.
    """

    marked: Callable[[str], frozenset[str]]
    names: frozenset[str] = frozenset()

    def row(self, row: Any) -> SimpleNamespace:
        """Return the columns of a row as they are shown."""
        found = dict(row._mapping)
        marked = self.marked(found["task"])
        for name, value in found.items():
            if isinstance(value, str):
                found[name] = _masked_json(value, marked) if name in _JSON else mask_text(value, marked)
        return SimpleNamespace(**found)

    def shown_as_stored(self, column: Any) -> ColumnElement[bool]:
        """Return a condition under which masking does not change a text; it is false for some others too."""
        behind_names = and_(
            or_(column.contains("="), column.contains(":"), column.contains(" ")),
            or_(*(column.icontains(name, autoescape=True) for name in (*STEMS, *sorted(self.names)))),
        )
        return not_(or_(column.like("%://%@%"), behind_names))


def _masked_json(text: str, marked: frozenset[str]) -> str:
    try:
        return dumps(masked(loads(text), marked), ensure_ascii=False)
    except (ValueError, RecursionError):
        return mask_text(text, marked)
