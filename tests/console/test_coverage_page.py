"""The coverage page: what is selected is what is previewed and started, and nothing moves under the pointer."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine

AIRPORTS = ("EWR", "JFK", "LGA", *(f"X{number:02d}" for number in range(11)))


@pytest.fixture(scope="module")
def units(place):
    """More sources than fit beside a filter, each with a month of 2013; EWR has three."""
    jobs = [place.weather(airport, "2013-01", wait=False) for airport in AIRPORTS]
    jobs += [place.weather("EWR", month, wait=False) for month in ("2012-12", "2013-03")]
    for job in jobs:
        place.until(job, "completed", "partial", "failed")


@pytest.fixture
def board(place, browse, units):
    """The page with the months of 2013."""
    page = browse(f"{place.address}#/coverage?task=sync_weather&zoom=month&at=2013")
    page.locator("[data-place='0.11']").wait_for()
    return page


def cell(page, row, column):
    return page.locator(f"[data-place='{row}.{column}']")


def middle(page, row, column):
    box = cell(page, row, column).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def boxes(page):
    return page.evaluate(
        "[...document.querySelectorAll('[data-place]')].map(one => one.getBoundingClientRect()).map(one => [one.x, one.y, one.width])"
    )


def drag(page, start, end):
    page.mouse.move(*middle(page, *start))
    page.mouse.down()
    page.mouse.move(*middle(page, *end), steps=12)
    page.mouse.up()


def start_button(page):
    return page.locator(".backfill button.primary")


def test_a_focused_cell_survives_another_zoom(board):
    cell(board, 0, 0).focus()
    for _ in range(8):
        board.keyboard.press("ArrowRight")
    board.get_by_role("button", name="Years").focus()
    board.keyboard.press("Enter")
    board.get_by_role("columnheader", name="2012", exact=True).wait_for()
    board.get_by_role("link", name="Coverage").wait_for()
    board.get_by_role("heading", level=1, name="What is loaded, what is missing").wait_for()


def test_the_address_changes_while_the_pointer_is_over_a_cell(board, place):
    board.mouse.move(*middle(board, 2, 10))
    board.evaluate("location.hash = '#/coverage?task=sync_weather&zoom=year'")
    board.get_by_role("columnheader", name="2012", exact=True).wait_for()
    board.get_by_role("heading", level=1, name="What is loaded, what is missing").wait_for()


def test_an_address_that_names_no_time_and_a_task_without_periods_show_the_page(board, place):
    board.evaluate("location.hash = '#/coverage?task=sync_weather&zoom=day&at=undefined-01'")
    board.locator("[data-place='0.0']").wait_for()
    board.get_by_role("button", name="Earlier").click()
    board.evaluate("location.hash = '#/coverage?task=jobtrail.backfill&zoom=year'")
    board.get_by_text("Nothing is recorded for this time.").wait_for()
    board.get_by_role("button", name="Days").click()
    board.wait_for_url(re.compile("zoom=day"))
    assert "undefined" not in board.url
    board.get_by_role("heading", level=1, name="What is loaded, what is missing").wait_for()


def test_a_preview_of_another_selection_cannot_be_started(board, place):
    asked = []
    board.route("**/api/units/preview", lambda route: asked.append(route))
    drag(board, (1, 3), (1, 5))
    place.wait("a preview is asked for", lambda: board.title() and asked).pop().continue_()
    board.get_by_role("button", name="Start 3 jobs").wait_for()
    cell(board, 1, 5).focus()
    board.keyboard.press("Shift+ArrowRight")
    board.get_by_text("2013-04 to 2013-07. 4 cells").wait_for()
    assert "Start 3" not in start_button(board).inner_text()
    assert start_button(board).get_attribute("aria-disabled") == "true"
    assert "Missing: 3" not in board.locator(".backfill").inner_text()
    place.wait("another preview is asked for", lambda: board.title() and asked).pop().continue_()
    board.get_by_role("button", name="Start 4 jobs").wait_for()
    assert start_button(board).get_attribute("aria-disabled") is None


def test_a_preview_that_is_true_no_longer_is_refused_and_shown_anew(board, place):
    drag(board, (4, 6), (4, 8))
    board.get_by_role("button", name="Start 3 jobs").wait_for()
    source = board.locator("[role=rowheader] .ell").nth(4).inner_text()
    place.weather(source.split("/")[1], "2013-07")
    with board.expect_response(re.compile("units/backfill")) as answered:
        start_button(board).click()
    assert answered.value.status == 409
    board.get_by_text("changed since").wait_for()
    board.get_by_role("button", name="Start 2 jobs").click()
    board.wait_for_url(re.compile("/jobs/[0-9a-f-]{36}"))


def test_nothing_moves_while_somebody_drags_and_what_is_dragged_over_is_selected(board):
    before = boxes(board)
    board.mouse.move(*middle(board, 3, 4))
    board.mouse.down()
    board.mouse.move(*middle(board, 3, 3), steps=4)
    assert boxes(board) == before
    board.mouse.move(*middle(board, 3, 1), steps=8)
    assert boxes(board) == before
    board.mouse.up()
    board.get_by_text("2013-02 to 2013-05. 4 cells").wait_for()
    assert boxes(board) == before


def test_a_double_click_opens_the_days_of_a_month_without_a_job(board):
    board.mouse.dblclick(*middle(board, 3, 7))
    board.wait_for_url(re.compile("zoom=day.*2013-08"))
    board.locator("[data-place='0.30']").wait_for()


def test_the_filter_of_sources_stays_while_it_narrows_and_can_be_cleared(board):
    find = board.get_by_label("Source begins with")
    find.fill("weather/X0")
    board.get_by_text("weather/LGA").wait_for(state="detached")
    assert board.locator("[role=rowheader]").count() == 10
    find.fill("nothing begins so")
    board.locator("[role=rowheader]").first.wait_for(state="detached")
    find.fill("")
    board.get_by_text("weather/LGA").wait_for()


def test_months_and_the_panel_stay_in_view_with_many_sources(board):
    board.set_viewport_size({"width": 1240, "height": 420})
    drag(board, (1, 3), (1, 4))
    cell(board, 13, 0).scroll_into_view_if_needed()
    board.mouse.wheel(0, 5000)
    board.wait_for_timeout(200)  # until the scroll has ended
    assert cell(board, 13, 0).is_visible()
    seen = "(one) => { const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight }"
    assert board.locator("[role=columnheader]").nth(3).evaluate(seen)
    assert board.locator(".backfill h2").evaluate(seen)
