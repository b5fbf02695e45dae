"""Limits by key on the page of workers and queues: shown, changed, reset."""

from __future__ import annotations


def test_a_limit_is_shown_with_its_keys_changed_and_reset(place, browse):
    job = place.submit("call_partner", {"partner": "gone"})
    place.until(job, "failed")
    page = browse(f"{place.address}#/workers")
    row = page.get_by_role("row").filter(has_text="partner:{partner}").first
    row.get_by_text("2 at once").wait_for()
    row.get_by_role("button", name="Change…").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_label("Run at once").fill("0")
    dialog.get_by_role("button", name="Change").click()
    dialog.get_by_text("running must be a whole number from 1").wait_for()
    dialog.get_by_label("Run at once").fill("")
    dialog.get_by_label("Starts in a span").fill("7")
    dialog.get_by_label("Reason").fill("their server is slow")
    dialog.get_by_role("button", name="Change").click()
    row.get_by_text("7 in 1 s").wait_for()
    row.get_by_text("their server is slow").wait_for()
    row.get_by_role("button", name="Change…").click()
    dialog.get_by_label("As the programs declare it: 2 at once").check()
    dialog.get_by_role("button", name="Change").click()
    row.get_by_text("2 at once").wait_for()
