"""What a person says of an error of one fingerprint: it is known, muted, mended, or open again. Each is an entry of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobtrail.errors import InvalidOption, NotFound
from jobtrail.job.failure import ACKNOWLEDGE, HANDLINGS, MEND, MUTE
from jobtrail.job.task import choice_option
from jobtrail.messages import Message
from jobtrail.store import events
from jobtrail.store.search import search

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.commands.service import Service

LONGEST_VERSION = 100  # characters


@dataclass(frozen=True, slots=True)
class ErrorVerdict:
    """What is said of an error.

    Attributes:
        action: acknowledge, mute, mend or reopen.
        reason: Why; an acknowledgement needs one.
        until: The end of a mute, UTC.
        version: The version of the program in which the error is mended.

    Raises:
        InvalidOption: If the action is not known, or what it needs is missing.
    """

    action: str
    reason: str | None = None
    until: datetime | None = None
    version: str | None = None

    def __post_init__(self) -> None:
        """Check what the action needs, and that nothing else is given."""
        choice_option("action", self.action, tuple(HANDLINGS))
        if (self.until is not None) != (self.action == MUTE):
            raise InvalidOption(Message("commands.error-until"))
        if (self.version is not None) != (self.action == MEND) or len(self.version or "") > LONGEST_VERSION:
            raise InvalidOption(Message("commands.error-version", most=LONGEST_VERSION))
        if self.action == ACKNOWLEDGE and not self.reason:
            raise InvalidOption(Message("commands.error-reason"))


def handle_error(service: Service, fingerprint: str, verdict: ErrorVerdict, *, actor: str) -> None:
    """Record what is said of an error; it holds until something else is said, a mute ends, or a mended error comes back.

    Args:
        service: The application.
        fingerprint: Of the error.
        verdict: What is said.
        actor: Who says it.

    Raises:
        NotFound: If no job has an error with this fingerprint.
        InvalidOption: If the end of a mute has passed.
    """
    service.make_ready()
    store = service.store

    def operation(conn: Connection) -> None:
        now = store.now()
        if not search.find(conn, f"error:{fingerprint}", now=now, limit=1).rows:
            raise NotFound(Message("queries.no-error-group", fingerprint=fingerprint))
        if verdict.until is not None and verdict.until <= now:
            raise InvalidOption(Message("commands.error-until"))
        detail = {"until": verdict.until.isoformat()} if verdict.until else None
        if verdict.version is not None:
            detail = {"version": verdict.version}
        name = HANDLINGS[verdict.action]
        events.record_action(
            conn, store.dialect, now, actor=actor, name=name, target=fingerprint, reason=verdict.reason, detail=detail
        )

    store.write(operation)
