"""What a limit allows, changed by a person while jobs run: claims from the next one on keep to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobtrail.errors import NotFound
from jobtrail.messages import Message
from jobtrail.store.limits import definitions

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.job.limits.limit import Quota
    from jobtrail.store.limits.definitions import LimitDefinition


def change_limit(
    service: Service, name: str, quota: Quota | None, *, actor: str, reason: str | None = None
) -> LimitDefinition:
    """Set what a limit allows for each key. Workers keep to it from their next claim on; what runs goes on.

    Args:
        service: The application.
        name: The limit.
        quota: What it allows; None for what the programs declare.
        actor: Who changes it, for the audit.
        reason: Why, for the audit.

    Raises:
        NotFound: If no program has declared such a limit.
    """
    service.make_ready()
    store = service.store

    def operation(conn: Connection) -> LimitDefinition | NotFound:
        now, dialect = store.now(), store.dialect
        found = definitions.change(conn, dialect, name, quota, now, actor=actor, reason=reason)
        if found is None:
            known = sorted(definitions.read_all(conn))
            return NotFound(Message("commands.no-limit", name=name, known=known))
        store.wake.need()
        return found

    answer = store.write(operation)
    if isinstance(answer, NotFound):
        raise answer
    return answer
