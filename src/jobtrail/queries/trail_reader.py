"""One reader of the trail: each line once, those too that become visible behind later ones."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from jobtrail.database.tables import events
from jobtrail.store import events as trail

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.store.events import Event

OVERLAP = timedelta(seconds=10)  # for so long a transaction may stay open before its lines are missed
AT_ONCE = 1_000
KNOWN = 2_000  # lines before the beginning that are looked at for gaps


class TrailReader:
    """Begins behind the line ``after``, or behind the newest one.

    Numbers are given to lines before they are committed, so line 2 may be seen before line 1. What lies behind a gap is
    remembered for `OVERLAP`, and the gaps are looked at again until then.
    """

    def __init__(self, after: int | None = None) -> None:
        self.high = after
        self._begun = False
        self._floor = 0
        self._seen: dict[int, datetime] = {}

    def read(self, conn: Connection, now: datetime, *, limit: int = AT_ONCE) -> list[Event]:
        """The lines that were not given yet, in the order of their numbers as far as they are known; ``now`` by the store's clock."""
        if not self._begun:
            self._begin(conn, self.high)
        late = self._late(conn)
        new = trail.after(conn, self.high or 0, limit=limit)
        self._remember(((line.id, line.at) for line in (*late, *new)), now)
        return sorted((*late, *new), key=lambda line: line.id)

    def _begin(self, conn: Connection, after: int | None) -> None:
        """Lines around the beginning that are there now are none of ours; what appears between them later is."""
        high = newest(conn) if after is None else after
        known = select(events.c.id, events.c.at).where(events.c.id > high - KNOWN, events.c.id <= high)
        self._seen = {row.id: row.at for row in conn.execute(known)}
        self._floor = min(self._seen, default=high + 1) - 1
        self.high, self._begun = high, True

    def _late(self, conn: Connection) -> list[Event]:
        high = self.high or 0
        if high - self._floor <= len(self._seen):
            return []
        there = select(events.c.id).where(events.c.id > self._floor, events.c.id <= high)
        missed = [number for number in conn.execute(there).scalars() if number not in self._seen]
        return trail.by_ids(conn, missed[:AT_ONCE]) if missed else []

    def _remember(self, lines: Iterable[tuple[int, datetime]], now: datetime) -> None:
        self._seen |= dict(lines)
        self.high = max(self._seen, default=self.high or 0)
        old = [number for number, at in self._seen.items() if at < now - OVERLAP]
        if old:
            # Up to the newest old line nothing is waited for any more.
            self._floor = max(self._floor, *old)
            self._seen = {number: at for number, at in self._seen.items() if number > self._floor}


def newest(conn: Connection) -> int:
    """The number of the newest line, 0 where there is none."""
    return int(conn.execute(select(func.max(events.c.id))).scalar() or 0)


def missed_since(conn: Connection, after: int, *, limit: int = AT_ONCE) -> list[Event] | None:
    """What came behind a line, and what stands closely before it, which may have become visible later: some may be known.

    None where it cannot be said: more than ``limit`` lines came, or there never was such a line.
    """
    if after > newest(conn):
        return None
    found = trail.after(conn, after, limit=limit + 1)
    if len(found) > limit:
        return None
    last = conn.execute(select(events.c.at).where(events.c.id == after)).scalar()
    if last is None:
        return found if after == 0 else _without(conn, after, found)
    close = select(events.c.id).where(events.c.id < after, events.c.id > after - limit, events.c.at >= last - OVERLAP)
    return [*trail.by_ids(conn, list(conn.execute(close.order_by(events.c.id)).scalars())), *found]


def _without(conn: Connection, after: int, found: list[Event]) -> list[Event] | None:
    """The line itself is gone: if older ones are there it was a number that was never used, else the trail was pruned."""
    older = conn.execute(select(events.c.id).where(events.c.id < after).limit(1)).first()
    return found if older is not None else None
