"""One delivery is sent by one job: what is written before and after, so that a process may die anywhere between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import and_, insert, select, update

from jobtrail.errors import PermanentError, RetryableError
from jobtrail.job.masking import masked, masking_names
from jobtrail.job.model import new_id
from jobtrail.messages import Message, render, stored

from .channels import states
from .channels.base import NotifyChannel, OutgoingMessage, SendingFailed, scrub
from .rules import INBOX, Occurrence
from .store import FAILED, QUEUED, REPLACED, SENT, events_of, insert_unless_there
from .tables import deliveries, delivery_events, inbox

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.store import Store


MOST_TRIES = 12  # of a delivery whose jobs end without a word


class Sends(Protocol):
    """What a delivery needs of its application."""

    @property
    def store(self) -> Store:
        """The store of the application."""

    @property
    def language(self) -> str:
        """Language of the messages."""

    def secret_names(self) -> frozenset[str]:
        """The names that are marked as secret."""

    def channel(self, name: str) -> NotifyChannel | None:
        """A channel by its name; None where there is none."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of one try."""

    state: str
    perhaps_twice: bool = False


def deliver(sends: Sends, delivery: str, *, last_try: bool) -> Delivered:
    """Send one delivery, unless it is sent already.

    The inbox is written in the transaction that marks the delivery as sent. A receiver that knows ids gets the same id at
    every try. Any other channel is marked before the message leaves: a try that finds the mark sends again and says so.

    Args:
        sends: The notifications of the application.
        delivery: Id of the delivery.
        last_try: No other try of this job follows, so that another channel takes over.

    Raises:
        RetryableError: If it did not leave and another try follows.
        PermanentError: If it did not leave; another channel tells it where there is one.
    """
    store = sends.store
    with store.read() as conn:
        row = _row(conn, delivery)
        state = None if row is None else states.read(conn, row.channel)
    if row is None or state is None:
        raise PermanentError(Message("notify.no-delivery", id=delivery))
    if row.state != QUEUED:
        return Delivered(row.state, bool(row.perhaps_twice))
    if row.channel == INBOX:
        store.write(lambda conn: _into_inbox(conn, delivery, store.now()))
        return Delivered(SENT)
    channel = sends.channel(row.channel)
    if channel is None or state.state == states.DISABLED:
        code = "notify.channel-unknown" if channel is None else "notify.channel-disabled"
        gone = SendingFailed(Message(code, channel=row.channel), permanent=True)
        store.write(lambda conn: _hand_on(conn, sends, row, gone, store.now()))
        raise PermanentError(gone.why)
    return _send(sends, row, channel, last_try=last_try)


def _send(sends: Sends, row: Any, channel: NotifyChannel, *, last_try: bool) -> Delivered:
    store = sends.store
    twice = store.write(lambda conn: _begin(conn, row.id, store.now(), marked=not channel.knows_ids))
    if twice is None:
        return Delivered(SENT)
    with store.read() as conn:
        told = events_of(conn, row.id)
    message = _message(row, told, twice, sends)
    failed = attempt(channel, message)
    if failed is None:
        store.write(lambda conn: _sent(conn, row, store.now()))
        return Delivered(SENT, twice)
    over = failed.permanent or last_try
    over = store.write(lambda conn: _failed(conn, sends, row, failed, store.now(), over=over))
    # Not chained: the first error may name a secret.
    if over:
        raise PermanentError(failed.why) from None
    raise RetryableError(failed.why, delay=failed.after) from None  # type: ignore[arg-type] # a message of the catalogue, which is kept as such


def attempt(channel: NotifyChannel, message: OutgoingMessage) -> SendingFailed | None:
    """Send; an error that a channel does not know is one of the message or of the channel, and its words are scrubbed."""
    try:
        channel.send(message)
    except SendingFailed as failure:
        return failure
    except Exception as error:
        return SendingFailed(scrub(f"{type(error).__name__}: {error}", channel.secrets), uncertain=True)
    return None


def _row(conn: Connection, delivery: str) -> Any:
    return conn.execute(select(deliveries).where(deliveries.c.id == delivery)).first()


def _mine(delivery: str) -> Any:
    return and_(deliveries.c.id == delivery, deliveries.c.state == QUEUED)


def _message(row: Any, events: Sequence[Occurrence], twice: bool, sends: Sends) -> OutgoingMessage:
    names = sends.secret_names()
    with masking_names(lambda: names):
        facts = [masked(dict(one.facts), names) for one in events]
    told = tuple(
        {"kind": one.kind, "subject": one.subject, "resolved": one.ends, "at": one.at.isoformat(), "facts": shown}
        for one, shown in zip(events, facts, strict=True)
    )
    body = row.body or ""
    if twice:
        body = f"{body}\n\n{render(Message('notify.perhaps-twice'), sends.language)}"
    return OutgoingMessage(row.id, row.title or "", body, row.rule, row.due_at, told, twice)


