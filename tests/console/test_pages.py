"""Each page of the console is drawn from a real server, says what it is about, and has no barrier that axe knows of."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.timeout(180)  # a browser, or the compiler, on a busy machine

PAGES = {
    "overview": ("#/", "What needs me now"),
    "jobs": ("#/jobs", "Jobs"),
    "coverage": ("#/coverage?task=sync_weather", "What is loaded, what is missing"),
    "questions": ("#/questions", "What is asked"),
    "schedules": ("#/schedules", "What runs by the clock"),
    "schedule": ("#/schedules/weather%2FEWR", "weather/EWR"),
    "errors": ("#/errors", "What goes wrong"),
    "workers": ("#/workers", "Workers and queues"),
    "audit": ("#/audit", "Who did what"),
    "tasks": ("#/tasks", "Tasks"),
    "task": ("#/tasks/greet", "greet"),
}


@pytest.fixture(scope="module")
def jobs_of(place):
    """Something for every page."""
    found = {
        "partial": place.weather("EWR", "2013-02"),
        "completed": place.weather("JFK", "2013-01"),
        "failed": place.weather("LGA", "2013-09"),
        "form": place.submit("publish_prices", {"shop": "north", "api_key": "s3cret"}),
    }
    for name, source in (("mapping", "files/vendor"), ("stopped", "files/stopped")):
        upload = place.upload("planes_vendor.csv", f"Tail_Number\n{name}\n".encode())
        found[name] = place.submit("import_planes", source=source, file={"upload": upload["upload"]})
        place.until(found[name], "awaiting_mapping")
    place.until(found["form"], "awaiting_input")
    place.post(f"jobs/{found['stopped']}/cancel", {"reason": "the file is wrong"})
    return found


def address(place, name, jobs_of):
    """The address of a page, and its heading."""
    if name in PAGES:
        return place.address + PAGES[name][0], PAGES[name][1]
    if name.startswith("question "):
        job = place.get(f"jobs/{jobs_of[name.split()[1]]}")
        question = job["questions"][0]
        return f"{place.address}#/questions/{question['id']}", question["text"]
    heading = {
        "partial": "weather/EWR · February 2013",
        "completed": "weather/JFK · January 2013",
        "failed": "weather/LGA · September 2013",
        "form": "publish_prices",
        "mapping": "files/vendor · planes_vendor.csv",
    }
    return f"{place.address}#/jobs/{jobs_of[name]}", heading[name]


FIRST_LOAD = 250_000  # bytes
LIMIT = "partner:{partner}"  # the name that a task gives its limit, with the argument that is put in
EVERY = [*PAGES, "partial", "completed", "failed", "form", "mapping", "question form", "question mapping"]


@pytest.fixture(scope="module")
def phone(place, new_desk):
    """A phone in the dark whose owner has chosen Russian."""
    found = new_desk(viewport={"width": 390, "height": 844}, color_scheme="dark")
    found.show(place.address)
    found.page.get_by_role("button", name="RU", exact=True).click()
    found.page.locator("html[lang=ru]").wait_for()
    found.as_loaded = True
    return found


@pytest.mark.parametrize("name", EVERY)
def test_a_page_says_what_it_is_about_and_has_no_barriers_on_a_phone_and_in_russian_neither(
    place, browse, phone, barriers, jobs_of, name
):
    where, heading = address(place, name, jobs_of)
    page = browse(where)
    page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
    page.locator(".waiting").first.wait_for(state="detached")
    assert not scrolls_sideways(page)
    assert not re.search(r"\{\w+[|}\s]", page.inner_text("body").replace(LIMIT, ""))  # a text that was not filled in
    assert barriers(page, "light") == []
    phone.show(where)
    phone.page.locator("h1").wait_for()
    phone.page.locator(".waiting").first.wait_for(state="detached")
    assert not scrolls_sideways(phone.page)
    assert barriers(phone.page, "dark") == []
    assert phone.problems == []


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_a_page_has_no_barriers_in_the_dark_on_a_desktop(place, browse, barriers, jobs_of, name):
    where, heading = address(place, name, jobs_of)
    page = browse(where)
    page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
    page.locator(".waiting").first.wait_for(state="detached")
    assert barriers(page, "dark") == []


def scrolls_sideways(page):
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


# What opens on a page: where, and what is pressed one after the other, each by its name.
OPENED = {
    "bulk": ("#/jobs?q=task:sync_weather", ["Select sync_weather weather/JFK", "Re-run in full…"]),
    "re-run": ("#/jobs/{partial}", ["Re-run 1 failed item…"]),
    "changed arguments": ("#/jobs/{partial}", ["Run with changed arguments…"]),
    "corrected file": ("#/jobs/{stopped}", ["Run with a corrected file…"]),
    "evidence": ("#/jobs/{failed}", ["Whole trail", "more, not possible now"]),
    "cancel": ("#/jobs/{form}", ["Cancel…"]),
    "backfill": ("#/coverage?task=sync_weather&at=2013", ["weather/EWR 2013-03: Missing"]),
    "new schedule": ("#/schedules", ["Add a schedule…"]),
    "schedule edited": ("#/schedules/greet", ["Edit…"]),
    "pause of a queue": ("#/workers", ["Pause…"]),
    "change of a limit": ("#/workers", ["Change…"]),
    "numbers": ("#/", ["Numbers"]),
    "grammar": ("#/jobs", ["Whole grammar"]),
    "keys": ("#/jobs", ["All keys"]),
    "suggestions": ("#/jobs", ["Filter jobs"]),
}
PRESSED = "button, summary, input[type=checkbox], input[role=combobox], [role=gridcell]"


@pytest.mark.parametrize("name", OPENED)
def test_what_opens_on_a_page_has_no_barriers(place, browse, barriers, jobs_of, name):
    where, presses = OPENED[name]
    page = browse(place.address + where.format_map(jobs_of))
    for press in presses:
        named = re.compile(re.escape(press))
        found = page.locator(PRESSED).filter(has_text=named).or_(page.get_by_label(named).and_(page.locator(PRESSED)))
        found.first.click()
    page.locator(".waiting").first.wait_for(state="detached")
    assert barriers(page) == []


def test_the_states_of_the_overview_stand_in_a_row_without_holes(place, browse, jobs_of):
    page = browse(f"{place.address}#/", viewport={"width": 1280, "height": 800})
    page.locator(".facts a.zero").first.wait_for()
    boxes = page.evaluate(
        "[...document.querySelectorAll('.facts, .facts a')].map(one => one.getBoundingClientRect()).map(one => [one.top, one.right])"
    )
    (_, end), *tiles = boxes
    rows = {top: max(right for other, right in tiles if other == top) for top, _ in tiles}
    assert len(rows) == (1 if len(tiles) <= 8 else 2)
    assert all(end - right < 3 for right in rows.values())


@pytest.mark.parametrize(("where", "shown"), [("#/jobs", "tbody tr"), ("#/", ".chart-box canvas")])
def test_the_first_load_is_small(place, chromium, jobs_of, where, shown):
    """All of the console's files that a browser which has none of them fetches for a page, as they come over the line."""
    page = chromium.new_page(locale="en-US")
    line = page.context.new_cdp_session(page)
    names, came = {}, {}
    line.on("Network.responseReceived", lambda told: names.update({told["requestId"]: told["response"]["url"]}))
    line.on("Network.loadingFinished", lambda told: came.update({told["requestId"]: told["encodedDataLength"]}))
    line.send("Network.enable")
    page.goto(place.address + where)
    page.locator(shown).first.wait_for()
    page.wait_for_load_state("networkidle")
    sizes = {names[one].rsplit("/", 1)[-1]: size for one, size in came.items() if "/api/" not in names[one]}
    page.context.close()
    print(f"{where}: {sum(sizes.values()):,} bytes in {len(sizes)} files, compressed")
    assert any(name.startswith("index-") and name.endswith(".js") for name in sizes)
    assert 100_000 < sum(sizes.values()) < FIRST_LOAD, sizes


