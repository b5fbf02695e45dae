"""Serving alone: what goes out goes out at once."""

from __future__ import annotations

import asyncio
import gzip
import socket

import pytest

from jobtrail.api import assets
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
    from starlette.exceptions import HTTPException

    (tmp_path / "secret").write_text("s" * 1000)
    (tmp_path / "assets").mkdir()
    with pytest.raises(HTTPException) as refused:
        await fetch(assets.Assets(tmp_path / "assets"), path)
    assert refused.value.status_code == 404
