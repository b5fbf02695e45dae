"""The guard before all routes: closed by default, against other sites, other names and too much (C-37)."""

from __future__ import annotations

import asyncio
import gzip
import time

import pytest
from api_app import HERE, OURS, problem
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from jobtrail.api import Person, bodies
from jobtrail.api.auth.guard import needs, person_of
from jobtrail.api.bodies import is_too_deep, limit_of

SUBMIT = {"task": "add", "args": {"a": 1}}
FOREIGN = "https://evil.example"


@pytest.fixture
def url(sqlite_url):
    """One database: nothing here depends on which it is."""
    return sqlite_url


def test_c37_a_route_without_a_rule_is_closed_even_to_an_admin(app_jobs):
    app = app_jobs.asgi()

    async def forgotten():
        return "open!"

    app.get("/api/forgotten")(forgotten)
    app.router.routes.insert(0, app.router.routes.pop())
    client = TestClient(app, HERE, client=("127.0.0.1", 1))
    problem(client.get("/api/forgotten"), 403, "closed")
    needs("admin")(forgotten)
    assert client.get("/api/forgotten").json() == "open!"


def test_a_rule_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="a route needs viewer, operator, admin or anyone"):
        needs("everybody")


# -- other sites ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [FOREIGN, "null", "http://127.0.0.1:81", "http://127.0.0.1.evil.example"])
def test_c37_a_page_of_another_site_changes_nothing(app_jobs, client, origin):
    problem(client.post("/api/jobs", json=SUBMIT, headers={"Origin": origin}), 403, "foreign-origin")
    assert app_jobs.find() == []


@pytest.mark.parametrize("origin", [HERE, f"{HERE}:80", None])
def test_our_own_pages_and_programs_may(client, origin):
    headers = {"Origin": origin} if origin else {}
    assert client.post("/api/jobs", json=SUBMIT, headers=headers).status_code == 201


def test_c37_forms_of_another_site_change_nothing(app_jobs, clients):
    client = clients(headers={})
    body = '{"task": "add", "args": {"a": 1}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"):
        problem(client.post("/api/jobs", content=body, headers={"Content-Type": kind}), 403)
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site, **OURS}
        problem(client.post("/api/jobs", json=SUBMIT, headers=headers), 403, "foreign-origin")
    assert app_jobs.find() == []


def test_the_header_of_ours_is_needed_by_everybody_but_a_token(clients):
    told = problem(clients(headers={}).post("/api/jobs", json=SUBMIT), 403, "header-missing")
    assert "X-Jobtrail: 1" in told["detail"]


def test_another_origin_may_be_allowed_by_name(clients):
    client = clients(origins=["https://console.example/"])
    assert client.post("/api/jobs", json=SUBMIT, headers={"Origin": "https://console.example"}).status_code == 201
    problem(client.post("/api/jobs", json=SUBMIT, headers={"Origin": FOREIGN}), 403)


def test_behind_a_trusted_proxy_the_origin_is_that_of_its_own_name(clients):
    said = {"login": lambda _request: Person("ann", "admin"), "trusted_proxies": ["10.0.0.1"]}
    headers = {"Origin": "https://jobs.example", "X-Forwarded-Host": "jobs.example"}
    assert clients(address="10.0.0.1", **said).post("/api/jobs", json=SUBMIT, headers=headers).status_code == 201
    problem(clients(address="10.0.0.2", **said).post("/api/jobs", json=SUBMIT, headers=headers), 403, "foreign-origin")


def test_login_and_logout_are_not_done_by_other_sites_either(clients):
    for path in ("/api/login", "/api/logout"):
        problem(clients().post(path, json={"token": "x"}, headers={"Origin": FOREIGN}), 403, "foreign-origin")


def test_no_answer_may_be_read_by_another_site(client):
    answer = client.get("/api/jobs", headers={"Origin": FOREIGN})
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    problem(client.options("/api/jobs", headers={"Origin": FOREIGN, "Access-Control-Request-Method": "POST"}), 405)


