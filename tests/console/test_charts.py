"""The charts of the overview: what a bar counts is what it opens."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine


@pytest.fixture(scope="module")
def ended(place):
    """Five greetings and one month of weather have ended."""
    jobs = [place.submit("greet", {"name": f"n{number}"}) for number in range(5)]
    for job in jobs:
        place.until(job, "completed")
    place.weather("EWR", "2013-01")
    return jobs


def count(text: str) -> int:
    return int(re.sub(r"\D", "", text))


def listed(page) -> int:
    page.wait_for_url(re.compile("ended:"))
    page.locator("tbody tr").first.wait_for()
    return page.locator("tbody tr").count()


def test_each_number_of_the_table_opens_as_many_jobs(place, browse, ended):
    page = browse(f"{place.address}#/")
    page.get_by_label("Task", exact=True).select_option("greet")
    page.get_by_role("button", name="Numbers").first.click()
    numbers = page.locator(".chart-numbers").first.locator("td a")
    page.wait_for_function("() => [...document.querySelectorAll('.chart-numbers td a')].reduce((sum, one) => sum + Number(one.textContent), 0) === 5")
    shown = [(count(one.inner_text()), one.get_attribute("href")) for one in numbers.all()]
    assert sum(number for number, _ in shown) == len(ended)
    for number, href in shown:
        page.goto(f"{place.address}{href}")
        assert listed(page) == number


def test_a_bar_opens_its_jobs(place, browse, ended):
    page = browse(f"{place.address}#/")
    page.get_by_label("Task", exact=True).select_option("greet")
    page.locator(".legend", has_text="Completed 5").first.wait_for()
    box = page.locator(".chart-box .u-over").first.bounding_box()
    bars = place.get("stats/series?hours=3&task=greet")["points"]
    highest = max(range(len(bars)), key=lambda place: bars[place]["finished"].get("completed", 0))
    at = box["x"] + (box["width"] - 1) * highest / (len(bars) - 1)
    page.mouse.click(min(at, box["x"] + box["width"] - 2), box["y"] + box["height"] - 4)
    assert listed(page) == bars[highest]["finished"]["completed"]


def test_axes_of_counts_have_whole_numbers_once(place, browse, ended):
    page = browse(f"{place.address}#/")
    page.locator(".legend", has_text="Completed").first.wait_for()
    page.evaluate(
        "() => { const seen = []; const draw = CanvasRenderingContext2D.prototype.fillText;"
        " CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { seen.push(text); return draw.call(this, text, ...rest); };"
        " window.seen = seen; }"
    )
    page.get_by_label("Queue", exact=True).select_option("default")
    page.set_viewport_size({"width": 1300, "height": 900})
    page.wait_for_function("() => window.seen.some((one) => one === '0')")
    axis = page.evaluate("window.seen.filter((one) => /^\\d+$/.test(one))")
    assert "0" in axis
    assert [one for one, following in pairwise(axis) if one == following] == []
