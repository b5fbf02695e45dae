"""Nothing that is pressed, that fails, or that goes away takes the console with it."""

from __future__ import annotations

import random
import re
import time
from contextlib import closing

import pytest
from console_site import running
from live_server import serving
from office_modules import lived

from jobtrail.api import Person, create_api

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine

PAGES = {
    "overview": "#/",
    "jobs": "#/jobs",
    "partial": "#/jobs/{partial}",
    "form": "#/jobs/{form}",
    "coverage": "#/coverage?task=sync_weather&zoom=month&at=2013",
    "questions": "#/questions",
    "mapping": "#/questions/{mapping}",
    "schedules": "#/schedules",
    "schedule": "#/schedules/weather%2FEWR",
    "errors": "#/errors",
    "workers": "#/workers",
    "tasks": "#/tasks",
    "task": "#/tasks/publish_prices",
    "audit": "#/audit",
}
SEED = 17
STEPS = 30  # of a short walk, which costs processor time for as long as it goes on
LONG = 60.0  # seconds for a page
SHORTLY = ("coverage", "mapping")  # those with the most controls; `make test-long` walks every page
KEYS = ("Escape", "Enter", "ArrowRight", "ArrowDown", "Shift+ArrowRight", "Tab", "j", "k", "x", "r", "/", "?", "Home", "End")
TEXTS = ("EWR", "status:failed", "2013-02", "-1", "1e400", "'; --", "x" * 300, "\u202eabc", "")
CONTROLS = """() => [...document.querySelectorAll(
  (document.querySelector('dialog[open]') ? 'dialog[open] ' : 'main ') + ':is(button, a[href], input, select, textarea, summary, [role=gridcell])'
)].filter(one => one.checkVisibility()).length"""
REACHED = """(index) => {
  const all = [...document.querySelectorAll(
    (document.querySelector('dialog[open]') ? 'dialog[open] ' : 'main ') + ':is(button, a[href], input, select, textarea, summary, [role=gridcell])'
  )].filter(one => one.checkVisibility());
  const one = all[index % all.length];
  if (!one) return null;
  one.scrollIntoView({block: 'center'});
  const box = one.getBoundingClientRect();
  return {
    x: box.x + box.width / 2, y: box.y + box.height / 2, tag: one.tagName, type: one.type ?? '',
    options: one.options ? [...one.options].map(option => option.value) : [],
    name: (one.getAttribute('aria-label') ?? one.textContent ?? '').trim().slice(0, 40),
  };
}"""


@pytest.fixture(scope="module")
def filled(place):
    """Jobs in several states; the words that addresses of pages are filled in with."""
    found = {"partial": place.weather("EWR", "2013-02"), "completed": place.weather("JFK", "2013-01")}
    place.weather("LGA", "2013-09")
    found["form"] = place.submit("publish_prices", {"shop": "north"})
    upload = place.upload("planes_vendor.csv", b"Tail_Number\nN1\n")
    mapping = place.submit("import_planes", source="files/vendor", file={"upload": upload["upload"]})
    found["mapping"] = place.until(mapping, "awaiting_mapping")["questions"][0]["id"]
    place.until(found["form"], "awaiting_input")
    return found


def walk(page, address, rng, seconds, most=1_000_000):
    """Press, type and choose at random on one page; an error of the page fails the test that opened it."""
    steps = []
    page.on("dialog", lambda dialog: dialog.accept())
    end = time.monotonic() + seconds
    here = address.split("#", 1)[1].split("?")[0]
    while len(steps) < most and time.monotonic() < end:
        if f"#{here}" not in page.url:
            page.goto(address)
            page.locator("h1").first.wait_for()
        found = page.evaluate(REACHED, rng.randrange(10_000))
        steps.append(act(page, found, rng) if found and rng.random() < 0.8 else press(page, rng))
        shown = page.evaluate("[!!document.querySelector('nav.main'), document.body.innerText.includes('could not be shown')]")
        if shown != [True, False] and "/#" in page.url:
            page.wait_for_load_state()
            assert page.locator("nav.main").count() == 1, steps[-10:]
            assert page.get_by_text("could not be shown").count() == 0, steps[-10:]
    return steps


def press(page, rng):
    key = rng.choice(KEYS)
    page.keyboard.press(key)
    return key


def act(page, found, rng):
    if found["tag"] == "SELECT" and found["options"]:
        value = rng.choice(found["options"])
        page.mouse.move(found["x"], found["y"])
        page.evaluate(
            """([x, y, value]) => {
              const one = document.elementFromPoint(x, y)?.closest('select');
              if (!one) return;
              Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value').set.call(one, value);
              one.dispatchEvent(new Event('change', {bubbles: true}));
            }""",
            [found["x"], found["y"], value],
        )
        return f"choose {value!r} of {found['name']!r}"
    if rng.random() < 0.1:
        page.mouse.dblclick(found["x"], found["y"])
        return f"double click {found['name']!r}"
    page.mouse.click(found["x"], found["y"])
    if found["tag"] in ("INPUT", "TEXTAREA") and found["type"] not in ("checkbox", "radio", "file"):
        text = rng.choice(TEXTS)
        page.keyboard.insert_text(text)
        return f"type {text[:10]!r} into {found['name']!r}"
    return f"click {found['name']!r}"


