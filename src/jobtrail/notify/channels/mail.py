"""Mail by SMTP, with the standard library: TLS, timeouts, and one Message-ID for all tries of a message."""

from __future__ import annotations

import contextlib
import smtplib
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

from .base import TIMEOUT, OutgoingMessage, SendingFailed, checked_timeout, scrub, text_option

STARTTLS, TLS, NONE = "starttls", "tls", "none"
PORTS = {STARTTLS: 587, TLS: 465, NONE: 25}
LOCAL = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Mail:
    """Sends each message as a mail.

    Args:
        host: The mail server.
        sender: Address of the sender.
        to: Addresses of the receivers.
        user: Name for the login; None for no login.
        password: Password for the login.
        security: "starttls", "tls" (from the first byte), or "none", with a login only on this machine.
        port: Port; default: 587, 465 or 25 by ``security``.
        timeout: Seconds to wait for the server at each step.
        fallback: Name of the channel that is used while this one is down; default: the inbox.
        ca_file: File with the certificates that are trusted; default: those of the system.

    Raises:
        InvalidOption: If a value is not valid.
    """

    host: str
    sender: str
    to: tuple[str, ...] | list[str] | str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    security: str = STARTTLS
    port: int | None = None
    timeout: float = TIMEOUT
    fallback: str | None = None
    ca_file: str | None = None
    kind = "mail"
    knows_ids = False

    def __post_init__(self) -> None:
        """Check before anything is sent."""
        text_option("host", self.host)
        checked_timeout(self.timeout)
        if self.security not in PORTS:
            raise InvalidOption(Message("notify.bad-security", value=repr(self.security), known=list(PORTS)))
        if self.port is not None and (isinstance(self.port, bool) or self.port not in range(1, 65536)):
            raise InvalidOption(Message("notify.bad-port", value=repr(self.port)))
        to = (self.to,) if isinstance(self.to, str) else tuple(self.to)
        object.__setattr__(self, "to", to)
        if not to:
            raise InvalidOption(Message("notify.no-receiver"))
        for address in (self.sender, *to):
            _check_address(address)
        if (self.user is None) != (self.password is None):
            raise InvalidOption(Message("notify.half-a-login"))
        if self.user is not None and self.security == NONE and self.host not in LOCAL:
            raise InvalidOption(Message("notify.login-without-tls"))

    @property
    def target(self) -> str:
        """The receivers."""
        return ", ".join(self.to)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password."""
        return (self.password,) if self.password else ()

    def send(self, message: OutgoingMessage) -> None:
        """Send a mail.

        Raises:
            SendingFailed: If the server did not take it, or nobody knows.
        """
        with _failing(self.secrets, uncertain=False):
            server = self._connect()
        try:
            with _failing(self.secrets, uncertain=True):
                refused = server.send_message(self._mail(message), self.sender, list(self.to))
            if refused:
                codes = sorted({code for code, _ in refused.values()})
                raise SendingFailed(
                    Message("notify.mail-refused", count=len(refused), codes=[str(code) for code in codes]),
                    permanent=all(code >= 500 for code in codes),
                    uncertain=True,
                )
        finally:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                server.quit()

    def _connect(self) -> smtplib.SMTP:
        context = ssl.create_default_context(cafile=self.ca_file) if self.security != NONE else None
        port = self.port or PORTS[self.security]
        server: smtplib.SMTP
        if self.security == TLS:
            server = smtplib.SMTP_SSL(self.host, port, timeout=self.timeout, context=context)
        else:
            server = smtplib.SMTP(self.host, port, timeout=self.timeout)
        try:
            if self.security == STARTTLS:
                server.starttls(context=context)
            if self.user is not None and self.password is not None:
                server.login(self.user, self.password)
        except BaseException:
            server.close()
            raise
        return server

    def _mail(self, message: OutgoingMessage) -> EmailMessage:
        mail = EmailMessage()
        mail["Subject"] = message.title
        mail["From"] = self.sender
        mail["To"] = ", ".join(self.to)
        mail["Date"] = format_datetime(message.at)
        mail["Message-ID"] = f"<{message.id}@jobtrail>"
        mail["Auto-Submitted"] = "auto-generated"
        mail["X-Jobtrail-Delivery"] = message.id
        mail.set_content(message.body)
        return mail


@contextlib.contextmanager
def _failing(secrets: tuple[str, ...], *, uncertain: bool) -> Iterator[None]:
    """Turn the errors of SMTP into ours: what the server said with a 5xx is permanent and certain."""
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        why = Message("notify.mail-refused", count=len(codes), codes=[str(code) for code in sorted(set(codes))])
        raise SendingFailed(why, permanent=all(code >= 500 for code in codes)) from None
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error
        text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise SendingFailed(scrub(f"{error.smtp_code} {text}", secrets), permanent=error.smtp_code >= 500) from None
    except (smtplib.SMTPNotSupportedError, ssl.SSLCertVerificationError) as error:
        raise SendingFailed(scrub(f"{type(error).__name__}: {error}", secrets), permanent=True) from None
    except (OSError, smtplib.SMTPException) as error:
        raise SendingFailed(scrub(f"{type(error).__name__}: {error}", secrets), uncertain=uncertain) from None


def _check_address(address: Any) -> None:
    try:
        valid = isinstance(address, str) and bool(Address(addr_spec=address).domain)
    except (ValueError, IndexError, Exception):
        valid = False
    if not valid:
        raise InvalidOption(Message("notify.bad-address", value=repr(address)))