# -- other names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", ""])
def test_c37_a_name_that_was_pointed_at_this_machine_is_not_ours(client, host):
    problem(client.get("/api/jobs", headers={"Host": host}), 421, "unknown-host")
    problem(client.get("/", headers={"Host": host}), 421, "unknown-host")


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "127.0.0.1:1", "[::1]", "[::1]:8765", "LOCALHOST"])
def test_the_names_of_this_machine_are_ours(client, host):
    assert client.get("/api/jobs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("said", [{}, {"local": False, "allowed_hosts": ["jobs.example"]}])
def test_health_is_told_under_any_name_and_nothing_else_is(clients, said):
    asked = {"Host": "10.2.3.4:8765"}
    assert clients(**said).get("/healthz", headers=asked).text == "ok"
    assert clients(**said).get("/readyz", headers=asked).json() == {"ready": True}
    for path in ("/metrics", "/api/me", "/healthz/", "/"):
        problem(clients(**said).get(path, headers=asked), 421, "unknown-host")


def test_with_a_login_names_count_only_where_they_are_set(clients):
    said = {"login": lambda _request: Person("ann", "admin")}
    assert clients(**said).get("/api/jobs", headers={"Host": "jobs.example"}).status_code == 200
    named = clients(**said, allowed_hosts=["jobs.example"])
    assert named.get("/api/jobs", headers={"Host": "jobs.example:443"}).status_code == 200
    problem(named.get("/api/jobs", headers={"Host": "evil.example"}), 421)


# -- sockets -------------------------------------------------------------------------------------------


@pytest.fixture
def socket(app_jobs):
    """An application with a socket for operators that says who is there."""

    def make(**options):
        app = app_jobs.asgi(**options)

        @needs("operator")
        async def echo(websocket):
            await websocket.accept()
            await websocket.send_text(person_of(websocket).name)
            await websocket.close()

        app.router.add_websocket_route("/api/echo", echo)
        return TestClient(app, HERE, client=("127.0.0.1", 1))

    return make


def test_c37_a_socket_is_opened_by_our_own_pages_with_the_role_only(socket):
    with socket().websocket_connect("ws://127.0.0.1/api/echo", headers={"Origin": HERE}) as opened:
        assert opened.receive_text() == "local"
    refused = [
        (socket(), {"Origin": FOREIGN}, "another site"),
        (socket(login=lambda _: None), {"Origin": HERE}, "log in"),
        (socket(login=lambda _: Person("ann", "viewer")), {"Origin": HERE}, "needs the role operator"),
        (socket(), {"Host": "evil.example"}, "not called"),
    ]
    for client, headers, words in refused:
        with pytest.raises(WebSocketDisconnect) as caught, client.websocket_connect("ws://127.0.0.1/api/echo", headers=headers):
            pass
        told = getattr(caught.value, "reason", "") or str(getattr(caught.value, "text", ""))
        assert words in told


# -- too much ------------------------------------------------------------------------------------------


def test_a_request_that_is_too_large_is_refused_before_it_is_read(app_jobs, client):
    most = limit_of(None, 0) + 4 * app_jobs.settings.argument_limit
    for path, limit in (("/api/jobs", most), ("/api/login", 4096), ("/api/queues/default/pause", limit_of(None, 0))):
        told = problem(client.post(path, content=b" " * (limit + 1)), 413, "too-large")
        assert f"{limit:,}" in told["detail"]
        pieces = (b" " * 4096 for _ in range(limit // 4096 + 1))
        problem(client.post(path, content=pieces, headers={"Content-Type": "application/json"}), 413)


def test_every_route_has_a_limit_of_its_body(app_jobs):
    limits = {route.endpoint: limit_of(route.endpoint, 262_144) for route in app_jobs.asgi().routes if hasattr(route, "endpoint")}
    assert sum(limit is None for limit in limits.values()) == 1  # files
    assert max(limit for limit in limits.values() if limit is not None) < 1_200_000


@pytest.mark.parametrize("depth", [81, 900, 30_000])
@pytest.mark.parametrize("path", ["/api/jobs", "/api/schedules", "/api/units/preview", "/api/bulk/preview", "/api/questions/{}/answer"])
def test_json_that_is_nested_too_deeply_is_refused_in_words(client, path, depth):
    value = "[" * depth + "]" * depth
    body = f'{{"task": "fail", "name": "x", "rule": "1h", "action": "cancel", "ids": {value}, "first": "2024", "value": {value}, "args": {{"message": {value}}}}}'
    said = {"content": body, "headers": {"Content-Type": "application/json"}}
    told = problem(client.post(path.format("0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f"), **said), 422)
    assert "nested more than 64 levels deep" in str(told), told


def test_the_depth_is_found_in_linear_time_and_brackets_in_strings_do_not_count():
    deep = b"[" * 81 + b"]" * 81
    assert is_too_deep(deep)
    assert not is_too_deep(b'{"a": "' + deep + b'", "b": [' + b"[]," * 1000 + b"[]]}")
    assert is_too_deep(b'{"a": "\\\\", "b": ' + deep + b"}")
    began = time.process_time()
    for body in (b'"' + b'\\"' * 500_000, b'"' * 1_000_001, b"[]," * 350_000, b"[" * 1_000_000):
        is_too_deep(body + b"[" * 100)
    assert time.process_time() - began < 5


def test_a_filter_with_too_many_words_is_refused_in_words(client):
    for words in ("a " * 1990, "-a " * 1300, "task:a " * 550):
        problem(client.get("/api/jobs", params={"q": words}), 422, "invalid-filter")
    assert client.get("/api/jobs", params={"q": "task:a " * 200}).status_code == 200


def test_a_compressed_body_is_not_opened(client):
    body = gzip.compress(b'{"task": "add", "args": {"a": ' + b" " * 50_000_000 + b"1}}")
    said = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    problem(client.post("/api/jobs", content=body, headers=said), 422)


async def test_a_body_that_comes_too_slowly_is_refused_wherever_it_is_read(monkeypatch):
    async def never():
        await asyncio.Event().wait()

    monkeypatch.setattr(bodies, "SECONDS", 0.05)
    monkeypatch.setattr(bodies, "PIECE_SECONDS", 0.05)
    for limit in (1000, None):
        with pytest.raises(HTTPException) as told:
            await asyncio.wait_for(bodies.bounded(never, limit)(), 10)
        assert told.value.status_code == 408


async def test_a_route_does_not_wait_for_a_body_for_ever(app_jobs, monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 0.05)
    app, sent = app_jobs.asgi(), []
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"x-jobtrail", b"1")]
    scope = {
        "type": "http", "method": "POST", "path": "/api/jobs", "raw_path": b"/api/jobs", "query_string": b"", "headers": headers,
        "scheme": "http", "server": ("localhost", 80), "client": ("127.0.0.1", 1), "http_version": "1.1", "root_path": "",
    }  # fmt: skip

    async def send(message):
        sent.append(message)

    await asyncio.wait_for(app(scope, asyncio.Event().wait, send), 10)
    assert sent[0]["status"] == 408


def test_who_may_not_is_told_so_before_the_body_is_read(seen_as):
    problem(seen_as("viewer").post("/api/jobs", content=b"{no json"), 403)


# -- what is answered ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/jobs", "/", "/healthz", "/api/nothing", "/api/jobs?q=x:y", "/jobs/1"])
def test_every_answer_carries_the_headers_that_protect_the_page(client, path):
    headers = client.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "server" not in headers


def test_health_reveals_nothing(clients, app_jobs):
    nobody = clients(login=lambda _request: None)
    assert (nobody.get("/healthz").text, nobody.get("/readyz").json()) == ("ok", {"ready": True})
    problem(nobody.get("/metrics"), 401)
    problem(nobody.get("/api/openapi.json"), 401)


def test_an_error_of_ours_that_nobody_foresaw_tells_nothing_of_the_inside(app_jobs, clients, monkeypatch):
    from jobtrail.store.search import search

    def broken(*_, **__):
        raise RuntimeError("secret place /etc/shadow")

    monkeypatch.setattr(search, "find", broken)
    told = problem(clients().get("/api/jobs"), 500, "internal")
    assert "shadow" not in str(told)


def test_a_database_that_is_away_is_said_so(app_jobs, clients, monkeypatch):
    from jobtrail.errors import StoreUnavailable

    client = clients()

    def away():
        raise StoreUnavailable("the database file is locked by another program")

    monkeypatch.setattr(app_jobs.service, "make_readable", away)
    answer = client.get("/api/jobs")
    problem(answer, 503, "store-unavailable")
    assert answer.headers["retry-after"]
    problem(client.get("/api/jobs", headers={"Authorization": "Bearer x"}), 503, "store-unavailable")
    answer = client.get("/readyz")
    assert problem(answer, 503, "not-ready")["ready"] is False
    assert answer.headers["retry-after"]
    assert client.get("/healthz").status_code == 200
