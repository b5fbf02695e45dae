"""Numbers that a browser cannot hold go through the console as they were written."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine

LARGEST = 2**63 - 1
GREAT = 10**30
MORE = {"deep": [GREAT, 1970670598291982290, 1.0], "text": "9007199254740993"}
ARGUMENTS = {"number": LARGEST, "ratio": 1.0, "price": "1.10", "more": MORE}
CONFIRM = "dialog[open] button[type=submit]"


@pytest.fixture(scope="module")
def job(place):
    found = place.submit("keep_numbers", ARGUMENTS)
    place.until(found, "completed")
    return found


def change(page):
    page.get_by_role("button", name=re.compile("changed arguments")).first.click()
    page.locator("dialog[open]").get_by_label(re.compile("^number", re.IGNORECASE)).wait_for()


def rerun(page, place, job):
    page.click(CONFIRM)
    page.wait_for_url(lambda url: "/jobs/" in url and job not in url)
    return place.until(page.url.rsplit("/", 1)[1], "completed", "failed")


def test_a_job_is_run_again_with_its_numbers_untouched(place, browse, job):
    page = browse(f"{place.address}#/jobs/{job}")
    page.get_by_text(str(LARGEST)).first.wait_for()
    page.get_by_text(str(GREAT)).first.wait_for()
    change(page)
    again = rerun(page, place, job)
    assert again["arguments"] == ARGUMENTS
    assert again["result"] == ARGUMENTS
    assert isinstance(again["arguments"]["ratio"], float)


def test_a_typed_number_is_the_one_that_is_sent_and_one_without_end_is_refused(place, browse, job):
    page = browse(f"{place.address}#/jobs/{job}")
    change(page)
    number = page.locator("dialog[open]").get_by_label(re.compile("^number", re.IGNORECASE))
    assert number.input_value() == str(LARGEST)
    number.fill("1e400")
    page.click(CONFIRM)
    page.get_by_text("1 field does not fit").wait_for()
    number.fill(str(GREAT + 1))
    page.locator("dialog[open]").get_by_label(re.compile("^ratio", re.IGNORECASE)).fill("0.30")
    again = rerun(page, place, job)
    assert (again["arguments"]["number"], again["arguments"]["ratio"]) == (GREAT + 1, 0.3)
    assert again["arguments"]["more"] == MORE


def test_arguments_of_a_schedule_keep_their_numbers(place, browse):
    place.post("schedules", {"name": "numbers", "task": "keep_numbers", "rule": "every 6 hours", "args": ARGUMENTS})
    page = browse(f"{place.address}#/schedules/numbers")
    page.get_by_role("button", name="Edit…").click()
    args = page.locator("dialog[open]").get_by_label(re.compile("arguments", re.IGNORECASE))
    assert f'"number":{LARGEST}' in args.input_value()
    assert '"ratio":1.0' in args.input_value()
    args.fill(args.input_value().replace("0.5", "0.6").replace('"ratio":1.0', '"ratio":1e400'))
    page.locator("dialog[open] .failed").first.wait_for()
    args.fill(args.input_value().replace("1e400", "2.0"))
    page.click(CONFIRM)
    page.locator("dialog[open]").wait_for(state="detached")
    kept = place.get("schedules/numbers")["definition"]["args"]
    assert kept == {**ARGUMENTS, "ratio": 2.0}
    assert isinstance(kept["ratio"], float)
