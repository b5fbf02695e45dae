"""The claim of jobs that have a limit: exact over all workers, fair between keys, at a cost that blocked jobs do not raise.

Jobs with the same keys wait in lanes, one for each priority; an index goes from lane to lane, so however many jobs of a
used-up key wait, they are one step. What runs is counted from the jobs themselves: a place is given back by whatever ends,
hands back or recovers a run, without a write of its own. Two claims cannot both see the last place: on SQLite there is one
writer, on PostgreSQL a claim holds a lock for each key until its commit and counts after it has it.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy import text as sql

from jobtrail.database.dialects import CLAIMED
from jobtrail.database.tables import LIMITED, jobs, limit_starts
from jobtrail.database.types import from_micros, to_micros
from jobtrail.job.limits.allotment import Lane, allot, next_look, waits_for_more_than_time
from jobtrail.job.limits.limit import read_keys
from jobtrail.job.limits.starts import Starts
from jobtrail.job.model import Claim

from . import lanes
from .use import read_use, with_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.database.dialects import Dialect
    from jobtrail.job.limits.allotment import Key, LimitUse

MOST_LANES = 1000  # that one claim looks at
LOOK_EVERY = 5.0  # seconds between two looks whether there is a job with a limit, where no task here has one
PATIENCE = 25  # tries for the keys of one job
CONTENDED = (0.002, 0.01)  # seconds until a key is tried again that another claim holds
_JOBS = jobs.name
_ANY = select(jobs.c.id).where(sql(LIMITED)).limit(1)
_CHANGES = "status = 'running', run_no = run_no + 1, attempt = attempt + 1, worker = {worker}, started_at = {now}"
_GIVEN = ", ".join((*CLAIMED, "limits", "priority", "run_at"))
_SHARE_SQLITE = (
    f"SELECT * FROM (SELECT id FROM {_JOBS} WHERE {LIMITED} AND queue = ? AND limits = ? AND priority = ? AND run_at <= ? "  # noqa: S608 - constants
    "ORDER BY run_at, id LIMIT ?)"
)
_CLAIM_SQLITE = f"UPDATE {_JOBS} SET {_CHANGES.format(worker='?', now='?')} WHERE id IN ({{shares}}) RETURNING {_GIVEN}"  # noqa: S608 - constants
SHARES_AT_ONCE = 50  # lanes of one statement; SQLite joins 500
_CLAIM_POSTGRESQL = f"""
WITH due AS MATERIALIZED (
    SELECT found.id
    FROM unnest(%(keys)s::text[], %(priorities)s::smallint[], %(shares)s::integer[]) AS lane(keys, priority, share)
    CROSS JOIN LATERAL (
        SELECT id FROM {_JOBS} AS job
        WHERE {LIMITED} AND queue = %(queue)s AND limits = lane.keys AND job.priority = lane.priority AND run_at <= %(now)s
        ORDER BY run_at, id LIMIT lane.share FOR UPDATE SKIP LOCKED
    ) AS found
)
UPDATE {_JOBS} AS job SET {_CHANGES.format(worker="%(worker)s", now="%(now)s")}
FROM due WHERE job.id = due.id RETURNING job.{_GIVEN}
"""  # noqa: S608 - constants
_TRY_LOCKS = "SELECT pg_try_advisory_xact_lock(number) FROM unnest(%s::bigint[]) WITH ORDINALITY AS lock(number, place) ORDER BY place"
_STARTS = ("name", "key", "used", "at")
_STARTS_AGAIN = "ON CONFLICT (name, key) DO UPDATE SET used = excluded.used, at = excluded.at"


class LimitedClaims:
    """The claims of one worker's jobs that have a limit.

    Args:
        declared: Whether a task that is known here has a limit; else the store is asked now and then.
        clock: The database's time, read again when the keys are locked: a run starts after the ends that were counted.
    """

    def __init__(self, declared: Callable[[], bool], clock: Callable[[], datetime] | None = None) -> None:
        self._declared = declared
        self._clock = clock
        self._looked_at = float("-inf")
        self._turn = 0
        self._served: dict[str, int] = {}
        self._after: dict[str, str] = {}
        self._last_keys: set[Key] = set()
        self._mine: set[str] = set()
        self.in_use = False
        self.due = False  # whether, after the last claim, a job is due that no rate holds
        self.next_at: datetime | None = None  # when a blocked job may start for time alone

    @property
    def look_due(self) -> bool:
        """Whether it is not known any more if there are limits at all."""
        return time.monotonic() - self._looked_at >= LOOK_EVERY

    def look(self, conn: Connection) -> None:
        """Look whether a limited job waits anywhere, or a task here has a limit."""
        self._looked_at = time.monotonic()
        self.in_use = self._declared() or conn.execute(_ANY).first() is not None

    def claim(
        self, conn: Connection, wants: Sequence[tuple[str, int]], room: int, worker: str, now: datetime, *, dialect: Dialect
    ) -> list[Claim]:
        """Hand out up to ``room`` due jobs of these queues whose limits allow it.

        Args:
            conn: The transaction.
            wants: Queues, and how many jobs of each.
            room: How many in all.
            worker: Id of the worker.
            now: Time of the database.
            dialect: The dialect of the database.
        """
        self._turn += 1
        self.next_at, self.due = None, False
        keys = KeyLocks(conn, dialect)
        keys.take(self._last_keys)
        self._last_keys = set()
        claims: list[Claim] = []
        for queue, free in wants:
            if room > 0:
                found = self._claim_of(queue, min(free, room), keys, worker, now)
                claims += found
                room -= len(found)
        self._mine.update(one.id for one in claims)
        return claims

    @property
    def places(self) -> int:
        """How many places this worker's runs hold."""
        return len(self._mine)

    def ended(self, job_ids: Iterable[str]) -> None:
        """These runs have ended, with or without a limit."""
        self._mine.difference_update(job_ids)

    def _claim_of(self, queue: str, room: int, keys: KeyLocks, worker: str, now: datetime) -> list[Claim]:
        conn, dialect = keys.conn, keys.dialect
        waiting, use = self._look_at_lanes(conn, queue)
        if not waiting:
            return []
        use = with_starts(conn, use, _keys(waiting))
        shares = allot(waiting, room, use, now, self._served)
        wanted = {key for lane in shares for key in use.limiting(lane.keys)}
        if not keys.have(wanted):
            if not keys.take(wanted):
                self._look_at(now + timedelta(seconds=random.uniform(*CONTENDED)))  # noqa: S311 - jitter
            use = read_use(conn, _keys(waiting))
            ours = [lane for lane in waiting if keys.have(use.limiting(lane.keys))]
            shares = allot(ours, room, use, now, self._served)
        if sum(shares.values()) < room:
            self._look_at(next_look(waiting, use, now))
            self.due = self.due or waits_for_more_than_time(waiting, use, now)
        if self._clock is not None:
            now = max(now, self._clock())
        rows = _hand_out(conn, dialect, queue, shares, worker, now) if shares else []
        taken = Counter(row[len(CLAIMED)] for row in rows)
        _start(conn, dialect, use, taken, now)
        self._last_keys.update(key for text in taken for key in use.limiting(text))
        self._serve(taken)
        return [Claim(*(*row[: len(CLAIMED)], now, row[-1])) for row in rows]

    def _look_at_lanes(self, conn: Connection, queue: str) -> tuple[list[Lane], LimitUse]:
        """Lanes of a queue; where there are more than one look takes, the next look goes on behind them."""
        found, use = lanes.of_queue(conn, queue, MOST_LANES, after=self._after.get(queue, ""))
        self._after[queue] = found[-1].keys if len(found) == MOST_LANES else ""
        return found, use

    def _look_at(self, moment: datetime | None) -> None:
        if moment is not None and (self.next_at is None or moment < self.next_at):
            self.next_at = moment

    def _serve(self, taken: Iterable[str]) -> None:
        self._served.update(dict.fromkeys(taken, self._turn))
        if len(self._served) > 10 * MOST_LANES:
            self._served = {text: turn for text, turn in self._served.items() if turn > self._turn - MOST_LANES}


