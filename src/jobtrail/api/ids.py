"""Ids in addresses: what does not look like one names nothing, and the database need not be asked."""

from __future__ import annotations

from jobtrail.errors import NotFound
from jobtrail.store.search.grammar import ID


def whole(text: str, what: str) -> str:
    """The id, in the form in which it is stored.

    Raises: NotFound for what is no id.
    """
    found = text.lower()
    if not ID.fullmatch(found):
        message = f"there is no {what} '{text[:60]}'"
        raise NotFound(message)
    return found
