"""Pages of plug-ins in the console: in the menu, mounted with a host that reaches API and live topics, and on the overview."""

from __future__ import annotations

import contextlib

import pytest
from live_server import serving
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount

from jobtrail import JobTrail, Plugin
from jobtrail.api import Person, create_api

pytestmark = pytest.mark.timeout(180)  # a browser, or the compiler, on a busy machine

PAGE = """
import { line } from "./parts/line.mjs";

export function mount(element, host) {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = new URL("look.css", import.meta.url);
  const list = document.createElement("ul");
  list.className = "modules";
  const age = document.createElement("p");
  age.textContent = `${host.formatAge(125)}, ${host.formatTime("2013-02-01T10:00:00Z")}, ${host.language}, ${host.query().show ?? "all"}`;
  const button = document.createElement("button");
  button.textContent = host.text("Add a row", "Добавить строку");
  const told = document.createElement("output");
  button.addEventListener("click", async () => {
    const added = await host.post("/api/modules/parser/rows", { rows: 5 });
    const known = await host.get("modules");
    const gone = await host.del("modules/parser").catch((problem) => problem);
    told.textContent = `${added.total} ${known.average} ${gone.status} ${gone.code}`;
  });
  const jobs = document.createElement("button");
  jobs.textContent = "Jobs of it";
  jobs.addEventListener("click", () => host.go("/jobs?q=task:parse"));
  element.append(style, age, list, button, told, jobs);
  const stop = host.subscribe("office.modules:north", (value) => {
    list.replaceChildren(...value.modules.map(line));
  });
  return () => {
    stop();
    document.body.dataset.unmounted = String(Number(document.body.dataset.unmounted ?? 0) + 1);
  };
}

export function strip(element, host) {
  return host.subscribe("office.modules", (value) => {
    element.textContent = host.text(`${value.modules.length} modules`, `Модулей: ${value.modules.length}`);
  });
}
"""
LINE = """
export function line(module) {
  const item = document.createElement("li");
  item.textContent = `${module.name}: ${module.rows}`;
  return item;
}
"""
BROKEN = """
export function mount() {
  throw new Error("no canvas");
}
"""
AVERAGE = 0.1234567890123456  # more digits than the console's own parts take for a plain number


class Rows(BaseModel):
    """What is added."""

    rows: int


def office(folder, rows: dict[str, int]) -> Plugin:
    plugin = Plugin("office")
    title = {"en": "Modules", "ru": "Модули"}
    plugin.page("modules", title=title, module="page.js", folder=folder, strip=True)
    plugin.page("broken", title={"en": "Broken"}, module="broken.js", folder=folder)
    plugin.page("secret", title={"en": "Secret"}, module="broken.js", folder=folder, role="admin")

    @plugin.live_topic("modules")
    def modules(jobs, parameter):
        return {"modules": [{"name": f"{name} {parameter}".strip(), "rows": count} for name, count in rows.items()]}

    @plugin.route("/modules", role="viewer", plain=True)
    def all_modules(jobs):
        return {"average": AVERAGE}

    @plugin.route("/modules/{name}/rows", method="POST", role="viewer", plain=True)
    def add(jobs, name: str, sent: Rows):
        rows[name] += sent.rows
        return {"total": rows[name]}

    @plugin.route("/modules/{name}", method="DELETE", role="admin", plain=True)
    def remove(jobs, name: str):
        del rows[name]

    return plugin


@pytest.fixture
def rows():
    return {"parser": 10, "loader": 7}


@pytest.fixture
def server(tmp_path, rows):
    """The console below a path, for a viewer."""
    folder = tmp_path / "package"
    (folder / "parts").mkdir(parents=True)
    (folder / "page.js").write_text(PAGE)
    (folder / "broken.js").write_text(BROKEN)
    (folder / "parts/line.mjs").write_text(LINE)
    (folder / "look.css").write_text(".modules { color: rgb(1, 2, 3); }")
    with contextlib.closing(JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}", plugins=[office(folder, rows)])) as jobs:
        jobs.migrate()
        app = create_api(jobs, login=lambda _request: Person("ann", "viewer"), allowed_hosts=["127.0.0.1"])
        with serving(Starlette(routes=[Mount("/ops/work", app)])) as found:
            yield found


def test_a_page_is_in_the_menu_and_its_module_is_mounted_and_left(server, browse, rows, barriers):
    page = browse(f"{server.address}/ops/work/#/")
    page.get_by_role("link", name="Secret").wait_for(state="detached")
    page.get_by_role("link", name="Modules").click()
    page.get_by_role("heading", level=1, name="Modules").wait_for()
    page.get_by_text("parser north: 10").wait_for()
    page.get_by_text("2 min 5 s, 1 Feb 2013 10:00, en, all").wait_for()
    page.wait_for_function("getComputedStyle(document.querySelector('.modules')).color === 'rgb(1, 2, 3)'")
    assert page.title() == "Modules · jobtrail"
    rows["loader"] = 8
    page.get_by_text("loader north: 8").wait_for()
    page.get_by_role("button", name="Add a row").click()
    page.get_by_text(f"15 {AVERAGE} 403 role-needed").wait_for()
    page.get_by_text("parser north: 15").wait_for()
    assert barriers(page, "light") == []
    page.get_by_role("button", name="Jobs of it").click()
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    assert page.url == f"{server.address}/ops/work/#/jobs?q=task:parse"
    assert page.locator("body").get_attribute("data-unmounted") == "1"


def test_it_is_drawn_anew_in_another_language_and_for_another_query(server, browse):
    page = browse(f"{server.address}/ops/work/#/pages/office/modules?show=late")
    page.get_by_text("en, late").wait_for()
    page.get_by_role("button", name="RU").click()
    page.get_by_role("heading", level=1, name="Модули").wait_for()
    page.get_by_text("ru, late").wait_for()
    page.get_by_role("button", name="Добавить строку").wait_for()
    page.goto(f"{server.address}/ops/work/#/pages/office/modules?show=new")
    page.get_by_text("ru, new").wait_for()
    assert page.locator(".plugin-page").count() == 1


def test_the_overview_has_its_strip(server, browse, rows):
    page = browse(f"{server.address}/ops/work/#/")
    page.get_by_text("2 modules").wait_for()
    rows["writer"] = 1
    page.get_by_text("3 modules").wait_for()
    page.get_by_role("region", name="Modules").get_by_role("link", name="All").click()
    page.get_by_role("heading", level=1, name="Modules").wait_for()


def test_a_module_that_fails_says_so_and_leaves_the_console_alone(server, browse):
    page = browse(f"{server.address}/ops/work/#/pages/office/broken")
    page.get_by_text("the plug-in office cannot show this page: no canvas").wait_for()
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("the plug-in office cannot show this page: no canvas").wait_for()
    page.goto(f"{server.address}/ops/work/#/pages/office/secret")
    page.get_by_role("heading", level=1, name="Nothing is here").wait_for()
    page.get_by_role("link", name="Modules").click()
    page.get_by_text("parser north: 10").wait_for()
