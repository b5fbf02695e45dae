"""`Notifier`: the notifications of one application. Each of its turns can be called by hand; loops repeat them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.commands.using import NOTHING
from jobtrail.errors import InvalidOption, NotFound
from jobtrail.job.masking import masking_names
from jobtrail.job.model import new_id
from jobtrail.messages import Message, render
from jobtrail.queries.monitoring import conditions, trail_window
from jobtrail.queries.monitoring.trail_window import TrailPosition

from . import deliver, sources, store, texts
from .channels import states
from .channels.base import NotifyChannel, OutgoingMessage, SendingFailed
from .events import announce_all
from .grouping import group, reminders
from .rules import INBOX, AlertRule, Occurrence
from .store import DueDelivery

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.commands.service import Service
    from jobtrail.job.task import Tasks
    from jobtrail.store import Store

TRAIL = "trail"
CONDITIONS_EVERY = timedelta(seconds=5)
CLEAN_EVERY = timedelta(hours=1)
KEPT = timedelta(days=90)
PATIENCE = timedelta(seconds=30)  # a job of ours that ended without settling its delivery is looked for after this time
_log = logging.getLogger("jobtrail.notify")


class NotifiedApplication(Protocol):
    """What notifications need of the application that they belong to."""

    store: Store
    service: Service

    @property
    def tasks(self) -> Tasks:
        """All tasks by name."""

    def make_ready(self) -> None:
        """Create or upgrade the tables where that is automatic."""


@dataclass(frozen=True, slots=True)
class NotifyTurn:
    """What one turn did: events that were read, decided about, and jobs that were submitted."""

    read: int = 0
    decided: int = 0
    submitted: int = 0


@dataclass(slots=True)
class _TurnMemory:
    """What one process remembers between turns; all of it may be forgotten."""

    lines: set[int] = field(default_factory=set)
    looked_at: datetime | None = None
    cleaned_at: datetime | None = None


class Notifier:
    """Rules, channels and turns of one application; ``jobs.notify``.

    Args:
        jobs: The application.
        rules: All rules.
        channels: Channels by name, those of plug-ins included.
        language: Language of the messages: "en" or "ru".
        kept: How long deliveries, told events and the inbox are kept.

    Raises:
        InvalidOption: If a rule or a fallback names a channel that does not exist.
    """

    def __init__(
        self,
        jobs: NotifiedApplication,
        rules: Sequence[AlertRule],
        channels: Mapping[str, NotifyChannel],
        *,
        language: str = "en",
        kept: timedelta = KEPT,
    ) -> None:
        self.jobs = jobs
        self.rules = tuple(rules)
        self.channels = dict(channels)
        self.language = language
        self._kept = kept
        self._memory = _TurnMemory()
        self._by_name = {rule.name: rule for rule in self.rules}
        self._check()

    def _check(self) -> None:
        known = [INBOX, *sorted(self.channels)]
        for rule in self.rules:
            for channel in rule.channels:
                if channel not in known:
                    raise InvalidOption(Message("notify.rule-channel", rule=rule.name, channel=channel, known=known))
        if len(self._by_name) < len(self.rules):
            raise InvalidOption(Message("notify.two-rules", names=[rule.name for rule in self.rules]))
        for name, one in self.channels.items():
            if one.fallback is not None and (one.fallback not in known or one.fallback == name):
                raise InvalidOption(Message("notify.bad-fallback", channel=name, fallback=one.fallback, known=known))

    @property
    def store(self) -> Store:
        """The store of the application."""
        return self.jobs.store

    def channel(self, name: str) -> NotifyChannel | None:
        """A channel by its name; None where there is none, and for the inbox, which is no way out."""
        return self.channels.get(name)

    # -- turns ---------------------------------------------------------------------------------------

    def turn(self) -> NotifyTurn:
        """Read the sources, decide what is told, and submit the jobs that tell it. One turn of the loop."""
        self.jobs.make_ready()
        now = self.store.now()
        read = self.read_trail(now)
        if self._memory.looked_at is None or now - self._memory.looked_at >= CONDITIONS_EVERY:
            self._memory.looked_at = now
            read += self.read_conditions(now)
            self.store.write(lambda conn: store.hold_turn(conn, now))  # the ping goes out only while turns are noted
            self._abandon(now)
            self._remind(now)
        decided, submitted = self.decide(now)
        if self._memory.cleaned_at is None or now - self._memory.cleaned_at >= CLEAN_EVERY:
            self._clean(now)
        return NotifyTurn(read, decided, submitted)

    def _wanted(self, kind: str) -> bool:
        return any(rule.wants(kind) for rule in self.rules)

    def read_trail(self, now: datetime) -> int:
        """Read the trail behind the stored position, and store what rules may tell together with the new position.

        Returns:
            Number of events that were announced, also of those that were there already.
        """
        read = 0
        while True:
            with self.store.read() as conn:
                row = store.position(conn, TRAIL)
                if row is None:
                    beginning = trail_window.begin(conn, now)
                    break
                position = TrailPosition.from_json(row.detail)
                lines, following = trail_window.read(conn, position, now, seen=self._memory.lines)
                found = sources.from_trail(conn, lines, self._wanted)
            if lines or not _is_settled(position, following):
                self.store.write(partial(self._keep_trail, found=found, position=following, now=now))
            self._memory.lines = {number for number in (*self._memory.lines, *(line.id for line in lines)) if number > following.floor}
            read += len(found)
            if len(lines) < trail_window.AT_ONCE:
                return read
        self.store.write(partial(self._keep_trail, found=[], position=beginning, now=now))
        return 0

    @staticmethod
    def _keep_trail(conn: Connection, found: Any, position: TrailPosition, now: datetime) -> None:
        announce_all(conn, found)
        store.set_position(conn, TRAIL, position.floor, position.to_json(), now)

    def read_conditions(self, now: datetime) -> int:
        """Announce what holds now and no line of the trail tells.

        Returns:
            Number of conditions that hold, also of those that were announced before.
        """
        with self.store.read() as conn:
            begun, last = store.position(conn, "begun"), store.position(conn, store.TURN)
            looked = now if last is None else last.at
            found = [] if begun is None else sources.from_conditions(conn, self.rules, begun.at, looked, now)
            new = store.unknown(conn, found)
        if begun is None:
            self.store.write(lambda conn: store.set_position(conn, "begun", 0, None, now))
        elif new:
            self.store.write(lambda conn: announce_all(conn, new))
        return len(found)

    def decide(self, now: datetime) -> tuple[int, int]:
        """Turn waiting events into deliveries, and those whose window is over into jobs; each batch is one transaction.

        Returns:
            How many events were decided about, and how many jobs were submitted.
        """
        decided = submitted = 0
        while True:
            with self.store.read() as conn:
                if store.is_idle(conn, now):
                    return decided, submitted
            events, sent = self.store.write(lambda conn: self._decide(conn, now))
            decided, submitted = decided + events, submitted + sent
            if not events and not sent:
                return decided, submitted

    def _decide(self, conn: Connection, now: datetime) -> tuple[int, int]:
        store.hold_turn(conn, now)
        events = store.waiting(conn)
        if events:
            open_told = store.open_told(conn, {one.subject for one in events if one.ends})
            grouping = group(events, self.rules, now, open_told=open_told, found=self._found(conn, events, now))
            store.apply(conn, grouping, now)
            store.mark_processed(conn, events, now)
        due = store.due(conn, now)
        return len(events), sum(self._submit(conn, one) for one in due)

    def _found(self, conn: Connection, events: Sequence[Occurrence], now: datetime) -> dict[str, set[str]]:
        """For each filter of a rule, the jobs of these events that it finds."""
        ids = sorted({one.job for one in events if one.job is not None})
        filters = {rule.where for rule in self.rules if rule.where}
        return {text: conditions.found_among(conn, text, ids, now) for text in filters} if ids else {}

    def secret_names(self) -> frozenset[str]:
        """The names that tasks and settings mark as secret, beside those that always are."""
        return self.jobs.tasks.secret_names().union(self.jobs.service.settings.secret_names)

    def _submit(self, conn: Connection, one: DueDelivery) -> bool:
        """Write the words of a delivery and submit its job, in the transaction of the turn."""
        title, body = one.title, one.body
        if title is None or body is None:
            rule = self._by_name.get(one.rule) or AlertRule(one.rule, kinds="*")
            with masking_names(self.secret_names):
                text = texts.compose(rule, one.events, self.language, again=one.again)
            title, body = text.title, text.body
        service = self.jobs.service
        arguments = {"delivery": one.id, "channel": one.channel}
        prepared = service._prepare(self.jobs.tasks.get(sources.TASK), arguments, NOTHING)
        if not store.queue(conn, one, title=title, body=body, job_id=prepared.new.id):
            return False
        self.store.submit_on(conn, prepared.new, prepared.rules)
        return True

    def _remind(self, now: datetime) -> None:
        """Make the reminders that are due."""
        names = [rule.name for rule in self.rules if rule.remind is not None]
        if not names:
            return
        with self.store.read() as conn:
            due = reminders(store.open_problems(conn, names), self.rules, now)
            missing = [one for one in due if not store.has_group(conn, one.rule, one.channel, one.key)]
        for one in missing:
            self.store.write(partial(store.add_reminder, reminder=one, now=now))

    def _abandon(self, now: datetime) -> None:
        """Find deliveries whose job has ended without settling them, such as one that somebody cancelled."""
        with self.store.read() as conn:
            queued = store.queued_jobs(conn, now - PATIENCE)
            ended = conditions.ended_jobs(conn, queued.values())
        for delivery, job in queued.items():
            if job in ended:
                cancelled = ended[job] == "cancelled"
                self.store.write(partial(deliver.abandon, sends=self, delivery=delivery, cancelled=cancelled, now=now))

    def _clean(self, now: datetime) -> None:
        self._memory.cleaned_at = now
        self._close_removed()
        if self.store.write(lambda conn: store.remove_old(conn, now - self._kept)) >= store.AT_ONCE:
            self._memory.cleaned_at = None  # there is more

    def _close_removed(self) -> None:
        """Close the problems of jobs that retention has removed."""
        before = None
        while True:
            with self.store.read() as conn:
                open_ones = store.open_of_kinds(conn, sources.OF_STATE.values(), before=before)
                gone = conditions.removed(conn, {one.subject for one in open_ones})
            ids = [one.id for one in open_ones if one.subject in gone]
            if ids:
                self.store.write(partial(store.close_silently, ids=ids))
            if len(open_ones) < store.AT_ONCE:
                return
            before = open_ones[-1].id

    # -- sending -------------------------------------------------------------------------------------

    def deliver(self, delivery: str, *, last_try: bool) -> deliver.Delivered:
        """Send one delivery; see `jobtrail.notify.deliver.deliver`."""
        return deliver.deliver(self, delivery, last_try=last_try)

    def test(self, name: str) -> None:
        """Send a test message on a channel, now; a channel that takes it is enabled again.

        Args:
            name: Name of the channel, or "inbox".

        Raises:
            NotFound: If there is no such channel.
            SendingFailed: If the message did not leave; nothing is written of it.
        """
        self.jobs.make_ready()
        now = self.store.now()
        words = [render(Message(code, channel=name), self.language) for code in ("notify.test-title", "notify.test-body")]
        if name == INBOX:
            self.store.write(lambda conn: store.add_entry(conn, words[0], words[1], now))
            return
        message = OutgoingMessage(new_id(), words[0], words[1], "test", now)
        channel = self.known_channel(name)
        failed = deliver.attempt(channel, message)
        if failed is not None:
            raise SendingFailed(failed.why, permanent=failed.permanent, uncertain=failed.uncertain) from None
        self.store.write(lambda conn: states.succeeded(conn, name, now))

    def known_channel(self, name: str) -> NotifyChannel:
        """Return a channel by its name.

        Raises:
            NotFound: If there is no such channel.
        """
        channel = self.channels.get(name)
        if channel is None:
            raise NotFound(Message("notify.no-channel", channel=name, known=[INBOX, *sorted(self.channels)]))
        return channel


def _is_settled(before: TrailPosition, after: TrailPosition) -> bool:
    """Whether there is nothing to store: nothing came, and nothing can appear behind the floor."""
    return before.floor == before.high == after.floor == after.high
