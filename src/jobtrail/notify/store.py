"""What the loops write: events become deliveries, deliveries become jobs; every write names the state that it leaves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from json import loads
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, insert, select, update

from jobtrail.job.model import new_id

from .grouping import Grouping, OpenProblem, Problem, ReminderGroup, Target
from .rules import Occurrence
from .tables import deliveries, delivery_events, events, inbox, positions

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from .events import Announcement

# collecting: waits for more events. queued: its job will send it. sent. failed: it could not be sent.
# replaced: another channel tells it instead.
COLLECTING, QUEUED, SENT, FAILED, REPLACED = "collecting", "queued", "sent", "failed", "replaced"
AT_ONCE = 1000  # events of one turn
TURN = "turn"  # the row that only one turn at a time may hold


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A delivery whose message is to be written now, with its events."""

    id: str
    rule: str
    channel: str
    events: tuple[Occurrence, ...]
    again: bool = False
    title: str | None = None
    body: str | None = None


def insert_unless_there(conn: Connection, table: Any) -> Any:
    """An insert that leaves out a row whose key is taken."""
    if conn.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as pg_insert

        return pg_insert(table).on_conflict_do_nothing()
    return insert(table).prefix_with("OR IGNORE")


# -- positions --------------------------------------------------------------------------------------


def hold_turn(conn: Connection, now: datetime) -> None:
    """Let one turn decide at a time, also where two processes believe that they lead: the other waits for this commit."""
    conn.execute(insert_unless_there(conn, positions), {"source": TURN, "position": 0, "detail": None, "at": now})
    conn.execute(update(positions).where(positions.c.source == TURN).values(at=now))


def position(conn: Connection, source: str) -> Any:
    """The stored position of a source: (position, detail, at), or None."""
    return conn.execute(select(positions).where(positions.c.source == source)).first()


def set_position(conn: Connection, source: str, number: int, detail: str | None, now: datetime) -> None:
    """Store how far a source is read, in the transaction of what became of it."""
    values = {"position": number, "detail": detail, "at": now}
    if conn.execute(update(positions).where(positions.c.source == source).values(values)).rowcount == 0:
        conn.execute(insert(positions), {"source": source, **values})


# -- events -----------------------------------------------------------------------------------------


def waiting(conn: Connection, limit: int = AT_ONCE) -> list[Occurrence]:
    """The events that no turn has taken yet, oldest first."""
    query = select(events).where(events.c.processed_at.is_(None)).order_by(events.c.id).limit(limit)
    return [_occurrence(row) for row in conn.execute(query)]


def mark_processed(conn: Connection, taken: Sequence[Occurrence], now: datetime) -> None:
    """These events are decided about."""
    ids = [one.id for one in taken]
    conn.execute(update(events).where(events.c.id.in_(ids), events.c.processed_at.is_(None)).values(processed_at=now))


def unknown(conn: Connection, announcements: Sequence[Announcement]) -> list[Announcement]:
    """Those of these events whose key is not there yet."""
    keys = [one.key for one in announcements]
    there = set(conn.execute(select(events.c.key).where(events.c.key.in_(keys))).scalars()) if keys else set()
    return [one for one in announcements if one.key not in there]


def open_told(conn: Connection, subjects: Collection[str]) -> dict[Problem, set[Target]]:
    """For each open problem of some subjects, the rules and channels that told it."""
    if not subjects:
        return {}
    query = (
        select(events.c.kind, events.c.subject, delivery_events.c.rule, delivery_events.c.channel)
        .join(delivery_events, delivery_events.c.event_id == events.c.id)
        .where(events.c.open, events.c.subject.in_(sorted(subjects)))
    )
    found: dict[Problem, set[Target]] = {}
    for row in conn.execute(query):
        found.setdefault((row.kind, row.subject), set()).add((row.rule, row.channel))
    return found


def open_problems(conn: Connection, rules: Collection[str]) -> list[OpenProblem]:
    """The open problems that these rules told, once for each channel."""
    if not rules:
        return []
    query = (
        select(delivery_events.c.rule, delivery_events.c.channel, events.c.id, events.c.processed_at)
        .join(events, events.c.id == delivery_events.c.event_id)
        .where(events.c.open, delivery_events.c.rule.in_(sorted(rules)), ~delivery_events.c.again)
        .order_by(events.c.id)
        .limit(5 * AT_ONCE)
    )
    return [OpenProblem(row.rule, row.channel, row.id, row.processed_at) for row in conn.execute(query)]


