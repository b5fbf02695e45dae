"""The routes of notifications: the inbox, channels and how they are, rules, deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from jobtrail.errors import IllegalMove
from jobtrail.messages import Message, render
from jobtrail.queries.base import MaskedText, Model

from . import inbox
from .channels import states
from .channels.base import SendingFailed
from .inbox import DeliveryView, InboxPage
from .rules import INBOX

if TYPE_CHECKING:
    from jobtrail.plugins.plugin import Plugin

    from .notifier import Notifier


class ChannelView(Model):
    """A channel and how it is. ``target`` says where it leads, without secrets."""

    name: str
    kind: str
    target: MaskedText
    fallback: str | None
    state: str
    message: MaskedText | None
    failures: int
    failing_since: datetime | None
    last_error: MaskedText | None
    last_sent_at: datetime | None
    rules: list[str]


class AlertRuleView(Model):
    """A rule as it is in force."""

    name: str
    kinds: list[str]
    channels: list[str]
    where: str
    subjects: list[str]
    text: MaskedText | None
    resolved: bool | MaskedText
    quiet: str | None
    group: float
    remind: float | None
    times: int
    before: float
    task: str | None
    since: float | None


class ReadAnswer(Model):
    """How many messages were marked as read."""

    read: int


class ChannelTested(Model):
    """A test message left on this channel."""

    channel: str
    sent: bool


class Notified(Protocol):
    """An application with notifications."""

    @property
    def notify(self) -> Notifier:
        """The service of the plug-in."""


class Reader(Protocol):
    """Who calls a route."""

    @property
    def actor(self) -> str:
        """The caller, for the trail."""


def channel_views(notifier: Notifier) -> list[ChannelView]:
    """Every channel and how it is, the inbox first."""
    notifier.jobs.make_ready()
    with notifier.store.read() as conn:
        found = states.read_all(conn)
    views = [_view(notifier, INBOX, INBOX, INBOX, None, states.ChannelState(INBOX))]
    for name, channel in sorted(notifier.channels.items()):
        state = found.get(name, states.ChannelState(name))
        views.append(_view(notifier, name, channel.kind, channel.target, channel.fallback or INBOX, state))
    return views


def _view(
    notifier: Notifier, name: str, kind: str, target: str, fallback: str | None, state: states.ChannelState
) -> ChannelView:
    rules = [rule.name for rule in notifier.rules if name in rule.channels]
    return ChannelView(
        name=name, kind=kind, target=target, fallback=fallback, state=state.state, message=state.message,
        failures=state.failures, failing_since=state.failing_since, last_error=state.last_error,
        last_sent_at=state.last_sent_at, rules=rules,
    )  # fmt: skip


def rule_views(notifier: Notifier) -> list[AlertRuleView]:
    """Every rule."""
    return [
        AlertRuleView(
            name=rule.name, kinds=list(rule.kinds), channels=list(rule.channels), where=rule.where,
            subjects=list(rule.subjects), text=rule.text, resolved=rule.resolved,
            quiet=None if rule.quiet is None else str(rule.quiet), group=rule.group, remind=rule.remind, times=rule.times,
            before=rule.before, task=rule.task, since=rule.since,
        )
        for rule in notifier.rules
    ]  # fmt: skip


def read_inbox(jobs: Notified, unread: bool = False, before: UUID | None = None, limit: int = 100) -> InboxPage:
    """The inbox, newest first: older than the entry ``before``, or only what nobody has read."""
    jobs.notify.jobs.make_ready()
    with jobs.notify.store.read() as conn:
        return inbox.page(conn, unread=unread, before=None if before is None else str(before), limit=limit)


def read_all(jobs: Notified, identity: Reader) -> ReadAnswer:
    """Mark every message as read."""
    return _mark(jobs, None, identity)


def read_one(jobs: Notified, id: UUID, identity: Reader) -> ReadAnswer:  # noqa: A002 - the name of the address
    """Mark a message as read."""
    return _mark(jobs, str(id), identity)


def _mark(jobs: Notified, one: str | None, identity: Reader) -> ReadAnswer:
    notifier = jobs.notify
    notifier.jobs.make_ready()
    now = notifier.store.now()
    return ReadAnswer(read=notifier.store.write(lambda conn: inbox.mark_read(conn, one, identity.actor, now)))


def list_channels(jobs: Notified) -> list[ChannelView]:
    """Channels and how they are."""
    return channel_views(jobs.notify)


def list_rules(jobs: Notified) -> list[AlertRuleView]:
    """The rules in force."""
    return rule_views(jobs.notify)


def list_deliveries(
    jobs: Notified, channel: str | None = None, state: str | None = None, limit: int = 100
) -> list[DeliveryView]:
    """Deliveries, newest first."""
    jobs.notify.jobs.make_ready()
    with jobs.notify.store.read() as conn:
        return inbox.list_deliveries(conn, channel=channel, state=state, limit=limit)


def test_channel(jobs: Notified, name: str) -> ChannelTested:
    """Send a test message now; a channel that takes it is enabled again."""
    try:
        jobs.notify.test(name)
    except SendingFailed as failure:
        # What the other side said, as a conflict: the request was right.
        raise IllegalMove(Message("notify.test-failed", channel=name, why=render(failure.why))) from None
    return ChannelTested(channel=name, sent=True)


def enable_channel(jobs: Notified, name: str) -> ChannelView:
    """Use a disabled channel again."""
    notifier = jobs.notify
    notifier.known_channel(name)
    notifier.jobs.make_ready()
    now = notifier.store.now()
    notifier.store.write(lambda conn: states.enable(conn, name, now))
    return next(one for one in channel_views(notifier) if one.name == name)


def unread(jobs: Notified, parameter: str = "") -> dict[str, Any]:
    """The live topic ``notify.inbox``: how many messages nobody has read, and the newest of them."""
    del parameter
    page = read_inbox(jobs, unread=True, limit=10)
    return page.model_dump(mode="json")


def declare(plugin: Plugin) -> None:
    """Declare the routes."""
    plugin.route("/inbox", role="viewer")(read_inbox)
    plugin.route("/inbox/read", method="POST", role="operator")(read_all)
    plugin.route("/inbox/{id}/read", method="POST", role="operator")(read_one)
    plugin.route("/channels", role="viewer")(list_channels)
    plugin.route("/channels/{name}/test", method="POST", role="admin")(test_channel)
    plugin.route("/channels/{name}/enable", method="POST", role="admin")(enable_channel)
    plugin.route("/rules", role="viewer")(list_rules)
    plugin.route("/deliveries", role="viewer")(list_deliveries)
