"""Apprise's services (Telegram, Slack, Teams, …) by their URLs, with the extra ``jobtrail[apprise]``."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Self
from urllib.parse import urlsplit

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

from .base import OutgoingMessage, SendingFailed, scrub, secrets_of_url, shown_url, text_option

# Both write URLs, which hold secrets.
_LOGGERS = ("apprise", "urllib3.connectionpool")


@dataclass(frozen=True)
class AppriseChannel:
    """Sends each message by a service of Apprise.

    Args:
        url: URL of Apprise, such as ``tgram://…`` or ``slack://…``; all of it counts as a secret.
        fallback: Name of the channel that is used while this one is down; default: the inbox.

    Raises:
        InvalidOption: If the extra is not installed or the URL is not valid.
    """

    url: str = field(repr=False)
    fallback: str | None = None
    kind = "apprise"
    knows_ids = False

    def __post_init__(self) -> None:
        """Check without loading Apprise, which costs a third of a second."""
        text_option("url", self.url)
        if find_spec("apprise") is None:
            raise InvalidOption(Message("notify.no-apprise"))
        if not urlsplit(self.url).scheme:
            raise InvalidOption(Message("notify.bad-apprise-url"))

    @property
    def target(self) -> str:
        """The scheme, which names the service."""
        return shown_url(self.url)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The URL and its parts."""
        return secrets_of_url(self.url)

    def send(self, message: OutgoingMessage) -> None:
        """Send a message.

        Raises:
            SendingFailed: If the service did not take it.
        """
        import apprise

        with _Listening() as said:
            # The service itself, because `Apprise.notify` sends in threads of its own, whose records nobody would hold back.
            service = apprise.Apprise.instantiate(self.url)
            if service is None:
                raise SendingFailed(Message("notify.bad-apprise-url"), permanent=True)
            try:
                taken = service.notify(body=message.body, title=message.title, notify_type=apprise.NotifyType.WARNING)
            except Exception as error:
                raise SendingFailed(scrub(f"{type(error).__name__}: {error}", self.secrets), uncertain=True) from None
        if not taken:
            told = scrub("; ".join(said.lines), self.secrets)
            # With a code the service has answered; without one nobody knows.
            raise SendingFailed(told or Message("notify.apprise-refused"), uncertain="error=" not in told)


class _Listening(logging.Filter):
    """Keeps what Apprise logs in this thread out of all logs, and hands it over."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._thread = threading.get_ident()

    def __enter__(self) -> Self:
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self)
        return self

    def __exit__(self, *_: object) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the warnings of this thread, and let none of its records through."""
        if record.thread != self._thread:
            return True
        if record.name == "apprise" and record.levelno >= logging.WARNING:
            self.lines.append(record.getMessage())
        return False