def open_of_kinds(conn: Connection, kinds: Collection[str], *, before: int | None = None) -> list[Occurrence]:
    """The newest open problems of some kinds, at most `AT_ONCE`, with numbers below ``before``."""
    query = select(events).where(events.c.open, events.c.kind.in_(sorted(kinds))).order_by(events.c.id.desc())
    if before is not None:
        query = query.where(events.c.id < before)
    return [_occurrence(row) for row in conn.execute(query.limit(AT_ONCE))]


def close_silently(conn: Connection, ids: Collection[int]) -> None:
    """These problems are over, and nobody is told: what they were about is not there any more."""
    conn.execute(update(events).where(events.c.id.in_(sorted(ids))).values(open=False))


def _occurrence(row: Any) -> Occurrence:
    return Occurrence(row.id, row.kind, row.subject, bool(row.resolved), loads(row.facts), row.at)


# -- deliveries -------------------------------------------------------------------------------------


def apply(conn: Connection, grouping: Grouping, now: datetime) -> None:
    """Write what `grouping.group` decided: deliveries that collect, what they tell, and what is open."""
    if grouping.told:
        collecting = _collecting(conn, grouping, now)
        rows = [
            {
                "delivery_id": collecting[one.rule, one.channel],
                "event_id": one.event,
                "rule": one.rule,
                "channel": one.channel,
                "again": False,
            }
            for one in grouping.told
        ]
        conn.execute(insert_unless_there(conn, delivery_events), rows)
    for kind, subject in grouping.closes:
        over = and_(events.c.open, events.c.kind == kind, events.c.subject == subject)
        conn.execute(update(events).where(over).values(open=False))
    if grouping.opens:
        conn.execute(update(events).where(events.c.id.in_(grouping.opens)).values(open=True))


def _collecting(conn: Connection, grouping: Grouping, now: datetime) -> dict[Target, str]:
    """The delivery that collects for each rule and channel; a new one where there is none."""
    query = select(deliveries.c.rule, deliveries.c.channel, deliveries.c.id).where(deliveries.c.state == COLLECTING)
    found = {(row.rule, row.channel): row.id for row in conn.execute(query)}
    first = {(one.rule, one.channel): one.event for one in reversed(grouping.told)}
    new = []
    for (rule, channel), due in grouping.due.items():
        if (rule, channel) not in found:
            found[rule, channel] = new_id()
            new.append(_row(found[rule, channel], rule, channel, f"event:{first[rule, channel]}", COLLECTING, now, due))
    if new:
        conn.execute(insert(deliveries), new)
    return found


def _row(one: str, rule: str, channel: str, key: str, state: str, now: datetime, due: datetime) -> dict[str, Any]:
    return {
        "id": one, "rule": rule, "channel": channel, "group_key": key, "state": state, "created_at": now, "due_at": due,
    }  # fmt: skip


def add_reminder(conn: Connection, reminder: ReminderGroup, now: datetime) -> None:
    """Make the delivery of a reminder, unless it is there."""
    one = new_id()
    row = _row(one, reminder.rule, reminder.channel, reminder.key, QUEUED, now, now)
    if conn.execute(insert_unless_there(conn, deliveries).values(row).returning(deliveries.c.id)).first() is None:
        return
    told = {"delivery_id": one, "rule": reminder.rule, "channel": reminder.channel, "again": True}
    conn.execute(insert(delivery_events), [{**told, "event_id": event} for event in reminder.events])


def has_group(conn: Connection, rule: str, channel: str, key: str) -> bool:
    """Whether a delivery of this key is there."""
    same = (deliveries.c.rule == rule) & (deliveries.c.channel == channel) & (deliveries.c.group_key == key)
    return conn.execute(select(deliveries.c.id).where(same)).first() is not None


def add_entry(conn: Connection, title: str, body: str, now: datetime) -> None:
    """Write a message into the inbox that is no delivery."""
    conn.execute(insert(inbox), {"id": new_id(), "delivery_id": None, "at": now, "title": title, "body": body})


def due(conn: Connection, now: datetime, limit: int = 100) -> list[DueDelivery]:
    """Deliveries whose window is over, and those that are to be sent at once and have no job yet."""
    over = and_(deliveries.c.state == COLLECTING, deliveries.c.due_at <= now)
    jobless = and_(deliveries.c.state == QUEUED, deliveries.c.job_id.is_(None))
    query = select(deliveries)
    rows = [row for where in (over, jobless) for row in conn.execute(query.where(where).order_by(deliveries.c.id).limit(limit))]
    return [
        DueDelivery(
            row.id, row.rule, row.channel, tuple(events_of(conn, row.id)), row.group_key.startswith("again:"), row.title,
            row.body,
        )
        for row in rows
    ]  # fmt: skip


