"""Each page of the console is drawn from a real server, says what it is about, and has no barrier that axe knows of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(180)  # a browser, or the compiler, on a busy machine

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
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
    "task": ("#/tasks/greet", "Start greet"),
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
    upload = place.upload("planes_vendor.csv", b"Tail_Number\nN10156\n")
    found["mapping"] = place.submit("import_planes", source="files/vendor", file={"upload": upload["upload"]})
    place.until(found["form"], "awaiting_input")
    place.until(found["mapping"], "awaiting_mapping")
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


EVERY = [*PAGES, "partial", "completed", "failed", "form", "mapping", "question form", "question mapping"]


@pytest.mark.parametrize("name", EVERY)
def test_a_page_says_what_it_is_about_without_barriers(place, browse, jobs_of, name):
    where, heading = address(place, name, jobs_of)
    page = browse(where)
    page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
    page.locator(".waiting").first.wait_for(state="detached")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    if AXE.is_file():
        assert barriers(page) == []


@pytest.mark.parametrize("name", ["overview", "jobs", "partial", "coverage", "question mapping"])
def test_a_page_on_a_phone_in_russian_and_dark_has_no_barriers_and_scrolls_only_down(place, browse, jobs_of, name):
    where, _ = address(place, name, jobs_of)
    page = browse(where, viewport={"width": 390, "height": 844}, locale="ru-RU", color_scheme="dark")
    page.get_by_role("heading", level=1).wait_for()
    page.locator(".waiting").first.wait_for(state="detached")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("document.documentElement.lang") == "ru"
    if AXE.is_file():
        assert barriers(page) == []


def barriers(page):
    """What axe finds, as sentences."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{one['id']}: {node['html'][:200]} {json.dumps(node.get('failureSummary', ''))[:300]}"
        for one in found
        for node in one["nodes"]
    ]


def test_what_a_job_can_fill_is_shown_as_text(place, browse):
    script = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    job = place.submit("greet", {"name": script}, labels={"tenant": script[:60]}, reason=script)
    place.until(job, "completed")
    page = browse(f"{place.address}#/jobs/{job}")
    page.get_by_text("onerror").first.wait_for()
    assert page.locator("main img, main script").count() == 0
    assert "taken" not in page.title()


def test_a_secret_is_masked_on_the_page(place, browse, jobs_of):
    page = browse(f"{place.address}#/jobs/{jobs_of['form']}")
    page.get_by_text("api_key").first.wait_for()
    assert "s3cret" not in page.content()


def test_an_address_that_leads_nowhere_says_so(place, browse):
    page = browse(f"{place.address}#/nowhere")
    page.get_by_role("heading", level=1, name="Nothing is here").wait_for()
    missing = browse(f"{place.address}#/jobs/0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f")
    missing.get_by_text("there is no job").wait_for()
