"""Ids in addresses: what does not look like one names nothing, and the database need not be asked."""

from __future__ import annotations

from jobtrail.errors import NotFound
from jobtrail.messages import Message
from jobtrail.store.search.grammar import ID


def job_id(text: str) -> str:
    """Return the id of a job in the form in which it is stored.

    Raises:
        NotFound: if the text is not an id.
    """
    return _stored_form(text, Message("commands.no-job", job=text[:60]))


def question_id(text: str) -> str:
    """Return the id of a question in the form in which it is stored.

    Raises:
        NotFound: if the text is not an id.
    """
    return _stored_form(text, Message("commands.no-question", question=text[:60]))


def group_id(text: str) -> str:
    """Return the id of a group in the form in which it is stored.

    Raises:
        NotFound: if the text is not an id.
    """
    return _stored_form(text, Message("commands.no-group", group=text[:60]))


def _stored_form(text: str, not_found: Message) -> str:
    found = text.lower()
    if not ID.fullmatch(found):
        raise NotFound(not_found)
    return found
