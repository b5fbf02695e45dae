"""Routes of plug-ins: what their functions receive, what is refused, and tokens that are bound to one thing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel, Field
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from trails import actions

from jobtrail import InvalidOption, JobTrail, Plugin, UsageError
from jobtrail.api import create_api
from jobtrail.cli import main
from jobtrail.store import tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from nowhere import Application  # type: ignore[import-not-found]

    from jobtrail.plugins.parts import Identity


class Activity(BaseModel):
    """What a module reports."""

    status: str = "ok"
    numbers: dict[str, float] = Field(default_factory=dict, max_length=3)


class Reported(BaseModel):
    """What is answered."""

    module: str
    rows: int


def office() -> Plugin:
    plugin = Plugin("office")

    @plugin.route("/modules/{name}/activity", method="POST", role="operator", plain=True, accepts="module", audit=False)
    def activity(jobs: Application, name: str, sent: Activity, dry: bool = False, *, identity: Identity) -> dict[str, Any]:
        """Report that a module lives."""
        return {
            "name": name, "status": sent.status, "numbers": sent.numbers, "dry": dry,
            "by": [identity.name, identity.role, identity.actor.split(":"), identity.bound_to],
        }  # fmt: skip

    @plugin.route("/modules/{number}", role="viewer")
    async def module(jobs: Application, number: int, limit: int = 5, tag: list[str] = [], word: str | None = None) -> Reported:
        return Reported(module=f"{number}/{tag}/{word}", rows=limit)

    @plugin.route("/needed", role="viewer")
    def needed(jobs: Application, day: str) -> str:
        return day

    return plugin


@pytest.fixture
def app_jobs(make_jobs: Callable[..., JobTrail]) -> JobTrail:
    return make_jobs(plugins=[office()])


@pytest.fixture
def client(app_jobs: JobTrail) -> TestClient:
    """A client on this machine, which is an admin."""
    headers = {"X-Jobtrail": "1"}
    return TestClient(create_api(app_jobs, local=True), base_url="http://127.0.0.1", client=("127.0.0.1", 5), headers=headers)


def token(jobs: JobTrail, **values: Any) -> dict[str, str]:
    """The header of a new token."""
    jobs.make_ready()
    given = {"name": "parser", "role": "operator", "actor": "person:ann", **values}
    _, text = jobs.store.write(lambda conn: tokens.create(conn, jobs.store.dialect, jobs.store.now(), **given))
    return {"Authorization": f"Bearer {text}"}


# -- what a function receives ----------------------------------------------------------------------------


def test_a_function_receives_path_body_query_and_who_calls(client: TestClient, app_jobs: JobTrail) -> None:
    sent = {"status": "warning", "numbers": {"rows": 12}}
    found = client.post("/api/modules/a%20b/activity?dry=true", json=sent)
    assert found.json() == {
        "name": "a b", "status": "warning", "numbers": {"rows": 12}, "dry": True,
        "by": ["local", "admin", ["person", "local"], None],
    }  # fmt: skip
    assert actions(app_jobs, "plugin_called") == []
    found = client.get("/api/plugins/office/modules/7?limit=2&tag=a&tag=b")
    assert found.json() == {"module": "7/['a', 'b']/None", "rows": 2}
    assert client.get("/api/plugins/office/needed?day=1").json() == "1"


@pytest.mark.parametrize(
    ("method", "path", "body", "where"),
    [
        ("POST", "/api/modules/x/activity", {"status": 5}, "$.status"),
        ("POST", "/api/modules/x/activity", {"numbers": {"a": 1, "b": 1, "c": 1, "d": 1}}, "$.numbers"),
        ("POST", "/api/modules/x/activity", None, "$"),
        ("POST", "/api/modules/x/activity?dry=perhaps", {}, "dry"),
        ("GET", "/api/plugins/office/modules/x", None, "number"),
        ("GET", "/api/plugins/office/modules/7?limit=many", None, "limit"),
        ("GET", "/api/plugins/office/needed", None, "day"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    client: TestClient, method: str, path: str, body: Any, where: str
) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == 422
    assert where in answer.json()["errors"][0]["path"]


def test_the_description_shows_it(client: TestClient) -> None:
    made = client.get("/api/openapi.json").json()
    activity = made["paths"]["/api/modules/{name}/activity"]["post"]
    assert activity["summary"] == "Report that a module lives."
    assert activity["x-role"] == "operator"
    assert activity["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Activity"}
    assert [(one["name"], one["in"]) for one in activity["parameters"]] == [("name", "path"), ("dry", "query")]
    module = made["paths"]["/api/plugins/office/modules/{number}"]["get"]
    assert module["responses"]["200"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Reported"}
    assert "request__" not in json.dumps(made)


# -- refused when declared or mounted --------------------------------------------------------------------


def misread(jobs: JobTrail, sent: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821
    """A function whose annotation nobody can read."""


def nothing_of_it(jobs: JobTrail) -> None:
    """A function that takes no parameter of a path."""


@pytest.mark.parametrize(
    ("path", "function", "words"),
    [
        ("/a", misread, "the annotation of 'sent' cannot be read: NameError"),
        ("/a/{id}", nothing_of_it, "does not take the parameter 'id' of the path"),
    ],
)
def test_a_function_that_does_not_fit_its_path_leaves_the_plugin_out(
    make_jobs: Callable[..., JobTrail], install: Any, path: str, function: Any, words: str
) -> None:
    plugin = Plugin("bad")
    plugin.route(path)(function)
    with pytest.raises(InvalidOption, match=words):
        make_jobs(plugins=[plugin])
    install("bad", "plugin = None")
    import jobtrail_bad

    jobtrail_bad.plugin = plugin
    (broken,) = make_jobs().plugins.broken
    assert words in broken.reason


def test_a_route_that_cannot_be_served_is_the_program_s_mistake_and_is_left_out_of_an_installed_plugin(
    make_jobs: Callable[..., JobTrail], install: Any, caplog: pytest.LogCaptureFixture
) -> None:
    source = "from jobtrail import Plugin\nplugin = Plugin('bad')\nplugin.route('/good')(lambda jobs: 1)\n"
    install("bad", source + "def f(jobs, x: object()): ...\n" + "plugin.route('/bad')(f)\n")
    app = create_api(make_jobs())
    assert "the route /bad of the plug-in 'bad' cannot be served" in caplog.text
    assert "/api/plugins/bad/good" in {getattr(route, "path", "") for route in app.router.routes}
    import jobtrail_bad

    with pytest.raises(InvalidOption, match="the route /bad of the plug-in 'bad' cannot be served"):
        create_api(make_jobs(plugins=[jobtrail_bad.plugin]))


def test_a_route_that_accepts_bound_tokens_has_the_name_in_its_path() -> None:
    with pytest.raises(InvalidOption, match=r"its path needs a parameter \{name\}"):
        Plugin("office").route("/modules/{id}", accepts="module")
    with pytest.raises(InvalidOption, match="what the tokens of a route are bound to must be"):
        Plugin("office").route("/modules/{name}", accepts="a module")


# -- bound tokens ----------------------------------------------------------------------------------------


def test_a_bound_token_calls_its_own_route_and_nothing_else(client: TestClient, app_jobs: JobTrail) -> None:
    bound = token(app_jobs, bound_to="module:parser")
    found = client.post("/api/modules/parser/activity", json={}, headers=bound)
    assert found.json()["by"] == ["parser", "operator", ["token", "parser"], "module:parser"]
    for method, path in (
        ("POST", "/api/modules/other/activity"),
        ("POST", "/api/modules/parserx/activity"),
        ("GET", "/api/plugins/office/modules/7"),
        ("GET", "/api/jobs"),
        ("POST", "/api/jobs"),
        ("GET", "/api/openapi.json"),
    ):
        refused = client.request(method, path, json={}, headers=bound)
        assert (refused.status_code, refused.json()["code"]) == (403, "bound-token"), path
    assert refused.json()["detail"] == "this token may be used for module:parser only"
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/live", headers=bound):
        pass
    text = bound["Authorization"].removeprefix("Bearer ")
    begun = client.post("/api/login", json={"token": text})
    assert (begun.status_code, begun.json()["code"]) == (403, "bound-token")
    assert "set-cookie" not in begun.headers


def test_its_role_and_the_kind_of_its_binding_count_too(client: TestClient, app_jobs: JobTrail) -> None:
    weak = token(app_jobs, bound_to="module:parser", role="viewer")
    assert client.post("/api/modules/parser/activity", json={}, headers=weak).json()["code"] == "role-needed"
    other = token(app_jobs, bound_to="probe:parser")
    assert client.post("/api/modules/parser/activity", json={}, headers=other).json()["code"] == "bound-token"
    free = token(app_jobs)
    assert client.post("/api/modules/parser/activity", json={}, headers=free).json()["by"][3] is None


@pytest.mark.parametrize("bound_to", ["", "module", "module:", ":parser", "Module:parser", "module: x", "module:a\nb", "m:" + "x" * 201])
def test_a_binding_that_could_not_be_met_is_refused(app_jobs: JobTrail, bound_to: str) -> None:
    with pytest.raises(UsageError, match="a token is bound to a kind and a name"):
        token(app_jobs, bound_to=bound_to)
    assert app_jobs.queries.tokens().tokens == []


def test_the_command_line_makes_and_shows_them(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOBTRAIL_URL", "sqlite:///jobs.db")
    given = ["token", "create", "--role", "operator", "--name", "parser", "--bound-to"]
    assert main([*given, "module:parser", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bound_to"] == "module:parser"
    assert main([*given, "parser"]) == 2
    assert "such as module:parser" in capsys.readouterr().err
    assert main(["token", "list"]) == 0
    assert "operator for module:parser" in capsys.readouterr().out
    assert main(["token", "list", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["tokens"]
    assert line["bound_to"] == "module:parser"
