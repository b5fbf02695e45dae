"""Webhooks: one POST with JSON, signed, with the same id at every try; and the ping that says that we live."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import ssl
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPException
from json import dumps
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

from .base import (
    TIMEOUT,
    OutgoingMessage,
    SendingFailed,
    checked_timeout,
    scrub,
    secrets_of_url,
    shown_url,
    text_option,
)

EVENTS = 100  # events that the JSON of a message lists
_TRY_AGAIN = (408, 425, 429)
LONGEST_WAIT = 3600.0  # seconds that a ``Retry-After`` may ask for


class _NoRedirect(HTTPRedirectHandler):
    """A redirect is an answer: a signed message goes nowhere else."""

    def redirect_request(self, *args: Any) -> None:
        """Follow nothing."""


@dataclass(frozen=True)
class Webhook:
    """Posts each message as JSON to a URL.

    Args:
        url: ``https://…`` or ``http://…``; all of it but the host counts as a secret.
        secret: Key of the signature (HMAC-SHA256) in the header ``X-Jobtrail-Signature``; None for none.
        timeout: Seconds to wait for an answer.
        headers: More headers, such as an authorization; their values count as secrets.
        fallback: Name of the channel that is used while this one is down; default: the inbox.
        ca_file: File with the certificates that are trusted; default: those of the system.

    Raises:
        InvalidOption: If a value is not valid.
    """

    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    headers: tuple[tuple[str, str], ...] | dict[str, str] = field(default=(), repr=False)
    fallback: str | None = None
    ca_file: str | None = None
    kind = "webhook"
    knows_ids = True

    def __post_init__(self) -> None:
        """Check before anything is sent."""
        check_url(self.url)
        checked_timeout(self.timeout)
        if self.secret is not None:
            text_option("secret", self.secret)
        given = self.headers.items() if isinstance(self.headers, dict) else self.headers
        headers = tuple((text_option("headers", name), text_option("headers", value)) for name, value in given)
        object.__setattr__(self, "headers", headers)

    @property
    def target(self) -> str:
        """Scheme and host."""
        return shown_url(self.url)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The URL, its parts, the key, and the values of headers."""
        return (*secrets_of_url(self.url), *([self.secret] if self.secret else []), *(value for _, value in self._headers))

    @property
    def _headers(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.headers.items()) if isinstance(self.headers, dict) else self.headers

    def send(self, message: OutgoingMessage) -> None:
        """Post a message.

        Raises:
            SendingFailed: If the answer is not 2xx, or there is none.
        """
        body = dumps({
            "id": message.id, "title": message.title, "body": message.body, "rule": message.rule,
            "at": message.at.isoformat(), "count": len(message.events), "events": list(message.events[:EVENTS]),
        }).encode()  # fmt: skip
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": message.id,
            **dict(self._headers),
        }
        if self.secret is not None:
            headers["X-Jobtrail-Signature"] = signature(self.secret, body, int(time.time()))
        call(self.url, body, headers, timeout=self.timeout, secrets=self.secrets, ca_file=self.ca_file)


def signature(secret: str, body: bytes, at: int) -> str:
    """Return ``t=…,v1=…``: the time in seconds since 1970, and the HMAC-SHA256 of ``<t>.<body>`` in hex."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def check_url(url: Any) -> str:
    """Return a URL of the web.

    Raises:
        InvalidOption: If it is none; the message does not repeat it.
    """
    text_option("url", url)
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or any(character.isspace() for character in url):
        raise InvalidOption(Message("notify.bad-url"))
    return str(url)


def call(
    url: str,
    body: bytes | None,
    headers: dict[str, str],
    *,
    timeout: float,
    secrets: tuple[str, ...],
    ca_file: str | None = None,
) -> None:
    """Send one request and expect 2xx.

    Raises:
        SendingFailed: If the answer is another one, or there is none.
    """
    request = Request(url, data=body, headers={"User-Agent": "jobtrail", **headers})  # noqa: S310 - checked by `check_url`
    handlers: list[Any] = [_NoRedirect, HTTPSHandler(context=ssl.create_default_context(cafile=ca_file))]
    if _is_loopback(urlsplit(url).hostname or ""):
        handlers.append(ProxyHandler({}))
    try:
        with build_opener(*handlers).open(request, timeout=timeout):
            return
    except HTTPError as error:
        error.close()
        permanent = error.code < 500 and error.code not in _TRY_AGAIN
        status = Message("notify.http-status", status=str(error.code))
        raise SendingFailed(status, permanent=permanent, after=_retry_after(error.headers.get("Retry-After"))) from None
    except (OSError, HTTPException, ValueError) as error:
        why = scrub(f"{type(error).__name__}: {error}", secrets)
        raise SendingFailed(why, uncertain=True) from None


def _retry_after(said: str | None) -> float | None:
    """The seconds of a ``Retry-After`` (RFC 9110, 10.2.3), at most `LONGEST_WAIT`; None where it says none."""
    try:
        seconds = float(said) if said and said.isascii() and said.isdigit() else None
        if seconds is None and said:
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
    except (ValueError, TypeError):
        return None
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
