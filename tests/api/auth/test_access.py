"""Who somebody is, and what that allows: tokens, sessions, the host's login, proxies, this machine."""

from __future__ import annotations

from datetime import timedelta

import pytest
from api_app import HERE, OURS, problem
from sqlalchemy import select, update
from starlette.testclient import TestClient
from trails import actions

from jobtrail.api import Person
from jobtrail.api.auth import sessions
from jobtrail.database import tables
from jobtrail.errors import InvalidOption
from jobtrail.store import tokens

FAR = "203.0.113.9"


@pytest.fixture
def token(app_jobs):
    """Makes tokens; gives the text."""

    def make(role="operator", name="ci", **rest):
        app_jobs.service.make_ready()
        store = app_jobs.store
        return store.write(
            lambda conn: tokens.create(conn, store.dialect, store.now(), name=name, role=role, actor="person:ann", **rest)
        )[1]

    return make


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


# -- this machine --------------------------------------------------------------------------------------


def test_without_a_login_this_machine_is_admin_and_others_are_nobody(clients):
    assert clients().get("/api/me").json() | {"version": ""} == {
        "name": "local", "role": "admin", "how": "local", "login": ["token"], "version": "",
    }  # fmt: skip
    assert clients(address="::1").get("/api/jobs").status_code == 200
    assert clients(address="::ffff:127.0.0.1").get("/api/jobs").status_code == 200
    told = problem(clients(address=FAR).get("/api/jobs"), 401, "login-needed")
    assert "say who you are" in told["detail"]


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto", "Via", "CF-Connecting-IP",
        "X-Client-IP", "True-Client-IP",
    ],
)  # fmt: skip
def test_what_was_carried_here_from_elsewhere_is_not_of_this_machine(clients, header):
    problem(clients().get("/api/jobs", headers={header: FAR}), 401, "login-needed")


def test_a_host_with_its_own_login_has_no_admin_without_one(clients):
    problem(clients(login=lambda _request: None).get("/api/jobs"), 401)


# -- the host's login ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sync", "async", "object"])
def test_the_hosts_callable_says_who_somebody_is(clients, kind):
    def who(request):
        name = request.headers.get("x-user")
        return Person(name, "operator") if name else None

    async def awho(request):
        return who(request)

    class Who:
        async def __call__(self, request):
            return who(request)

    client = clients(login={"sync": who, "async": awho, "object": Who()}[kind], address=FAR)
    problem(client.get("/api/jobs"), 401)
    me = client.get("/api/me", headers={"X-User": "ann"}).json()
    assert (me["name"], me["role"], me["how"], me["login"]) == ("ann", "operator", "login", ["host", "token"])


def test_a_login_that_breaks_or_answers_nonsense_lets_nobody_in(clients):
    def broken(_request):
        raise RuntimeError("s3cr3t-XYZ")

    answer = clients(login=broken).get("/api/jobs")
    assert answer.status_code == 500
    assert "s3cr3t-XYZ" not in answer.text
    problem(clients(login=lambda _request: "ann").get("/api/jobs"), 422)


def test_a_role_that_there_is_not_is_refused():
    with pytest.raises(InvalidOption, match="there is no role 'root'"):
        Person("ann", "root")


# -- roles ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "reads", "acts"), [(None, 401, 401), ("viewer", 200, 403), ("operator", 200, 201), ("admin", 200, 201)]
)
def test_each_role_may_do_what_those_before_it_may(seen_as, role, reads, acts):
    client = seen_as(role)
    assert client.get("/api/jobs").status_code == reads
    assert client.post("/api/jobs", json={"task": "add", "args": {"a": 1}}).status_code == acts


def test_what_a_viewer_may_not_do_is_said_on_the_page(app_jobs, seen_as):
    job = app_jobs.task_named("add").enqueue(a=1)
    offered = seen_as("viewer").get(f"/api/jobs/{job.id}").json()["actions"]
    assert not any(one["allowed"] for one in offered)
    cancel = next(one for one in offered if one["name"] == "cancel")
    assert cancel["why_not"] == "this needs the role operator; yours is viewer"


# -- tokens --------------------------------------------------------------------------------------------


def test_a_token_opens_from_anywhere_with_its_role_and_is_named_in_the_trail(app_jobs, clients, token):
    client = clients(address=FAR, headers={})
    answer = client.post("/api/jobs", json={"task": "add", "args": {"a": 1}}, headers=bearer(token(name="ci")))
    assert app_jobs.get(answer.json()["job"]["id"]).actor == "token:ci"
    problem(client.post("/api/jobs", json={"task": "add"}, headers=bearer(token("viewer"))), 403, "role-needed")


def test_a_token_that_is_wrong_revoked_or_over_its_time_opens_nothing_even_here(app_jobs, clients, token):
    client, store = clients(), app_jobs.store
    good, gone = token(name="good"), token(name="gone")
    over = token(name="over", expires_at=store.now() - timedelta(seconds=1))
    store.write(lambda conn: tokens.revoke(conn, store.dialect, "gone", store.now(), actor="person:ann"))
    for text in (gone, over, good + "x", "jt_", ""):
        problem(client.get("/api/jobs", headers=bearer(text)), 401, "bad-token")
    assert client.get("/api/jobs", headers=bearer(good)).status_code == 200