@pytest.mark.parametrize("name", SHORTLY)
def test_a_page_survives_whoever_presses_all_its_controls_in_any_order(place, browse, filled, name):
    address = place.address + PAGES[name].format_map(filled)
    page = browse(address, locale="en-GB")  # a page of its own: it answers dialogs
    page.locator("h1").first.wait_for()
    assert len(walk(page, address, random.Random(SEED), LONG, STEPS)) == STEPS


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """A server with the pages of both plug-ins, and an hour of modules behind it."""
    jobs, _clock = lived(tmp_path_factory.mktemp("office"), hours=1)
    app = create_api(jobs, login=lambda _request: Person("ann", "admin"), allowed_hosts=["127.0.0.1"])
    with closing(jobs), serving(app) as server:
        yield server


@pytest.mark.parametrize("name", ["office/modules", "notify/messages"])
def test_a_page_of_a_plugin_survives_it_too(office, browse, name):
    address = f"{office.address}/#/pages/{name}"
    page = browse(address, locale="en-GB")
    page.locator("h1").first.wait_for()
    assert len(walk(page, address, random.Random(SEED), LONG, STEPS)) == STEPS


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_a_page_survives_a_minute_of_it(place, browse, filled, name):
    address = place.address + PAGES[name].format_map(filled)
    page = browse(address, locale="en-GB")
    page.locator("h1").first.wait_for()
    print(len(walk(page, address, random.Random(SEED + 1), LONG)), "steps")


def test_a_page_that_fails_keeps_the_navigation_and_can_be_shown_again(place, chromium):
    page = chromium.new_page(locale="en-US")  # without the check for errors: here is one
    page.goto(f"{place.address}#/jobs")
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    page.route("**/api/tasks", lambda route: route.fulfill(json={"tasks": 5}))
    page.get_by_role("link", name="Tasks").click()
    page.get_by_role("heading", level=1, name="This page could not be shown").wait_for()
    page.unroute("**/api/tasks")
    page.get_by_role("link", name="Workers").click()
    page.get_by_role("heading", level=1, name="Workers and queues").wait_for()
    page.get_by_role("link", name="Tasks").click()
    again = page.get_by_role("button", name="Show it again")
    heading = page.get_by_role("heading", level=1, name="Tasks", exact=True)
    again.or_(heading).first.wait_for()
    if again.is_visible():
        again.click()
    heading.wait_for()
    page.context.close()


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """A server that is stopped and started again."""
    with running(tmp_path_factory.mktemp("apart")) as site:
        yield site


def test_pages_are_opened_while_the_server_is_away_and_the_console_comes_back_by_itself(apart, browse):
    page = browse(f"{apart.address}#/")
    page.get_by_role("heading", level=1, name="What needs me now").wait_for()
    here = "performance.getEntriesByType('resource').some(one => one.name.includes('/audit-'))"
    apart.wait("the code of pages not opened is here", lambda: page.evaluate(here))
    apart.stop()
    page.get_by_role("link", name="Errors").click()
    page.get_by_role("heading", level=1, name="What goes wrong").wait_for()
    page.get_by_role("link", name="Audit").click()
    page.get_by_text("server does not answer").first.wait_for()
    apart.start()
    page.get_by_role("heading", level=1, name="Who did what").wait_for()
    page.get_by_text("server does not answer").first.wait_for(state="detached")


def test_a_page_whose_code_is_not_here_yet_is_shown_when_the_server_is_back(apart, browse):
    page = browse("about:blank", locale="en-GB")  # with an empty cache
    page.route(re.compile("/assets/audit-"), lambda route: route.abort("connectionrefused"))
    page.goto(f"{apart.address}#/")
    page.get_by_role("heading", level=1, name="What needs me now").wait_for()
    apart.stop()
    page.get_by_role("link", name="Audit").click()
    page.get_by_role("heading", level=1, name="The server cannot be reached").wait_for()
    assert page.locator("nav.main").count() == 1
    page.unroute(re.compile("/assets/audit-"))
    apart.start()
    page.get_by_role("heading", level=1, name="Who did what").wait_for()


NO_SOCKETS = """window.WebSocket = class {
  static OPEN = 1;
  readyState = 3;
  constructor() { setTimeout(() => this.onclose?.({ code: 1006 }), 20) }
  send() {}
  close() {}
}"""


def test_news_comes_as_server_sent_events_where_no_websocket_comes_through(place, browse):
    page = browse("about:blank")
    page.add_init_script(NO_SOCKETS)
    streams = []
    page.on("request", lambda request: streams.append(request.url) if "live/events" in request.url else None)
    later = place.submit("greet", {"name": "later"}, run_at="2999-01-01T00:00:00Z")
    page.goto(f"{place.address}#/jobs/{later}")
    page.locator(".live.live", has_text="Live").wait_for()
    assert any("topic=job&" in url for url in streams)
    page.route(f"**/api/jobs/{later}", lambda route: route.abort())  # only news can say it now
    place.post(f"jobs/{later}/cancel", {"reason": "not today"})
    page.locator(".job-title .st", has_text="Cancelled").wait_for()
    page.get_by_role("link", name="Jobs").first.click()
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    place.wait("the list has its stream", lambda: page.title() and any("topic=jobs" in url for url in streams))
    page.locator(".live.live", has_text="Live").wait_for()
