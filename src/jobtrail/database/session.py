"""The start of a PostgreSQL session: whether a pooler is between, and the settings that jobtrail's statements rely on.

A pooler in transaction mode (pgbouncer and others) lends a server session for one transaction. What a client leaves in
it, such as a setting or a prepared statement, belongs to whoever comes next.

Nothing here imports SQLAlchemy: the beat child uses it too.
"""

from __future__ import annotations

import select
from typing import Any, NamedTuple

# A pooler makes up the process number that it gives its clients: a number that differs from the server's own means a
# pooler, and the setting is then local to this statement, so that nothing is left behind.
_START = (
    "SELECT pg_backend_pid(), pg_is_in_recovery(), "
    "set_config('default_transaction_isolation', 'read committed', {pooled})"
)
# Reported by the server at the start of a session, so looking costs nothing; pgbouncer keeps them for each client.
_REPORTED = (("DateStyle", "ISO"), ("standard_conforming_strings", "on"))
# Errors that only a shared session explains: a prepared statement that is missing, or exists already.
POOLER_ERRORS = frozenset({"26000", "42P05"})


class ServerSession(NamedTuple):
    """What a connection leads to.

    ``pooled``: a pooler in transaction mode is between. ``standby``: the server is a standby.
    """

    pooled: bool
    standby: bool


def start_session(driver: Any, pooler: bool | None) -> ServerSession:
    """Prepare a new connection, before anything else uses it.

    Args:
        driver: An open psycopg connection in autocommit.
        pooler: Whether a pooler in transaction mode is between; None to find out.

    Returns:
        What the connection leads to.

    Raises:
        psycopg.Error: If the connection is lost.
    """
    given: int = driver.info.backend_pid
    condition = f"pg_backend_pid() <> {given}" if pooler is None else str(pooler)
    (real, standby, _), *_ = driver.execute(_START.format(pooled=condition)).fetchall()
    for name, needed in _REPORTED:
        if not (driver.info.parameter_status(name) or needed).startswith(needed):
            driver.execute(f"SET {name} = {needed}")
    pooled = real != given if pooler is None else pooler
    if pooled:
        driver.prepare_threshold = None
    return ServerSession(pooled, standby)


def has_ended(driver: Any) -> bool:
    """Tell whether the server has ended an idle session: it says so on the socket. This costs no round trip."""
    if driver.closed:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([driver.fileno()], [], [], 0)[0])
    poller = select.poll()  # takes any number of a file
    poller.register(driver.fileno(), select.POLLIN)
    return bool(poller.poll(0))