def _into_inbox(conn: Connection, delivery: str, now: datetime) -> None:
    """The entry and the mark are one transaction, and the entry has a unique key beside."""
    row = _row(conn, delivery)
    sent = update(deliveries).where(_mine(delivery)).values(state=SENT, sent_at=now, tries=deliveries.c.tries + 1)
    if conn.execute(sent).rowcount != 1:
        return
    told = events_of(conn, delivery)
    values = {"id": new_id(), "delivery_id": delivery, "at": now, "title": row.title or "", "body": row.body or ""}
    about = {"kind": told[0].kind if told else None, "subject": told[0].subject if len(told) == 1 else None}
    conn.execute(insert_unless_there(conn, inbox), {**values, **about})


def _begin(conn: Connection, delivery: str, now: datetime, *, marked: bool) -> bool | None:
    """Note that a try begins.

    Returns:
        Whether the message may have been sent before; None if it is settled meanwhile.
    """
    row = _row(conn, delivery)
    twice = bool(row.perhaps_twice) or row.sending_at is not None
    values = {"tries": deliveries.c.tries + 1, "perhaps_twice": twice, "sending_at": now if marked else None}
    return twice if conn.execute(update(deliveries).where(_mine(delivery)).values(values)).rowcount == 1 else None


def _sent(conn: Connection, row: Any, now: datetime) -> None:
    values = {"state": SENT, "sent_at": now, "sending_at": None, "error": None}
    conn.execute(update(deliveries).where(_mine(row.id)).values(values))
    states.succeeded(conn, row.channel, now)


def _failed(conn: Connection, sends: Sends, row: Any, failure: SendingFailed, now: datetime, *, over: bool) -> bool:
    """Write what failed; True if no other try follows."""
    channel = sends.channel(row.channel)
    values: dict[str, Any] = {"sending_at": None, "error": stored(failure.why)}
    if failure.uncertain and channel is not None and not channel.knows_ids:
        values["perhaps_twice"] = True
    conn.execute(update(deliveries).where(_mine(row.id)).values(values))
    disabled = states.failed(conn, row.channel, failure, now)
    if over or disabled:
        _hand_on(conn, sends, row, failure, now)
    return over or disabled


def _hand_on(conn: Connection, sends: Sends, row: Any, failure: SendingFailed, now: datetime) -> None:
    """Let another channel tell it: the fallback, or the inbox if that had not told it anyway."""
    following = _next_channel(conn, sends, row)
    values = {"state": FAILED if following is None else REPLACED, "error": stored(failure.why), "sending_at": None}
    if conn.execute(update(deliveries).where(_mine(row.id)).values(values)).rowcount != 1 or following is None:
        return
    one = new_id()
    new = {
        "id": one, "rule": row.rule, "channel": following, "group_key": f"instead:{row.id}", "state": QUEUED,
        "created_at": now, "due_at": row.due_at, "instead_of": row.id, "title": row.title, "body": row.body,
    }  # fmt: skip
    conn.execute(insert(deliveries), new)
    told = conn.execute(select(delivery_events.c.event_id).where(delivery_events.c.delivery_id == row.id)).scalars().all()
    link = {"delivery_id": one, "rule": row.rule, "channel": following, "again": True}
    if told:
        conn.execute(insert(delivery_events), [{**link, "event_id": event} for event in told])


def _next_channel(conn: Connection, sends: Sends, row: Any) -> str | None:
    """The fallback of the channel; the inbox after that. None where all of them have failed to tell it, or told it."""
    tried = {row.channel}
    before = row
    while before.instead_of is not None:
        before = _row(conn, before.instead_of)
        if before is None:
            break
        tried.add(before.channel)
    channel = sends.channel(row.channel)
    fallback = None if channel is None else channel.fallback
    if fallback is not None and fallback not in tried:
        return fallback
    return None if INBOX in tried or _is_in_inbox(conn, row) else INBOX


def _is_in_inbox(conn: Connection, row: Any) -> bool:
    """Whether the same rule tells the same events in the inbox anyway."""
    mine = select(delivery_events.c.event_id).where(delivery_events.c.delivery_id == row.id)
    same = (delivery_events.c.rule == row.rule) & (delivery_events.c.channel == INBOX) & delivery_events.c.event_id.in_(mine)
    return conn.execute(select(delivery_events.c.event_id).where(same).limit(1)).first() is not None


def abandon(conn: Connection, sends: Sends, delivery: str, *, cancelled: bool, now: datetime) -> None:
    """The job of a delivery has ended without settling it.

    If somebody cancelled it, or too many tries died, another channel tells it. Else, as after the deaths of workers that
    are none of its fault, it gets another job; the inbox, which is the last resort, always does.
    """
    row = _row(conn, delivery)
    again = row is not None and (row.channel == INBOX or (not cancelled and row.tries < MOST_TRIES))
    if row is not None and row.state == QUEUED and again:
        conn.execute(update(deliveries).where(_mine(delivery), deliveries.c.job_id == row.job_id).values(job_id=None))
    elif row is not None and row.state == QUEUED:
        _hand_on(conn, sends, row, SendingFailed(Message("notify.job-ended", job=row.job_id)), now)