def test_where_no_tokens_are_taken_one_is_worth_nothing(clients, token):
    text = token()
    client = clients(tokens=False, address=FAR)
    problem(client.get("/api/jobs", headers=bearer(text)), 401)
    problem(client.post("/api/login", json={"token": text}), 401)


def test_when_a_token_was_used_last_is_known(app_jobs, clients, token):
    clients(address=FAR).get("/api/jobs", headers=bearer(token()))
    with app_jobs.store.read() as conn:
        assert tokens.all_of(conn)[0]["used_at"] is not None


# -- sessions ------------------------------------------------------------------------------------------


def test_a_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(clients, token):
    client = clients(address=FAR)
    problem(client.get("/api/jobs"), 401)
    answer = client.post("/api/login", json={"token": token(name="ann")})
    assert (answer.json()["name"], answer.json()["how"]) == ("ann", "session")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert token.__name__ not in cookie
    assert client.get("/api/me").json()["name"] == "ann"
    assert client.post("/api/jobs", json={"task": "add", "args": {"a": 1}}).status_code == 201
    assert client.post("/api/logout").status_code == 204
    problem(client.get("/api/jobs"), 401)


def test_a_cookie_is_worth_what_its_token_is_worth_in_every_process(app_jobs, clients, token):
    client = clients(address=FAR)
    client.post("/api/login", json={"token": token(name="ann")})
    cookie = {"Cookie": f"{sessions.COOKIE}={client.cookies[sessions.COOKIE]}"}
    assert clients(address=FAR).get("/api/jobs", headers=cookie).status_code == 200
    store = app_jobs.store
    store.write(lambda conn: tokens.revoke(conn, store.dialect, "ann", store.now(), actor="person:bob"))
    problem(client.get("/api/jobs"), 401)


def test_a_forged_or_old_cookie_is_nobody(app_jobs, clients, token):
    client = clients(address=FAR)
    client.post("/api/login", json={"token": token()})
    good = client.cookies[sessions.COOKIE]
    client.cookies.clear()
    for forged in (good[:-1], good + "A", "x" * 43, ""):
        problem(client.get("/api/jobs", headers={"Cookie": f"{sessions.COOKIE}={forged}"}), 401)
    kept = {"Cookie": f"{sessions.COOKIE}={good}"}  # whatever a browser does after its time
    assert client.get("/api/jobs", headers=kept).status_code == 200
    store = app_jobs.store
    with store.read() as conn:
        lasts = conn.execute(select(tables.sessions.c.expires_at)).scalar_one() - store.now()
    assert abs(lasts.total_seconds() - sessions.LASTS) < 60
    store.write(lambda conn: conn.execute(update(tables.sessions).values(expires_at=store.now())))
    problem(client.get("/api/jobs", headers=kept), 401)


@pytest.mark.both_databases
def test_a_logout_ends_the_session_on_the_server_and_no_other(clients, token):
    text, here, there = token(), clients(address=FAR), clients(address=FAR)
    for client in (here, there):
        client.post("/api/login", json={"token": text})
    kept = {"Cookie": f"{sessions.COOKIE}={here.cookies[sessions.COOKIE]}"}
    assert here.post("/api/logout").status_code == 204
    problem(clients(address=FAR).get("/api/jobs", headers=kept), 401)
    assert there.get("/api/jobs").status_code == 200
    assert here.post("/api/logout").status_code == 204


def test_nothing_in_the_database_opens_a_session(app_jobs, clients, token):
    client = clients(address=FAR)
    text = token(role="admin")
    cookies = set()
    for _ in range(3):
        client.post("/api/login", json={"token": text})
        cookies.add(client.cookies[sessions.COOKIE])
    assert len(cookies) == 3, "a cookie that is worked out from the token and the time can be worked out by others"
    with app_jobs.store.read() as conn:
        rows = [row for table in (tables.tokens, tables.sessions) for row in conn.execute(table.select())]
    kept = {value for row in rows for value in row if isinstance(value, str)}
    assert len(kept) >= 6
    assert client.cookies[sessions.COOKIE] not in kept
    other = clients(address=FAR)
    for one in kept:
        problem(other.get("/api/jobs", headers={"Cookie": f"{sessions.COOKIE}={one}"}), 401)


def test_logins_logouts_and_failures_are_in_the_audit_and_failures_do_not_fill_it(app_jobs, clients, token):
    client = clients(address=FAR)
    client.post("/api/login", json={"token": token(name="ann")})
    client.post("/api/logout")
    for name in ("logged_in", "logged_out"):
        (told,) = actions(app_jobs, name)
        assert (told["actor"], told["target"]) == ("token:ann", FAR)
    for _ in range(sessions.MOST_FAILURES + 5):
        client.post("/api/login", json={"token": "jt_guess"})
    assert [told["detail"]["failures"] for told in actions(app_jobs, "login_failed")] == [sessions.MOST_FAILURES, 1]
    shown = clients().get("/api/audit").json()["entries"]
    assert {"logged_in", "logged_out", "login_failed", "token_created"} <= {one["name"] for one in shown}
    store = app_jobs.store
    store.write(lambda conn: tokens.revoke(conn, store.dialect, "ann", store.now(), actor="person:bob"))
    (told,) = actions(app_jobs, "token_revoked")
    assert (told["actor"], told["target"]) == ("person:bob", "ann")
    attempts = sessions.LoginAttempts()
    for n in range(3 * sessions.MOST_LINES):
        attempts.begin(str(n))
    assert sum(bool(attempts.to_record(str(n))) for n in range(3 * sessions.MOST_LINES)) == sessions.MOST_LINES