def test_a_secret_is_masked_on_the_page(place, browse, jobs_of):
    page = browse(f"{place.address}#/jobs/{jobs_of['form']}")
    page.get_by_text("api_key").first.wait_for()
    assert "s3cret" not in page.content()


def test_an_address_that_leads_nowhere_says_so(place, browse):
    page = browse(f"{place.address}#/nowhere", locale="en-GB")  # the page of all tests goes there by itself
    page.get_by_role("heading", level=1, name="Nothing is here").wait_for()
    missing = browse(f"{place.address}#/jobs/0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f")
    missing.get_by_text("there is no job").wait_for()


def test_the_traceback_of_a_failed_job_comes_first_and_is_open(place, browse, jobs_of):
    page = browse(f"{place.address}#/jobs/{jobs_of['failed']}")
    trace = page.locator("pre", has_text="PermanentError")
    trace.wait_for()
    log = page.get_by_role("heading", level=2, name="Log", exact=True)
    assert trace.bounding_box()["y"] < log.bounding_box()["y"]


def test_arguments_of_many_lines_are_folded(place, browse):
    job = place.submit("keep_numbers", {"number": 1, "more": {f"key {number}": number for number in range(300)}})
    page = browse(f"{place.address}#/jobs/{job}")
    folded = page.locator("details.fold").first
    folded.wait_for()
    assert not page.get_by_text('"key 299"').first.is_visible()
    folded.locator("summary").click()
    page.get_by_text('"key 299"').first.wait_for()