def admit(conn: Connection, dialect: Dialect, text: str, now: datetime) -> bool:
    """Take the places of one job that is begun by its id; False if a limit blocks it or another claim keeps its keys."""
    keys = KeyLocks(conn, dialect)
    wanted = read_keys(text).items()
    for _ in range(PATIENCE):
        if keys.take(wanted):
            break
        time.sleep(CONTENDED[0])
    use = read_use(conn, keys.wanted)
    if not keys.have(use.limiting(text)) or use.blocking(text, now) is not None:
        return False
    _start(conn, dialect, use, {text: 1}, now)
    return True


class KeyLocks:
    """The keys that a claim has for itself until its commit. A claim that does not get one leaves it to the other and comes back."""

    def __init__(self, conn: Connection, dialect: Dialect) -> None:
        self.conn, self.dialect = conn, dialect
        self._locks = dialect.name == "postgresql"  # on SQLite the write lock is held, so nobody else claims
        self.wanted: set[Key] = set()
        self._held: set[Key] = set()

    def take(self, keys: Iterable[Key]) -> bool:
        """Try to lock keys, sorted; False if another claim holds one of them."""
        missing = sorted(set(keys) - self._held)
        self.wanted.update(missing)
        if not missing:
            return True
        if self._locks:
            got = self.conn.exec_driver_sql(_TRY_LOCKS, ([_number(key) for key in missing],)).scalars().all()
            self._held.update(key for key, locked in zip(missing, got, strict=True) if locked)
            return all(got)
        return True

    def have(self, keys: Iterable[Key]) -> bool:
        """Whether all of these are locked."""
        return not self._locks or self._held.issuperset(keys)