def events_of(conn: Connection, delivery: str) -> list[Occurrence]:
    """The events that a delivery tells, in the order of the queue."""
    query = (
        select(events)
        .join(delivery_events, delivery_events.c.event_id == events.c.id)
        .where(delivery_events.c.delivery_id == delivery)
        .order_by(events.c.id)
    )
    return [_occurrence(row) for row in conn.execute(query)]


def queue(conn: Connection, one: DueDelivery, *, title: str, body: str, job_id: str) -> bool:
    """Give a delivery its words and its job; False where another turn did so."""
    mine = and_(deliveries.c.id == one.id, deliveries.c.state.in_((COLLECTING, QUEUED)), deliveries.c.job_id.is_(None))
    values = {"state": QUEUED, "title": title, "body": body, "job_id": job_id, "events": len(one.events)}
    return conn.execute(update(deliveries).where(mine).values(values)).rowcount == 1


def is_idle(conn: Connection, now: datetime) -> bool:
    """Whether no event waits for a decision and no delivery for its job."""
    if conn.execute(select(events.c.id).where(events.c.processed_at.is_(None)).limit(1)).first() is not None:
        return False
    over = and_(deliveries.c.state == COLLECTING, deliveries.c.due_at <= now)
    jobless = and_(deliveries.c.state == QUEUED, deliveries.c.job_id.is_(None))
    return all(conn.execute(select(deliveries.c.id).where(where).limit(1)).first() is None for where in (over, jobless))


def queued_jobs(conn: Connection, before: datetime) -> dict[str, str]:
    """The job of each delivery that is due since a moment and not sent yet, by delivery."""
    waiting_ones = (deliveries.c.state == QUEUED) & deliveries.c.job_id.is_not(None) & (deliveries.c.due_at < before)
    query = select(deliveries.c.id, deliveries.c.job_id).where(waiting_ones)
    return {row.id: row.job_id for row in conn.execute(query.limit(AT_ONCE))}


# -- retention --------------------------------------------------------------------------------------


def remove_old(conn: Connection, before: datetime, limit: int = 1000) -> int:
    """Remove what was settled before a moment, a chunk at a time; what is open or not sent stays.

    Returns:
        How many rows were removed.
    """
    settled = select(deliveries.c.id).where(
        deliveries.c.created_at < before, deliveries.c.state.in_((SENT, FAILED, REPLACED))
    )
    ids = list(conn.execute(settled.order_by(deliveries.c.created_at).limit(limit)).scalars())
    conn.execute(delete(delivery_events).where(delivery_events.c.delivery_id.in_(ids)))
    conn.execute(delete(deliveries).where(deliveries.c.id.in_(ids)))
    told = select(delivery_events.c.event_id)
    over = (events.c.at < before) & events.c.processed_at.is_not(None) & ~events.c.open & events.c.id.not_in(told)
    numbers = list(conn.execute(select(events.c.id).where(over).order_by(events.c.id).limit(limit)).scalars())
    conn.execute(delete(events).where(events.c.id.in_(numbers)))
    entries = list(conn.execute(select(inbox.c.id).where(inbox.c.at < before).order_by(inbox.c.at).limit(limit)).scalars())
    conn.execute(delete(inbox).where(inbox.c.id.in_(entries)))
    return len(ids) + len(numbers) + len(entries)


# -- deleted jobs ------------------------------------------------------------------------------------


def forget_jobs(conn: Connection, ids: Collection[str]) -> None:
    """Remove the events of jobs, and the messages that tell of them; what has left the house stays there."""
    own = set(conn.execute(select(events.c.id).where(events.c.subject.in_(sorted(ids)))).scalars())
    if not own:
        return
    told = delivery_events.c.event_id.in_(own)
    messages = set(conn.execute(select(delivery_events.c.delivery_id).where(told)).scalars())
    conn.execute(delete(delivery_events).where(told))
    conn.execute(delete(inbox).where(inbox.c.delivery_id.in_(messages)))
    conn.execute(delete(deliveries).where(deliveries.c.id.in_(messages), deliveries.c.state != COLLECTING))
    conn.execute(delete(events).where(events.c.id.in_(own)))
