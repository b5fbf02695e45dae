"""All routes, as the application has them: each has a rule, a description, and is closed to who has no right."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from api_app import LOOKS, OPEN, add_tasks, problem
from fastapi.routing import APIRoute
from jsonschema import Draft202012Validator, FormatChecker
from starlette.routing import Mount, WebSocketRoute

from jobtrail import JobTrail, Plugin
from jobtrail.api.auth.guard import ANYONE, rule_of
from jobtrail.api.server import PARTS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def url(sqlite_url):
    """One database: nothing here depends on which it is."""
    return sqlite_url


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    jobs = add_tasks(JobTrail(f"sqlite:///{tmp_path_factory.mktemp('routes') / 'jobs.db'}"))
    yield jobs.asgi(login=lambda _request: None)
    jobs.close()


@pytest.fixture(scope="module")
def with_examples(tmp_path_factory):
    """The description as the documentation has it."""
    spec = importlib.util.spec_from_file_location("api_description", ROOT / "scripts/api_description.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    jobs = add_tasks(JobTrail(f"sqlite:///{tmp_path_factory.mktemp('examples') / 'jobs.db'}"))
    yield script.described(jobs)
    jobs.close()


def endpoint_of(route):
    return route.app if isinstance(route, Mount) else route.endpoint


def methods_of(route):
    return sorted((getattr(route, "methods", None) or {"GET"}) - {"HEAD"})


def test_c37_every_route_says_who_may_call_it(app):
    assert len(app.routes) > 20
    assert [route.path for route in app.routes if rule_of(endpoint_of(route)) is None] == []


def test_what_anyone_may_call_stands_in_a_list(app):
    assert {route.path for route in app.routes if rule_of(endpoint_of(route)) == ANYONE} <= OPEN


def test_whatever_changes_something_needs_more_than_a_viewer(app):
    safe = {"GET", "HEAD", "OPTIONS"}
    changing = [route for route in app.routes if not set(methods_of(route)) <= safe and route.path not in OPEN | LOOKS]
    assert len(changing) >= 6
    assert [route.path for route in changing if rule_of(endpoint_of(route)) not in {"operator", "admin"}] == []


def test_c37_nobody_gets_nothing_from_any_closed_route(app):
    from starlette.testclient import TestClient

    client = TestClient(app, "http://127.0.0.1", headers={"X-Jobtrail": "1"})
    for route in app.routes:
        if rule_of(endpoint_of(route)) == ANYONE or isinstance(route, WebSocketRoute):
            continue
        path = re.sub(r"\{[^}]*\}", "01", route.path)
        for method in methods_of(route):
            problem(client.request(method, path), 401, "login-needed")


def test_every_part_that_is_there_has_joined(app):
    """A file of routes whose name is not in the list would be left out in silence."""
    import importlib
    import pkgutil

    from jobtrail import api
    from jobtrail.api import live, routes

    modules = [
        importlib.import_module(f"{package.__name__}.{one.name}")
        for package in (api, live, routes) for one in pkgutil.iter_modules(package.__path__)
    ]  # fmt: skip
    makers = {one.__name__ for one in modules if hasattr(one, "make")}
    assert makers == {part.__name__ for part in PARTS}


# -- the description -----------------------------------------------------------------------------------


def operations(described):
    return [(path, method, one) for path, by_method in described["paths"].items() for method, one in by_method.items()]


def answers(described, operation):
    """By status; a refusal stands among the components."""
    shared = described["components"]["responses"]
    return {
        status: shared[answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer
        for status, answer in operation["responses"].items()
    }


def test_every_route_is_described_with_a_stable_name_and_its_role(app):
    described = app.openapi()
    routes = [route for route in app.routes if isinstance(route, APIRoute) and route.include_in_schema]
    found = operations(described)
    assert len(found) == sum(len(methods_of(route)) for route in routes)
    names = [one["operationId"] for _, _, one in found]
    assert len(set(names)) == len(names)
    assert [name for name in names if "__" in name or "_api_" in name] == []  # none that was made up from the path
    assert [path for path, _, one in found if not one.get("summary")] == []
    assert {one["x-role"] for _, _, one in found} <= {"anyone", "viewer", "operator", "admin"}


def test_no_two_shapes_share_a_name(app):
    assert [name for name in app.openapi()["components"]["schemas"] if "__" in name] == []


def test_errors_are_described_as_problems(app):
    described = app.openapi()
    assert "Problem" in described["components"]["schemas"]
    assert "HTTPValidationError" not in described["components"]["schemas"]
    for path, method, one in operations(described):
        for status, answer in answers(described, one).items():
            if int(status) >= 400:
                assert list(answer["content"]) == ["application/problem+json"], (path, method, status)


def test_what_the_guard_refuses_is_described_of_every_operation(app):
    for path, method, one in operations(app.openapi()):
        assert {type(status) for status in one["responses"]} == {str}, (method, path)  # or JSON would have it twice
        told = {int(status) for status in one["responses"]}
        assert told >= {503}, (method, path)
        assert told >= {421} or path in {"/healthz", "/readyz"}, (method, path)
        assert told >= {401, 403, 429} or one["x-role"] == "anyone", (method, path)
        assert told >= {413} or "requestBody" not in one, (method, path)


def test_every_parameter_request_and_answer_has_an_example_that_fits(with_examples):
    described = with_examples
    told = []
    for path, method, one in operations(described):
        told += [(path, method, part["name"], part) for part in one.get("parameters", ())]
        for status, part in [("body", one.get("requestBody", {})), *answers(described, one).items()]:
            told += [(path, method, status, media) for media in part.get("content", {}).values()]
    assert len(told) > 500
    assert [place for *place, part in told if part.get("example") is None] == []
    for *place, part in told:
        whole = {**part.get("schema", {}), "components": described["components"]}
        found = Draft202012Validator(whole, format_checker=FormatChecker()).iter_errors(part["example"])
        assert [(place, list(one.path), one.message) for one in found] == []


def test_each_refusal_shows_itself_as_its_example(with_examples):
    described = with_examples
    for path, method, one in operations(described):
        for status, answer in answers(described, one).items():
            for media in answer.get("content", {}).values():
                assert int(status) < 400 or media["example"]["status"] == int(status), (method, path)
                assert int(status) < 400 or media["example"]["code"] != "refused", (method, path)


def test_the_description_is_served_with_the_place_it_is_at(app_jobs, clients):
    told = clients(prefix="/jobs").get("/jobs/api/openapi.json").json()
    assert told["openapi"].startswith("3.")
    assert told["servers"] == [{"url": "/jobs"}]


# -- what FastAPI itself refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "not-found"),
        ("POST", "/api/nothing", 404, "not-found"),
        ("DELETE", "/api/jobs", 405, "method-not-allowed"),
        ("GET", "/api/jobs?limit=x", 422, "invalid-request"),
        ("GET", "/api/jobs?limit=0", 422, "invalid-request"),
        ("POST", "/", 405, "method-not-allowed"),
    ],
)
def test_every_refusal_is_a_problem(client, method, path, status, code):
    answer = client.request(method, path)
    problem(answer, status, code)
    if status == 405:
        assert answer.headers["allow"]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/jobs", "GET, POST"),
        ("/api/schedules", "GET, POST"),
        ("/api/schedules/nightly", "DELETE, GET, PATCH"),
        ("/api/schedules/nightly/pause", "DELETE, GET, PATCH, POST"),  # a schedule may be called "nightly/pause"
        ("/healthz", "GET, HEAD"),
    ],
)
def test_a_method_that_an_address_does_not_take_is_answered_with_all_that_it_takes(client, path, methods):
    answer = client.request("PUT", path)
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == methods


@pytest.mark.parametrize(
    ("body", "said"), [(b"\xff\xfe{", "is not JSON"), (b"[" * 40_000, "is nested more than 64 levels deep")]
)
def test_a_body_that_is_no_json_at_all_is_a_request_that_does_not_fit(client, body, said):
    told = problem(client.post("/api/jobs", content=body, headers={"Content-Type": "application/json"}), 422, "invalid-request")
    assert told["errors"][0]["path"] == "$"
    assert told["errors"][0]["detail"].startswith(said)


def test_a_moment_is_written_and_not_counted(client):
    """0 would be 1970, and 20130201 a day in August of that year."""
    for said in ("0", "20130201", "2013-02-01"):
        told = problem(client.get(f"/api/audit?since={said}"), 422, "invalid-request")
        assert told["errors"][0] == {"path": "since", "detail": "must be a time with its offset, such as 2013-02-01T03:00:00Z"}
    problem(client.post("/api/jobs", json={"task": "add", "args": {"a": 1}, "run_at": 1_700_000_000}), 422, "invalid-request")
    assert client.get("/api/audit?since=2013-02-01T03:00:00Z").status_code == 200
    told = problem(client.get("/api/audit?since=2013-02-01T03:00:00"), 422, "invalid-request")
    assert "since must be a time with its offset" in told["detail"]


def test_what_does_not_fit_is_named_by_its_path(client):
    told = problem(client.post("/api/jobs", json={"task": "add", "file": {"upload": 1}}), 422)
    assert told["errors"][0]["path"] == "$.file.upload"
    assert "$.file.upload" in told["detail"]
    told = problem(client.post("/api/jobs", content=b"{no", headers={"Content-Type": "application/json"}), 422)
    assert told["errors"][0]["detail"].startswith("is not JSON")


# -- plug-ins ------------------------------------------------------------------------------------------


def test_addresses_of_plug_ins_are_behind_the_same_guard(make_jobs):
    from starlette.testclient import TestClient
    from trails import actions

    from jobtrail.api import Person

    plugin = Plugin("weather")

    @plugin.route("/stations/{station}", role="viewer")
    def station(jobs, station):
        return {"station": station, "password": "x", "at": {1, 2}}

    @plugin.route("/reset", method="POST")
    async def reset(jobs):
        return None

    jobs = make_jobs(plugins=[plugin])
    app = jobs.asgi(login=lambda request: Person("ann", request.headers["x-role"]))
    client = TestClient(app, headers={"X-Jobtrail": "1"})
    found = client.get("/api/plugins/weather/stations/EWR", headers={"X-Role": "viewer"})
    assert found.json() == {"station": "EWR", "password": "•••", "at": [1, 2]}
    problem(client.post("/api/plugins/weather/reset", headers={"X-Role": "operator"}), 403, "role-needed")
    assert client.post("/api/plugins/weather/reset", headers={"X-Role": "admin"}).status_code == 200
    (told,) = actions(jobs, "plugin_called")
    assert (told["actor"], told["target"]) == ("person:ann", "POST /api/plugins/weather/reset")


# -- the console ---------------------------------------------------------------------------------------


@pytest.fixture
def built(tmp_path, monkeypatch):
    from jobtrail.api import server

    (tmp_path / "static/assets").mkdir(parents=True)
    (tmp_path / "static/index.html").write_text("<!doctype html><html><head><title>c</title></head></html>")
    (tmp_path / "static/assets/app-1.js").write_text("1")
    (tmp_path / "static/assets/app-2.js").write_text("let it = 1;" * 1000)
    monkeypatch.setattr(server, "STATIC", tmp_path / "static")


def test_every_address_of_the_console_gives_its_page_with_the_place_it_is_at(built, clients):
    client = clients(prefix="/tasks")
    for path in ("/", "/jobs/1", "/coverage/a/b"):
        for asked in (path, f"/tasks{path}"):
            answer = client.get(asked)
            assert '<head><base href="/tasks/">' in answer.text
            assert answer.headers["cache-control"] == "no-cache"
    asset = client.get("/assets/app-1.js")
    assert (asset.text, asset.headers["cache-control"]) == ("1", "public, max-age=31536000, immutable")
    for coding in ("gzip", "identity"):
        asset = client.get("/assets/app-2.js", headers={"Accept-Encoding": coding})
        assert len(asset.text) == 11_000
        assert asset.headers.get("content-encoding", "identity") == coding
        assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    for lost in ("/assets/none.js", "/assets/..%2findex.html", "/assets/%2e%2e/index.html"):
        problem(client.get(lost), 404)


def test_without_a_built_console_one_line_says_how_to_build_it(clients, tmp_path, monkeypatch):
    from jobtrail.api import server

    monkeypatch.setattr(server, "STATIC", tmp_path)
    assert "The console is not built" in clients().get("/").text


def test_every_route_stands_in_the_reference(app):
    page = (Path(__file__).parents[2] / "docs/reference/api.md").read_text("utf-8")
    lines = [
        f"| `{method.upper()} {path}` | {one['x-role']} | {one['summary'][0].lower()}{one['summary'][1:]} |"
        for path, method, one in operations(app.openapi())
    ]
    assert [line for line in lines if line not in page] == [], "lines to be added to docs/reference/api.md"
    told = re.findall(r"^\| `([A-Z]+ /\S+)` \|", page, flags=re.MULTILINE)
    known = {line.split("`")[1] for line in lines}
    assert [route for route in told if route not in known and "WebSocket" not in route] == []
