"""How channels are: their failures, when one is given up, and that it works again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from jobtrail.job.model import new_id
from jobtrail.messages import Message, stored
from jobtrail.notify.store import insert_unless_there
from jobtrail.notify.tables import channels, inbox

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .base import SendingFailed

ENABLED, DISABLED = "enabled", "disabled"
REFUSALS = 3  # permanent failures in a row after which a channel is disabled
FAILURES, FAILING_FOR = 10, timedelta(hours=24)  # as many failures in a row, over so long a time, disable it too


@dataclass(frozen=True, slots=True)
class ChannelState:
    """How a channel is, as it is stored.

    Attributes:
        name: Its name.
        state: "enabled" or "disabled".
        message: Why it is disabled.
        failures: Failed tries since the last message that left.
        failing_since: When the first of them was.
        last_error: What the last of them said.
        last_sent_at: When the last message left.
    """

    name: str
    state: str = ENABLED
    message: str | None = None
    failures: int = 0
    refusals: int = 0
    failing_since: datetime | None = None
    last_error: str | None = None
    last_sent_at: datetime | None = None


def gives_up(failures: int, refusals: int, failing_for: timedelta) -> bool:
    """Return whether a channel is disabled: it refuses again and again, or it has failed for a day.

    Args:
        failures: Failed tries in a row.
        refusals: Those of them, the last ones in a row, that another try could not help.
        failing_for: Time since the first of them.
    """
    return refusals >= REFUSALS or (failures >= FAILURES and failing_for >= FAILING_FOR)


def read(conn: Connection, name: str) -> ChannelState:
    """How a channel is; one that was never used is enabled."""
    row = conn.execute(select(channels).where(channels.c.name == name)).first()
    return ChannelState(name) if row is None else _state(row)


def read_all(conn: Connection) -> dict[str, ChannelState]:
    """How all channels are that were used."""
    return {row.name: _state(row) for row in conn.execute(select(channels))}


def _state(row: Any) -> ChannelState:
    return ChannelState(
        row.name, row.state, row.message, row.failures, row.refusals, row.failing_since, row.last_error, row.last_sent_at
    )


def succeeded(conn: Connection, name: str, now: datetime) -> None:
    """A message left: the channel works."""
    values = {
        "state": ENABLED, "message": None, "failures": 0, "refusals": 0, "failing_since": None, "last_error": None,
        "last_sent_at": now, "changed_at": now,
    }  # fmt: skip
    _write(conn, name, values, now)


def enable(conn: Connection, name: str, now: datetime) -> None:
    """Use a channel again, whatever it did."""
    values = {"state": ENABLED, "message": None, "failures": 0, "refusals": 0, "failing_since": None}
    _write(conn, name, {**values, "changed_at": now}, now)


def failed(conn: Connection, name: str, failure: SendingFailed, now: datetime) -> bool:
    """A try failed: count it, and disable the channel where it is given up; people read of that in the inbox.

    Returns:
        True if the channel was disabled now.
    """
    before = read(conn, name)
    failures = before.failures + 1
    refusals = before.refusals + 1 if failure.permanent else 0
    since = before.failing_since or now
    why = stored(failure.why)
    values = {"failures": failures, "refusals": refusals, "failing_since": since, "last_error": why, "changed_at": now}
    _write(conn, name, values, now)
    if before.state == DISABLED or not gives_up(failures, refusals, now - since):
        return False
    message = Message("notify.disabled", channel=name, failures=failures, why=failure.why)
    guarded = update(channels).where(channels.c.name == name, channels.c.state == ENABLED)
    if conn.execute(guarded.values(state=DISABLED, message=message.stored)).rowcount != 1:
        return False
    title, body = Message("notify.disabled-title", channel=name), message
    row = {"id": new_id(), "delivery_id": None, "at": now, "title": str(title), "body": str(body)}
    conn.execute(insert(inbox), {**row, "kind": "channel.disabled", "subject": name})
    return True


def _write(conn: Connection, name: str, values: dict[str, Any], now: datetime) -> None:
    conn.execute(insert_unless_there(conn, channels), {"name": name, "state": ENABLED, "changed_at": now})
    conn.execute(update(channels).where(channels.c.name == name).values(values))
