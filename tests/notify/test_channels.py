"""Channels against real servers on this machine, and what they say when something is wrong."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import logging
import socket
import ssl
import threading
from datetime import UTC, datetime
from importlib.util import find_spec

import pytest
from receivers import MailServer, WebServer, certificate
from services import skip_or_fail

from jobtrail.errors import InvalidOption, PermanentError
from jobtrail.notify import AppriseChannel, Mail, OutgoingMessage, Ping, Webhook
from jobtrail.notify.channels.base import SendingFailed, scrub, secrets_of_url, shown_url
from jobtrail.notify.channels.function import FunctionChannel

AT = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
EVENTS = ({"kind": "module.error", "subject": "parser", "resolved": False, "at": AT.isoformat(), "facts": {"n": 1}},)
MESSAGE = OutgoingMessage("0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f", "Модуль в ошибке", "line 1\n.line 2\nстрока", "modules", AT, EVENTS)


@pytest.fixture
def mail_server():
    server = MailServer()
    yield server
    server.close()


@pytest.fixture
def web_server():
    server = WebServer()
    yield server
    server.close()


def mail(server: MailServer, **options):
    return Mail("127.0.0.1", "jobtrail@example.org", ["ops@example.org"], port=server.port, **{"security": "none", "timeout": 5, **options})


def refusal(channel) -> SendingFailed:
    with pytest.raises(SendingFailed) as caught:
        channel.send(MESSAGE)
    return caught.value


# -- mail -----------------------------------------------------------------------------------------------


def test_a_mail_arrives_with_the_id_of_its_delivery(mail_server):
    mail(mail_server).send(MESSAGE)
    (got,) = mail_server.messages
    assert got["Subject"] == "Модуль в ошибке"
    assert got["To"] == "ops@example.org"
    assert got["Message-ID"] == f"<{MESSAGE.id}@jobtrail>"
    assert got["Auto-Submitted"] == "auto-generated"
    assert got.get_content().splitlines() == ["line 1", ".line 2", "строка"]


def test_a_mail_goes_over_starttls_with_a_login(tmp_path):
    file = certificate(tmp_path)
    server = MailServer(file)
    try:
        mail(server, security="starttls", user="me", password="hunter2-secret", ca_file=str(file)).send(MESSAGE)
        assert server.encrypted == [True]
        assert len(server.logins) == 1
        untrusted = refusal(mail(server, security="starttls"))
        assert (untrusted.permanent, untrusted.uncertain) == (True, False)
    finally:
        server.close()


def test_a_server_without_starttls_gets_nothing(mail_server):
    assert refusal(mail(mail_server, security="starttls")).permanent
    assert mail_server.messages == []


@pytest.mark.parametrize(
    ("answers", "permanent", "uncertain"),
    [
        ({"RCPT": "550 nobody here"}, True, False),
        ({"RCPT": "450 try later"}, False, False),
        ({"MAIL": "553 not you"}, True, False),
        ({"AUTH": "535 wrong hunter2-secret"}, True, False),
        ({"AUTH": "454 later"}, False, False),
        ({"TAKEN": "451 disk full"}, False, False),
        ({"EHLO": "drop"}, False, False),
        ({"MAIL": "drop"}, False, True),
        ({"TAKEN": "drop"}, False, True),
    ],
)
def test_how_a_mail_fails(mail_server, answers, permanent, uncertain):
    mail_server.answers = answers
    failed = refusal(mail(mail_server, user="me", password="hunter2-secret"))
    assert (failed.permanent, failed.uncertain) == (permanent, uncertain)
    assert "hunter2" not in str(failed)


def test_nobody_listens(mail_server, web_server):
    mail_server.close()
    web_server.close()
    assert not refusal(mail(mail_server)).permanent
    assert not refusal(Webhook(f"{web_server.address}/x")).permanent


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"to": []}, "address"),
        ({"to": ["ops"]}, "'ops'"),
        ({"sender": "a@b\nBcc: eve@example.org"}, "address"),
        ({"security": "ssl"}, "'ssl'"),
        ({"port": 0}, "port"),
        ({"timeout": 0}, "timeout"),
        ({"user": "me"}, "password"),
        ({"host": "mail.example.org", "security": "none", "user": "me", "password": "hunter2"}, "tls"),
        ({"host": ""}, "host"),
    ],
)
def test_a_mail_channel_that_cannot_be_is_refused(options, wrong):
    with pytest.raises(InvalidOption, match=wrong) as caught:
        Mail(**{"host": "127.0.0.1", "sender": "a@example.org", "to": "b@example.org", **options})
    assert "hunter2" not in str(caught.value)


# -- webhook --------------------------------------------------------------------------------------------


def test_a_webhook_is_signed_and_names_its_id(web_server):
    Webhook(f"{web_server.address}/hook?a=1", secret="key", headers={"Authorization": "Bearer 123456789"}).send(MESSAGE)
    ((path, headers, body),) = web_server.requests
    assert path == "/hook?a=1"
    assert headers["idempotency-key"] == MESSAGE.id
    assert headers["authorization"] == "Bearer 123456789"
    at, digest = (part.partition("=")[2] for part in headers["x-jobtrail-signature"].split(","))
    assert digest == hmac.new(b"key", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    got = json.loads(body)
    assert (got["id"], got["title"], got["count"], got["events"][0]["subject"]) == (MESSAGE.id, MESSAGE.title, 1, "parser")


@pytest.mark.parametrize(
    ("status", "permanent"),
    [(302, True), (307, True), (400, True), (401, True), (404, True), (410, True), (408, False), (429, False), (500, False), (503, False)],
)
def test_how_a_webhook_fails(web_server, status, permanent):
    web_server.status = status
    failed = refusal(Webhook(f"{web_server.address}/secret-path"))
    assert failed.permanent is permanent
    assert str(status) in str(failed)
    assert len(web_server.requests) == 1  # no redirect is followed


@pytest.mark.parametrize(
    ("said", "after"),
    [("7", 7.0), ("86400", 3600.0), ("soon", None), ("-1", None), ("", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)
def test_a_webhook_says_when_it_wants_to_be_tried_again(web_server, said, after):
    web_server.status, web_server.headers = 429, {"Retry-After": said}
    assert refusal(Webhook(web_server.address)).after == after


def test_a_webhook_that_hangs_is_given_up_after_its_time_limit(web_server):
    web_server.hangs.set()
    failed = refusal(Webhook(web_server.address, timeout=0.2))
    assert (failed.permanent, failed.uncertain) == (False, True)
    assert "timed out" in str(failed)


def test_a_webhook_whose_certificate_nobody_knows_gets_nothing(tmp_path):
    file = certificate(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        taken = threading.Thread(target=lambda: _refused_handshake(listening, context))
        taken.start()
        failed = refusal(Webhook(f"https://127.0.0.1:{listening.getsockname()[1]}/secret-path"))
        taken.join(10)
    assert "CERTIFICATE_VERIFY_FAILED" in str(failed)
    assert "secret-path" not in str(failed)


def _refused_handshake(listening, context):
    connection, _ = listening.accept()
    with contextlib.suppress(ssl.SSLError, OSError), connection, context.wrap_socket(connection, server_side=True):
        pass


@pytest.mark.parametrize("url", ["ftp://example.org/secret", "https://", "secret", "http://host:port/secret", "http://a b/secret", 7])
def test_a_url_that_cannot_be_is_refused_and_not_repeated(url):
    for make in (Webhook, Ping):
        with pytest.raises(InvalidOption) as caught:
            make(url)
        assert "secret" not in str(caught.value)


def test_secrets_stand_nowhere(web_server):
    url = "https://user:hunter2pass@hooks.example.org/services/T00AAAA/XYZSECRETXYZ?sig=abcdefg"
    for one in (Webhook(url, secret="signkey99"), Ping(url), Mail("127.0.0.1", "a@example.org", "b@example.org", "me", "hunter2pass")):
        for text in (repr(one), one.target):
            assert not any(secret in text for secret in ("hunter2pass", "XYZSECRETXYZ", "abcdefg", "signkey99"))
    said = scrub(f"could not reach {url}, nor /services/T00AAAA/XYZSECRETXYZ, sig abcdefg", secrets_of_url(url))
    assert not any(secret in said for secret in ("hunter2pass", "XYZSECRETXYZ", "abcdefg"))
    assert shown_url("https://hooks.example.org/services/T0") == "https://hooks.example.org/•••"
    assert shown_url("tgram://123456:ABCDEF/99") == "tgram://•••"


# -- Apprise and plug-ins ---------------------------------------------------------------------------------


def test_apprise_sends_to_a_server_on_this_machine(web_server, caplog):
    if find_spec("apprise") is None:
        skip_or_fail("apprise is not installed")
    channel = AppriseChannel(f"json://127.0.0.1:{web_server.port}/path-of-secrets")
    with caplog.at_level(logging.DEBUG):
        channel.send(MESSAGE)
        ((path, _, body),) = web_server.requests
        assert path == "/path-of-secrets"
        assert (json.loads(body)["title"], json.loads(body)["message"]) == (MESSAGE.title, MESSAGE.body)
        web_server.status = 500
        failed = refusal(channel)
        web_server.close()
        gone = refusal(channel)
    assert (failed.permanent, failed.uncertain, gone.permanent, gone.uncertain) == (False, False, False, True)
    for text in (str(failed), str(gone), caplog.text, repr(channel), channel.target):
        assert "path-of-secrets" not in text


def test_a_url_that_apprise_does_not_know_is_permanent():
    if find_spec("apprise") is None:
        skip_or_fail("apprise is not installed")
    assert refusal(AppriseChannel("nosuch://secret-token/path")).permanent
    with pytest.raises(InvalidOption):
        AppriseChannel("secret-token")


def test_the_channel_of_a_plug_in_is_called_with_the_message():
    taken = []

    async def later(message):
        taken.append(message)

    for function in (taken.append, later):
        FunctionChannel("x.y", function).send(MESSAGE)
    assert taken == [MESSAGE, MESSAGE]

    def refuse(message):
        raise PermanentError("password=hunter2")

    failed = refusal(FunctionChannel("x.y", refuse))
    assert failed.permanent
    assert "hunter2" not in str(failed)
