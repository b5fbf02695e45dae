"""Pages and live topics of plug-ins: who may see them, what is served, and what is sent while somebody listens."""

from __future__ import annotations

import contextlib
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from live_server import Live, serving
from starlette.testclient import TestClient

from jobtrail import InvalidOption, JobTrail, Plugin
from jobtrail.api import Person, create_api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from live_server import Serving

TITLE = {"en": "Modules", "ru": "Модули"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as a package has it: modules beside sources that nobody may read."""
    made = tmp_path / "package"
    (made / "parts").mkdir(parents=True)
    for name in ("page.js", "admin.js", "parts/chart.mjs", "look.css", "secret.py", "settings.json"):
        (made / name).write_text(f"/* {name} */")
    (tmp_path / "outside.js").write_text("/* outside */")
    (made / "link.js").symlink_to(tmp_path / "outside.js")
    return made


@pytest.fixture
def plugin(folder: Path) -> Plugin:
    one = Plugin("office")
    one.page("modules", title=TITLE, module="page.js", folder=folder, strip=True)
    one.page("settings", title={"en": "Settings"}, module="admin.js", role="admin", folder=folder)
    return one


@pytest.fixture
def ask(make_jobs: Callable[..., JobTrail], plugin: Plugin) -> Iterator[Callable[..., Any]]:
    """Asks the API as somebody with a role, or as nobody."""
    app = create_api(make_jobs(plugins=[plugin]), login=_of_header)
    with TestClient(app) as client:

        def get(path: str, role: str | None = "viewer", **headers: str) -> Any:
            return client.get(path, headers={**({"X-Role": role} if role else {}), **headers})

        yield get


def _of_header(request: Any) -> Person | None:
    role = request.headers.get("x-role")
    return Person("ann", role) if role else None


# -- pages -----------------------------------------------------------------------------------------------


def test_the_list_has_the_pages_of_the_caller_s_role_in_the_caller_s_language(ask: Callable[..., Any]) -> None:
    (page,) = ask("/api/plugin-pages").json()["pages"]
    assert page == {
        "plugin": "office", "name": "modules", "title": "Modules", "module": "plugin-pages/office/page.js", "strip": True,
    }  # fmt: skip
    found = ask("/api/plugin-pages", "admin", **{"Accept-Language": "ru"}).json()["pages"]
    assert [one["title"] for one in found] == ["Модули", "Settings"]
    assert ask("/api/plugin-pages", None).status_code == 401


def test_modules_are_served_with_their_type_behind_the_same_guard(ask: Callable[..., Any]) -> None:
    for path, kind in (("page.js", "text/javascript"), ("parts/chart.mjs", "text/javascript"), ("look.css", "text/css")):
        answer = ask(f"/plugin-pages/office/{path}")
        assert (answer.status_code, answer.text) == (200, f"/* {path} */")
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert ask(f"/plugin-pages/office/{path}", None).status_code == 401
        again = ask(f"/plugin-pages/office/{path}", **{"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    refused = ask("/plugin-pages/office/admin.js")
    assert (refused.status_code, refused.json()["code"]) == (403, "role-needed")
    assert ask("/plugin-pages/office/admin.js", "admin").status_code == 200


@pytest.mark.parametrize(
    "path",
    ["secret.py", "settings.json", "none.js", "link.js", "..%2Foutside.js", "parts/..%2F..%2Foutside.js", "parts", "page.js%00.js", ""],
)
def test_nothing_else_of_the_package_is_served(ask: Callable[..., Any], path: str) -> None:
    assert ask(f"/plugin-pages/office/{path}", "admin").status_code == 404


def test_a_plugin_without_pages_has_no_folder(make_jobs: Callable[..., JobTrail]) -> None:
    app = create_api(make_jobs(plugins=[Plugin("shy")]), local=True)
    client = TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 5))
    assert client.get("/api/plugin-pages").json() == {"pages": []}


def test_the_folder_is_that_of_the_file_that_declares(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "declares.py").write_text(
        "from jobtrail import Plugin\nplugin = Plugin('own')\nplugin.page('a', title={'en': 'A'}, module='page.js')\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    import declares  # type: ignore[import-not-found]

    assert declares.plugin.pages["a"].folder == folder


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "My Page"}, "the name of a page must be"),
        ({"name": "modules"}, "has two pages called 'modules'"),
        ({"role": "anybody"}, "the role of a page must be one of"),
        ({"title": {"ru": "Модули"}}, "the title of the page 'other'"),
        ({"title": {"en": ""}}, "the title of the page 'other'"),
        ({"module": "none.js"}, "'none.js' is none"),
        ({"module": "secret.py"}, "'secret.py' is none"),
        ({"module": "../outside.js"}, "is none"),
        ({"module": "look.css"}, "'look.css' is none"),
    ],
)
def test_a_page_that_could_not_be_shown_is_refused(plugin: Plugin, folder: Path, given: dict[str, Any], words: str) -> None:
    whole = {"name": "other", "title": TITLE, "module": "page.js", "folder": folder, **given}
    with pytest.raises(InvalidOption, match=words):
        plugin.page(whole.pop("name"), **whole)


# -- live topics -----------------------------------------------------------------------------------------


def office(answers: dict[str, Any], asked: list[str]) -> Plugin:
    plugin = Plugin("office")

    @plugin.live_topic("modules")
    def modules(jobs: JobTrail, parameter: str) -> Any:
        asked.append(parameter)
        value = answers["value"]
        if isinstance(value, BaseException):
            raise value
        return {"modules": value, "of": parameter, "password": "x"}

    plugin.live_topic("secrets", role="admin")(lambda _jobs, _parameter: "all of them")
    return plugin


@pytest.fixture
def answers() -> dict[str, Any]:
    return {"value": 1}


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def server(make_jobs: Callable[..., JobTrail], answers: dict[str, Any], asked: list[str]) -> Iterator[Serving]:
    with serving(create_api(make_jobs(plugins=[office(answers, asked)]), login=_of_header)) as one:
        yield one


@contextlib.contextmanager
def listening(server: Serving, role: str = "viewer") -> Iterator[Live]:
    live = Live(server, additional_headers={"X-Role": role})
    try:
        yield live
    finally:
        live.close()


def news(live: Live) -> dict[str, Any]:
    """The next message that is no greeting."""
    while (told := live.receive(15))["type"] == "hello":
        pass
    return told


def test_a_topic_is_sent_whole_and_then_when_it_has_changed(
    server: Serving, answers: dict[str, Any], asked: list[str]
) -> None:
    with listening(server) as live:
        assert "office.modules" in live.receive(15)["topics"]
        live.subscribe("office.modules", "a", parameter="north")
        told = news(live)
        assert (told["type"], told["id"]) == ("snapshot", "a")
        assert told["parts"] == {"value": {"modules": 1, "of": "north", "password": "•••"}}
        seen = len(asked)
        answers["value"] = 2
        told = news(live)
        assert (told["type"], told["parts"]["value"]["modules"]) == ("change", 2)
        assert len(asked) > seen
        assert set(asked) == {"north"}
    seen = len(asked)
    answers["value"] = 3
    with listening(server) as live:
        live.subscribe("office.modules", "b")
        assert news(live)["parts"]["value"] == {"modules": 3, "of": "", "password": "•••"}
    assert set(asked[seen:]) - {"north"} == {""}


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_an_error_is_told_and_the_topic_goes_on(server: Serving, answers: dict[str, Any], error: BaseException) -> None:
    answers["value"] = error
    with listening(server) as live:
        live.subscribe("office.modules", "a")
        told = news(live)
        assert (told["type"], told["problem"]["status"]) == ("error", 500)
        answers["value"] = 3
        told = news(live)
        assert (told["type"], told["parts"]["value"]["modules"]) == ("snapshot", 3)


def test_the_role_of_a_topic_counts(server: Serving) -> None:
    with listening(server, "operator") as live:
        live.subscribe("office.secrets", "a")
        assert news(live)["problem"]["code"] == "role-needed"
    with listening(server, "admin") as live:
        live.subscribe("office.secrets", "a")
        assert news(live)["parts"] == {"value": "all of them"}
    asked = urllib.request.Request(f"{server.address}/api/live/events?topic=office.secrets", headers={"X-Role": "viewer"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(asked, timeout=15)


async def asleep(jobs: JobTrail, parameter: str) -> None:
    """A function that no thread can ask."""


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda p: p.live_topic("A B"), "the name of a live topic must be"),
        (lambda p: p.live_topic("a", role="anybody"), "the role of a live topic must be one of"),
        (lambda p: p.live_topic("a")(asleep), "'a' of the plug-in 'office' is 'async def'"),
        (lambda p: p.live_topic("a")(5), "needs a function here; it has 5"),
        (lambda p: (p.live_topic("a")(print), p.live_topic("a")(print)), "two topics called 'a'"),
    ],
)
def test_a_topic_that_could_not_be_asked_is_refused(declare: Any, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        declare(Plugin("office"))
