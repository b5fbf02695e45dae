"""`Notify`, the plug-in: its tables, its task, its loops, its commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from jobtrail.commands.history.removal import Removal
from jobtrail.errors import InvalidOption
from jobtrail.job.retry import Exponential, Retry
from jobtrail.messages import Message, render, tr
from jobtrail.plugins.plugin import Plugin
from jobtrail.plugins.running import application
from jobtrail.recovery.spool import folder_of
from jobtrail.runtime.context import Context

from . import console, routes, store, tables, watchdog
from .channels.base import NotifyChannel, SendingFailed, channel_name
from .channels.function import FunctionChannel
from .notifier import KEPT, Notifier
from .rules import DEFAULT_RULE, INBOX, AlertRule
from .settings import NotifySettings, checked_language, merged
from .sources import TASK
from .watchdog import Ping, Watch

MAIL = "mail"  # a channel of this name is used by the default rule too
RETRY = Retry(attempts=5, wait=Exponential(base=5, factor=3, maximum=300))
MIGRATIONS, HEAD = "jobtrail.notify.migrations", "0001"


class Notify(Plugin):
    """Tells people what happened: rules over the trail and over announced events, on channels.

    Args:
        rules: The rules, beside the default rule, which tells administrators of modules that turn to ``error``, or do
            not stay ok: in the inbox, and by mail where there is a channel called "mail". A rule called "modules" replaces it.
        channels: Channels by name: `Mail`, `Webhook`, `AppriseChannel`. "inbox" is always there, and so are the channels of
            plug-ins, by their full names.
        ping: URL or `Ping` that is called as long as all of this works.
        language: Language of the messages: "en" or "ru".
        retry: How often and when a message is tried again, before the fallback of its channel tells it.
        kept: How long deliveries, told events and the inbox are kept.

    Raises:
        InvalidOption: If a value is not valid.

    Example:
        ```python
        jobs = JobTrail(plugins=[Notify(
            rules=[AlertRule("loads", kinds="job.failed", where="task:load_*", channels=["ops"])],
            channels={"ops": Webhook("https://hooks.example.org/…", secret=os.environ["HOOK_KEY"])},
        )])
        ```
    """

    def __init__(
        self,
        rules: Iterable[AlertRule] = (),
        channels: Mapping[str, NotifyChannel] | None = None,
        *,
        ping: Ping | str | None = None,
        language: str = "en",
        retry: Any = RETRY,
        kept: timedelta = KEPT,
    ) -> None:
        super().__init__("notify", about=tr("notify.about"))
        given = list(rules)
        for one in given:
            if not isinstance(one, AlertRule):
                raise InvalidOption(Message("notify.not-a-rule", value=f"{one!r:.100}"))
        names = [one.name for one in given]
        if len(set(names)) < len(names):
            raise InvalidOption(Message("notify.two-rules", names=names))
        for name, channel in (channels or {}).items():
            if not callable(getattr(channel, "send", None)):
                raise InvalidOption(Message("notify.not-a-channel", channel=repr(name), type=type(channel).__name__))
        self._own = NotifySettings(
            tuple(given),
            {channel_name(name): channel for name, channel in (channels or {}).items()},
            Ping(ping) if isinstance(ping, str) else ping,
            checked_language(language),
        )
        self._kept = kept
        self.tables(tables.metadata, MIGRATIONS, HEAD)
        self.service(self._notifier)
        self.task(name=TASK, plain=True, kind="notification", priority=1, retry=retry)(notify_deliver)
        self.loop(every=1.0)(notify_turn)
        self.loop(every=5.0)(notify_ping)
        self.loop(every=15.0, leader=False)(notify_watch)
        self.before_removal(retention=False)(forget_jobs)
        self.command("test")(test_channel)
        self.command("list")(print_channels)
        self.live_topic("inbox")(routes.unread)
        routes.declare(self)
        console.add_to(self)

    def _notifier(self, jobs: Any) -> NotifierOfApplication:
        """Make the service: what the program says, with jobtrail.toml over it."""
        own = self._own
        if all(rule.name != DEFAULT_RULE.name for rule in own.rules):
            own = NotifySettings((DEFAULT_RULE, *own.rules), own.channels, own.ping, own.language)
        settings = merged(own, jobs.overrides.plugins.get("notify", {}), f"{jobs.overrides.path}, plugins.notify")
        rules = [_default(settings) if rule is DEFAULT_RULE else rule for rule in settings.rules]
        channels = dict(settings.channels)
        for name, channel in jobs.plugins.channels():
            channels.setdefault(name, FunctionChannel(name, channel.function))
        return NotifierOfApplication(jobs, rules, channels, settings, self._kept)


def _default(settings: NotifySettings) -> AlertRule:
    to = (INBOX, MAIL) if MAIL in settings.channels else (INBOX,)
    return AlertRule(DEFAULT_RULE.name, kinds=DEFAULT_RULE.kinds, channels=to)


class NotifierOfApplication(Notifier):
    """The notifications of an application together with its watchdog; ``jobs.notify``."""

    def __init__(
        self,
        jobs: Any,
        rules: Iterable[AlertRule],
        channels: Mapping[str, NotifyChannel],
        settings: NotifySettings,
        kept: timedelta,
    ) -> None:
        super().__init__(jobs, tuple(rules), channels, language=settings.language, kept=kept)
        self.ping = settings.ping
        self.watch = Watch(self, _folders(jobs))


def _folders(jobs: Any) -> list[Path]:
    """Folders that must be writable: of the database, where it is a file, of the spool and of uploads."""
    path = jobs.store.database.path
    upload = jobs.settings.upload_folder
    found = [folder_of(jobs.store), *([path.parent] if path is not None else []), *([Path(upload)] if upload else [])]
    return list(dict.fromkeys(found))


# -- task and loops -----------------------------------------------------------------------------------


def notify_deliver(ctx: Context, *, delivery: str, channel: str) -> dict[str, Any]:
    """Send one delivery; the channel is named for people, the delivery knows it."""
    del channel
    last = ctx.max_attempts is not None and ctx.attempt >= ctx.max_attempts
    return asdict(application().notify.deliver(delivery, last_try=last))


def notify_turn(jobs: Any) -> None:
    """Read the sources, decide, submit."""
    jobs.notify.turn()


def notify_ping(jobs: Any) -> None:
    """Call the ping if it is time."""
    if jobs.notify.ping is not None:
        watchdog.ping(jobs.notify, jobs.notify.ping)


def notify_watch(jobs: Any) -> None:
    """Look whether store and folders can be written."""
    jobs.notify.watch.turn()


def forget_jobs(jobs: Any, removal: Removal) -> None:
    """Remove what tells of jobs that a person deletes."""
    jobs.store.write(lambda conn: store.forget_jobs(conn, removal.ids))


# -- commands -----------------------------------------------------------------------------------------


def test_channel(jobs: Any, channel: str, *, as_json: bool) -> int:
    """Send a test message on a channel; exit code 1 if it did not leave."""
    try:
        jobs.notify.test(channel)
    except SendingFailed as failure:
        why = render(failure.why)
        said = {"channel": channel, "sent": False, "why": why}
        print(json.dumps(said) if as_json else tr("notify.test-failed", channel=channel, why=why))  # noqa: T201
        return 1
    print(json.dumps({"channel": channel, "sent": True}) if as_json else tr("notify.test-sent", channel=channel))  # noqa: T201
    return 0


def print_channels(jobs: Any, *, as_json: bool) -> int:
    """Print channels and how they are; exit code 1 if one is disabled."""
    found = routes.channel_views(jobs.notify)
    if as_json:
        print(json.dumps([one.model_dump(mode="json") for one in found]))  # noqa: T201
    else:
        for one in found:
            state = tr("notify.channel-line", channel=one.name, kind=one.kind, target=one.target, state=one.state)
            print(state + (f"\n  {one.message or one.last_error}" if one.message or one.last_error else ""))  # noqa: T201
    return 1 if any(one.state == "disabled" for one in found) else 0
