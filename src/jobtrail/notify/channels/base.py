"""What a channel is: it sends one message, says how it failed, and knows its own secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from jobtrail.errors import InvalidOption
from jobtrail.job.masking import MASK, mask_text
from jobtrail.messages import Message, render

TIMEOUT = 20.0  # seconds that a channel waits for the other side
LONGEST = 300.0
SHORTEST_SECRET = 4  # characters; what is shorter stands in too many words
ERROR = 500  # characters of an error that are kept
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,49}")


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One message on its way.

    Attributes:
        id: Id of the delivery; the same at every try.
        title: One line.
        body: Plain text.
        rule: Name of the rule.
        at: When it was written.
        events: The events that it tells: kind, subject, resolved, at, facts.
        perhaps_twice: It may have been sent before, because the process died while it was sending.
    """

    id: str
    title: str
    body: str
    rule: str
    at: datetime
    events: tuple[Mapping[str, Any], ...] = ()
    perhaps_twice: bool = False


class SendingFailed(Exception):
    """A message did not leave, or nobody knows whether it did.

    Args:
        why: What happened, without secrets.
        permanent: Another try cannot help, such as a wrong password.
        uncertain: The other side may have taken the message.
        after: Seconds after which the other side wants to be tried again; None where it does not say.
    """

    def __init__(
        self, why: Message | str, *, permanent: bool = False, uncertain: bool = False, after: float | None = None
    ) -> None:
        super().__init__(why)
        self.why = why
        self.permanent = permanent
        self.uncertain = uncertain
        self.after = after

    def __str__(self) -> str:
        """What happened, in English."""
        return render(self.why, "en")


class NotifyChannel(Protocol):
    """A way to people.

    Attributes:
        kind: The sort of channel, in one word.
        target: Where it leads, without secrets.
        secrets: Texts that must stand nowhere.
        knows_ids: Whether the receiver can tell a repeated message by its id.
        fallback: Name of the channel that tells what this one cannot; None for the inbox.
    """

    @property
    def kind(self) -> str:
        """The sort of channel."""

    @property
    def target(self) -> str:
        """Where it leads, without secrets."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must stand nowhere."""

    @property
    def knows_ids(self) -> bool:
        """Whether the receiver can tell a repeated message by its id."""

    @property
    def fallback(self) -> str | None:
        """The channel that tells what this one cannot."""

    def send(self, message: OutgoingMessage) -> None:
        """Send one message, in the calling thread.

        Raises:
            SendingFailed: If it did not leave, or nobody knows.
        """


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return a text without these secrets, and without what looks like others."""
    for secret in sorted({one for one in secrets if len(one) >= SHORTEST_SECRET}, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return mask_text(text)[:ERROR]


def secrets_of_url(url: str) -> tuple[str, ...]:
    """Return what of a URL may be a secret: all of it, user and password, path, words of the path, and values."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    found = {url, parts.path.strip("/"), parts.query, parts.fragment, parts.netloc.rpartition("@")[0]}
    found |= {parts.password or "", parts.username or ""}
    found |= {word for word in parts.path.split("/") if len(word) >= 2 * SHORTEST_SECRET}
    found |= {value for _, value in parse_qsl(parts.query)}
    if parts.scheme not in {"http", "https"}:
        found |= {host, *host.split("/")}  # Apprise puts tokens where others have a host
    spelled = {variant for one in found for variant in (one, unquote(one), quote(unquote(one), safe=""))}
    return tuple(sorted(one for one in spelled if len(one) >= SHORTEST_SECRET))


def shown_url(url: str) -> str:
    """Return where a URL leads, without what may be a secret: scheme and host, or the scheme alone."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        return f"{parts.scheme}://{MASK}"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}/{MASK if parts.path.strip('/') or parts.query else ''}"


def channel_name(name: Any) -> str:
    """Return the name of a channel.

    Raises:
        InvalidOption: If it is not one.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == "inbox":
        raise InvalidOption(Message("notify.bad-channel-name", name=repr(name)))
    return name


def checked_timeout(seconds: Any) -> float:
    """Return a timeout in seconds.

    Raises:
        InvalidOption: If it is not one.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= LONGEST:
        raise InvalidOption(Message("notify.bad-timeout", value=repr(seconds), most=int(LONGEST)))
    return float(seconds)


def text_option(option: str, value: Any) -> str:
    """Return an option of a channel that is a text; its value is not repeated, for it may be a secret.

    Raises:
        InvalidOption: If it is none.
    """
    if not isinstance(value, str) or not value.strip() or "\n" in value or "\r" in value:
        raise InvalidOption(Message("notify.bad-channel-option", option=option))
    return value