def test_behind_a_trusted_proxy_that_speaks_https_the_cookie_is_secure(clients, token):
    client = clients(address="10.0.0.1", trusted_proxies=["10.0.0.0/8"])
    text = token()
    answer = client.post("/api/login", json={"token": text}, headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in answer.headers["set-cookie"]
    other = clients(address="10.0.0.1")
    answer = other.post("/api/login", json={"token": text}, headers={"X-Forwarded-Proto": "https"})
    assert "Secure" not in answer.headers["set-cookie"]


# -- guessing ------------------------------------------------------------------------------------------


def test_who_fails_too_often_has_to_wait_and_others_do_not(app_jobs, token):
    app, text = app_jobs.asgi(local=False), token()

    def at(address):
        return TestClient(app, HERE, client=(address, 1), headers=OURS)

    for _ in range(sessions.MOST_FAILURES):
        problem(at(FAR).post("/api/login", json={"token": "jt_guess"}), 401)
    told = at(FAR).post("/api/login", json={"token": text})
    problem(told, 429, "too-many-failures")
    assert 0 < int(told.headers["retry-after"]) <= sessions.WITHIN + 1
    problem(at(FAR).get("/api/jobs", headers=bearer("jt_guess")), 429)
    assert at("203.0.113.10").post("/api/login", json={"token": text}).status_code == 200
    assert at(FAR).get("/api/jobs", headers=bearer(text)).status_code == 200  # who has a good token is not held up by a neighbour


def test_failures_are_forgotten_in_time_and_their_memory_is_bounded(monkeypatch):
    attempts = sessions.LoginAttempts()
    now = [0.0]
    monkeypatch.setattr(sessions.time, "monotonic", lambda: now[0])
    for _ in range(sessions.MOST_FAILURES):
        attempts.begin("a")
    with pytest.raises(Exception, match="too many logins"):
        attempts.begin("a")
    now[0] = sessions.WITHIN + 1
    attempts.begin("a")
    for n in range(sessions.REMEMBERED + 100):
        attempts.begin(str(n))
    assert len(attempts._failures) == sessions.REMEMBERED


def test_a_good_login_is_no_failure_and_a_body_that_is_none_is_one(app_jobs, clients, token):
    client, text = clients(address=FAR), token()
    for _ in range(2 * sessions.MOST_FAILURES):
        assert client.post("/api/login", json={"token": text}).status_code == 200
    for _ in range(sessions.MOST_FAILURES):
        problem(client.post("/api/login", content=b"{", headers={"Content-Type": "application/json"}), 422)
    problem(client.post("/api/login", json={"token": text}), 429)


# -- proxies -------------------------------------------------------------------------------------------


def test_a_proxys_header_counts_from_its_address_only(clients):
    said = {"proxy_header": "X-Remote-User", "trusted_proxies": ["10.0.0.1"], "proxy_roles": {"ann": "admin", "*": "viewer"}}
    near, far = clients(address="10.0.0.1", **said), clients(address=FAR, **said)
    assert near.get("/api/me", headers={"X-Remote-User": "ann"}).json()["role"] == "admin"
    assert near.get("/api/me", headers={"X-Remote-User": "annex"}).json()["role"] == "viewer"
    problem(near.get("/api/jobs"), 401)
    problem(far.get("/api/jobs", headers={"X-Remote-User": "ann"}), 401)
    problem(clients(**said).get("/api/jobs", headers={"X-Remote-User": "ann"}), 401)  # nor is this machine trusted by itself


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"proxy_header": "X-User"}, "needs trusted_proxies"),
        ({"proxy_header": "X-User", "trusted_proxies": ["10.0.0.1"]}, "needs proxy_roles"),
        ({"proxy_header": "X-User", "trusted_proxies": ["10.0.0.1"], "proxy_roles": {"*": "root"}}, "there is no role 'root'"),
        ({"trusted_proxies": ["my-proxy"]}, "must be addresses"),
    ],
)
def test_a_way_to_log_in_that_cannot_be_is_refused_at_once(app_jobs, options, words):
    with pytest.raises(InvalidOption, match=words):
        app_jobs.asgi(**options)


# -- what people did -----------------------------------------------------------------------------------


def test_an_upload_is_in_the_trail_of_what_people_did(app_jobs, seen_as):
    assert seen_as("operator").post("/api/files?name=a.csv", content=b"x").status_code == 201
    (one,) = actions(app_jobs, "file_uploaded")
    assert (one["actor"], one["detail"]["name"]) == ("person:ann", "a.csv")