def _keys(waiting: Iterable[Lane]) -> set[Key]:
    return {key for lane in waiting for key in read_keys(lane.keys).items()}


def _number(key: Key) -> int:
    """The number of a key's lock."""
    digest = hashlib.blake2b("\0".join(("jobtrail.limit", *key)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _hand_out(
    conn: Connection, dialect: Dialect, queue: str, shares: Mapping[Lane, int], worker: str, now: datetime
) -> list[tuple[Any, ...]]:
    """Claim each lane's share: rows of `CLAIMED`, keys, priority, due time; most urgent first, then oldest due."""
    if dialect.name == "postgresql":
        given = {
            "keys": [lane.keys for lane in shares], "priorities": [lane.priority for lane in shares],
            "shares": list(shares.values()), "queue": queue, "worker": worker, "now": now,
        }  # fmt: skip
        found = conn.exec_driver_sql(_CLAIM_POSTGRESQL, given).all()
        rows = [(str(row[0]), *row[1:12], row[12] and str(row[12]), *row[13:]) for row in found]
    else:
        at, found = to_micros(now), []
        lots = [(queue, lane.keys, lane.priority, at, share) for lane, share in shares.items()]
        for some in (lots[begin : begin + SHARES_AT_ONCE] for begin in range(0, len(lots), SHARES_AT_ONCE)):
            statement = _CLAIM_SQLITE.format(shares=" UNION ALL ".join([_SHARE_SQLITE] * len(some)))
            found += conn.exec_driver_sql(statement, (worker, at, *chain.from_iterable(some))).all()
        rows = [(*row[:-1], from_micros(row[-1])) for row in found]
    return sorted(rows, key=lambda row: (row[-2], row[-1], row[0]))


def _start(conn: Connection, dialect: Dialect, use: LimitUse, taken: Mapping[str, int], now: datetime) -> None:
    """Note the starts of keys that have a rate."""
    started: Counter[Key] = Counter()
    for text, number in taken.items():
        for key in use.limiting(text):
            started[key] += number
    rows = [
        (*key, use.starts.get(key, Starts()).with_started(use.quotas[key[0]], number, now).to_json(), now)
        for key, number in sorted(started.items()) if use.quotas[key[0]].rate is not None
    ]  # fmt: skip
    if rows:
        dialect.insert_many(conn, limit_starts, _STARTS, rows, _STARTS_AGAIN)
