"""Every page shows the same numbers: the overview, the list of jobs, the queues and the errors over one database."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from jobtrail import JobTrail
from jobtrail.commands.queues import set_paused
from jobtrail.testing import drain

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine

DUE, LATER, BEHIND = 5, 2, 3
TASKS = [f"report_{letter}" for letter in "abcdefg"]


@pytest.fixture(scope="module")
def filled(place):
    """What waits for each reason, in two queues, one of them paused; seven tasks with one error. Nothing else moves."""
    place.stop()
    with closing(JobTrail(place.database, plugins=[])) as jobs:

        @jobs.task
        def report(*, n: int = 0) -> None: ...

        for n in range(DUE):
            report.using(queue="slow").enqueue(n=n)
        set_paused(jobs.service, "slow", paused=True, actor="person:ann")
        for _ in range(LATER):
            report.using(queue="idle", delay=86_400).enqueue()
        for n in range(BEHIND):
            held = report.using(source=f"s{n}", period="2013", queue="slow", delay=86_400)
            held.enqueue(n=1)
            report.using(source=f"s{n}", period="2013", queue="slow", if_active="queue").enqueue(n=2)
        for name in TASKS:
            failing = jobs.task(name=name)(_fail)
            failing.enqueue()
        drain(jobs)
    place.start()
    return place


def _fail() -> None:
    raise RuntimeError("the report server is away")


def number(text: str) -> int:
    return int(re.search(r"\d+", text.replace(",", ""))[0])


def test_what_is_pending_is_one_number_on_every_page_and_the_parts_add_up(filled, browse):
    page = browse(f"{filled.address}#/")
    tile = page.get_by_role("navigation", name="Jobs by status").get_by_role("link", name="Pending")
    page.get_by_text(f"{BEHIND} jobs wait for another job to end.").wait_for()
    pending = DUE + LATER + 2 * BEHIND
    assert number(tile.locator("b").inner_text()) == pending
    waits = number(page.locator(".flow div", has_text="Waiting now").locator("dd").inner_text())
    later = number(page.get_by_text("on purpose for their time").inner_text())
    assert (waits, later, waits + later + BEHIND) == (DUE, LATER + BEHIND, pending)
    tile.click()
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    page.get_by_text(f"{pending} of {pending} shown").wait_for()
    facet = page.get_by_role("navigation", name="Status").get_by_role("button", name="Pending")
    assert number(facet.locator("b").inner_text()) == pending
    page.get_by_role("link", name="Workers").click()
    rows = page.locator("table", has_text="Behind").locator("tbody tr")
    rows.first.wait_for()
    parts = [
        number(rows.nth(row).locator("td").nth(part).inner_text()) for row in range(rows.count()) for part in (1, 2, 3)
    ]
    assert sum(parts) == pending


def test_the_list_of_errors_names_every_task_that_its_matrix_shows(filled, browse):
    page = browse(f"{filled.address}#/errors")
    row = page.locator("table.errors tbody tr", has_text="the report server is away")
    page.locator("table.matrix tbody tr").first.wait_for()
    in_matrix = set(page.locator("table.matrix tbody tr td:first-child").all_inner_texts())
    assert in_matrix == set(TASKS)
    row.get_by_role("button", name="and 4 more").click()
    named = row.locator("td").nth(2).inner_text().removesuffix("Show fewer")
    assert {name.strip() for name in named.split(",")} == in_matrix


def test_the_page_of_a_task_tells_its_week_its_last_runs_and_the_error_that_the_list_of_errors_has(
    filled, browse, barriers
):
    page = browse(f"{filled.address}#/tasks/{TASKS[0]}")
    week = page.get_by_role("row", name=re.compile("^Jobs that ended"))
    week.wait_for()
    assert week.locator("td").all_inner_texts() == ["1", "0"]
    assert page.get_by_role("row", name=re.compile("^Completed")).locator("td").all_inner_texts() == ["0 %", "–"]
    assert page.locator(".runs a").count() == 1
    page.get_by_role("img", name=re.compile("^p50 ")).wait_for()
    assert barriers(page) == []
    page.get_by_role("link", name="RuntimeError: the report server is away").click()
    page.get_by_text("1 of 1 shown").wait_for()


def test_an_open_error_is_counted_in_title_icon_and_navigation_until_it_is_acknowledged(filled, browse, barriers):
    page = browse(f"{filled.address}#/errors")
    counted = page.get_by_role("link", name=re.compile("^Errors")).locator(".count, b, .badge").first
    page.wait_for_function("document.title.startsWith('(1) ')")
    assert counted.inner_text() == "1"
    icon = "document.querySelector('link[rel=icon]').href"
    assert "icon-open" in page.evaluate(icon)
    assert barriers(page) == []
    page.get_by_role("button", name="Acknowledge…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Acknowledge").click()
    dialog.get_by_text("an error is acknowledged with a reason").wait_for()
    dialog.get_by_label("Reason").fill("the server is being moved")
    dialog.get_by_role("button", name="Acknowledge").click()
    page.get_by_text("No error wants anybody").wait_for()
    page.wait_for_function("!document.title.startsWith('(')")
    assert "icon-open" not in page.evaluate(icon)
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_text("the server is being moved").wait_for()
    page.get_by_role("button", name="Reopen…").click()
    dialog.get_by_role("button", name="Reopen").click()
    page.get_by_role("button", name="Mended…").wait_for()
    page.get_by_role("button", name="Mute…").click()
    assert barriers(page) == []
