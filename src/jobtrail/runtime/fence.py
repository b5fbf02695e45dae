"""A fence: a statement in the transaction of a task function that refuses it where a newer run has begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message
from jobtrail.store import runs

if TYPE_CHECKING:
    from jobtrail.job.model import Claim


def holds(given: Any, claim: Claim) -> bool:
    """Whether a run still owns its job; true until the end of the transaction of ``given``, a Session or Connection.

    Raises:
        InvalidOption: If it is neither, or is not of SQLite or PostgreSQL.
    """
    from jobtrail.commands.transactional_submit import connection_of
    from jobtrail.commands.using import is_connection

    if hasattr(given, "run_sync") or not is_connection(given):
        raise InvalidOption(Message("commands.bad-connection", type=type(given).__name__))
    conn = connection_of(given)
    if conn.dialect.name not in {"sqlite", "postgresql"}:
        raise InvalidOption(Message("runtime.fence-database", given=conn.dialect.name))
    return runs.fence(conn, claim.id, claim.run_no)


class PlainFence:
    """The part of `Context` that guards transactions."""

    _claim: Claim

    def _fenced(self, *, held: bool) -> None:
        raise NotImplementedError

    def fence(self, connection: Any) -> None:
        """Refuse the transaction of the task function if a newer run of the job has begun.

        A process that was frozen may go on after its job was given to another one. One statement in the function's own
        transaction, in the database of the jobs, keeps it from committing after its successor: where the run owns its job no
        more, the function is left; where it does, no newer run begins before the transaction ends. Call it last, because it
        locks the row of the job (on SQLite the file) until then. Steps and durable items are guarded without it.

        Args:
            connection: SQLAlchemy Session or Connection.

        Raises:
            StopSignal: If a newer run has begun; ``except Exception`` does not catch it, and the transaction rolls back.
            InvalidOption: If ``connection`` is of another kind.

        Example:
            ```python
            with Session(engine) as session, session.begin():
                publish(session, rows)
                ctx.fence(session)
            ```
        """
        self._fenced(held=holds(connection, self._claim))
