"""Serving alone: what goes out goes out at once."""

from __future__ import annotations

import asyncio
import gzip
import socket
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException

import pytest
from live_server import Live, serving

from jobtrail.api import assets
from jobtrail.api import serving as serving_module
from jobtrail.api.serving import listen


async def test_an_answer_in_two_pieces_does_not_wait_for_the_acknowledgement_of_the_first():
    """Without TCP_NODELAY each file of the console took 44 ms."""
    accepted = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda _, writer: accepted.set_result(writer), sock=listen("127.0.0.1", 0))
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        theirs = await asyncio.wait_for(accepted, 10)
        assert theirs.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for one in (writer, theirs):
            one.close()


async def fetch(app, path, headers=()):
    """The status, headers and body of one answer."""
    said = []

    async def send(message):
        said.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": [(name.lower().encode(), value.encode()) for name, value in headers]}
    await app(scope, asyncio.Event().wait, send)
    headers = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return said[0]["status"], headers, b"".join(message.get("body", b"") for message in said[1:])


async def test_a_file_is_compressed_once_and_for_those_only_who_ask(tmp_path, monkeypatch):
    (tmp_path / "app.js").write_text("let it = 1;" * 1000)
    (tmp_path / "small.js").write_text("1")
    app, packed, pack = assets.Assets(tmp_path), [], gzip.compress
    monkeypatch.setattr(assets.gzip, "compress", lambda *args, **words: packed.append(1) or pack(*args, **words))
    for _ in range(3):
        status, headers, body = await fetch(app, "/app.js", [("Accept-Encoding", "br, gzip")])
        assert (status, headers["content-encoding"], headers["content-type"]) == (200, "gzip", "text/javascript; charset=utf-8")
        assert (int(headers["content-length"]), gzip.decompress(body)) == (len(body), b"let it = 1;" * 1000)
    assert packed == [1]
    for path, asked in (("/app.js", []), ("/small.js", [("Accept-Encoding", "gzip")])):
        status, headers, body = await fetch(app, path, asked)
        assert (status, headers.get("content-encoding"), body) == (200, None, (tmp_path / path[1:]).read_bytes())
    assert (await fetch(app, "/app.js"))[1]["vary"] == "Accept-Encoding"
    known = [("If-None-Match", headers["etag"]), ("Accept-Encoding", "gzip")]
    assert (await fetch(app, "/small.js", known))[::2] == (304, b"")


@pytest.mark.parametrize("path", ["/none.js", "/../secret", "/%00"])
async def test_what_is_no_file_of_the_console_is_not_found(tmp_path, path):
    from starlette.exceptions import HTTPException as NoAnswer

    (tmp_path / "secret").write_text("s" * 1000)
    (tmp_path / "assets").mkdir()
    with pytest.raises(NoAnswer) as refused:
        await fetch(assets.Assets(tmp_path / "assets"), path)
    assert refused.value.status_code == 404


# -- who is slow ---------------------------------------------------------------------------------------


def asked(server, method="GET", path="/healthz", **said):
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=15)) as connection:
        connection.request(method, path, **said)
        answer = connection.getresponse()
        return answer.status, answer.read()


def connected(server, sent=b""):
    one = socket.create_connection(("127.0.0.1", server.port), timeout=15)
    one.sendall(sent)
    return one


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost:"])
def test_a_connection_without_a_whole_head_of_a_request_is_closed(app_jobs, monkeypatch, sent):
    monkeypatch.setattr(serving_module, "HEAD_SECONDS", 0.2)
    with serving(app_jobs.asgi()) as server, connected(server, sent) as one:
        with suppress(ConnectionResetError):
            while one.recv(65536):  # until the server closes
                pass


def test_a_connection_whose_second_head_stays_half_is_closed(app_jobs, monkeypatch):
    """The server's own time without a request ends with the first byte of one."""
    monkeypatch.setattr(serving_module, "HEAD_SECONDS", 0.2)
    with serving(app_jobs.asgi()) as server, connected(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as one:
        assert one.recv(65536).startswith(b"HTTP/1.1 200")
        one.sendall(b"GET /he")
        with suppress(ConnectionResetError):
            while one.recv(65536):
                pass


def test_hundreds_of_slow_connections_do_not_delay_an_answer_and_there_is_a_most_of_them(app_jobs, monkeypatch):
    monkeypatch.setattr(serving_module, "MOST_CONNECTIONS", 300)
    with serving(app_jobs.asgi()) as server, ExitStack() as opened:
        for _ in range(290):
            opened.enter_context(connected(server, b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Le"))
        assert asked(server) == (200, b"ok")
        with suppress(OSError):
            for _ in range(30):
                opened.enter_context(connected(server))
        with pytest.raises((OSError, HTTPException)):
            asked(server)


def test_a_socket_stays_open_longer_than_the_time_for_a_head(app_jobs, monkeypatch):
    monkeypatch.setattr(serving_module, "HEAD_SECONDS", 0.05)
    with serving(app_jobs.asgi()) as server, closing(Live(server)) as page:
        assert page.receive(10)["type"] == "hello"
        with connected(server) as other:
            assert other.recv(1) == b""  # its time was over; that of the page was long before
        page.say(type="ping")
        assert page.receive(10)["type"] == "pong"


def test_large_bodies_do_not_delay_an_answer(app_jobs):
    """Ten bodies of 7 MB at the login held every answer up for 27 s."""
    said = {"X-Jobtrail": "1", "Content-Type": "application/json"}
    with serving(app_jobs.asgi()) as server:
        for _ in range(10):
            body = b'{"token": "' + b"x" * 7_000_000 + b'"}'
            assert asked(server, "POST", "/api/login", body=body, headers=said)[0] == 413
        assert asked(server) == (200, b"ok")
