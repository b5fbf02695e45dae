"""What an operator does in the console, done in a browser against a real server with a real worker."""

from __future__ import annotations

import re

import pytest
from console_site import running

pytestmark = pytest.mark.timeout(180)  # a browser, or the compiler, on a busy machine

CONFIRM = "dialog[open] button[type=submit]"


@pytest.fixture(autouse=True)
def strict(place):
    """The sources refuse what they refuse; each test begins so."""
    for name in ("lenient", "back", "enough"):
        (place.folder / name).unlink(missing_ok=True)


def status(page, word):
    page.locator(".job-title .st", has_text=word).wait_for()


def test_a_job_is_watched_to_partial_and_its_failed_items_are_run_again(place, browse):
    job = place.weather("EWR", "2013-02", wait=False, pause=0.05)
    page = browse(f"{place.address}#/jobs/{job}")
    status(page, "Partial")
    page.get_by_text("23 of 24 items are in.").wait_for()
    page.get_by_role("cell", name=re.compile("wind speed 1048 mph")).wait_for()
    page.locator(".log-line.warning", has_text="refused").wait_for()
    (place.folder / "lenient").touch()
    page.get_by_role("button", name="Re-run 1 failed item…").first.wait_for()
    page.keyboard.press("r")
    page.locator("dialog[open] input").fill("the rule is lenient now")
    page.click(CONFIRM)
    page.wait_for_url(lambda url: job not in url)
    status(page, "Completed")
    again = place.get(f"jobs/{page.url.rsplit('/', 1)[1]}")
    assert (again["mode"], again["rerun_of"], again["items"]["ok"]) == ("failed_items", job, 1)
    assert again["reason"] == "the rule is lenient now"
    page.goto(f"{place.address}#/jobs/{job}")
    page.get_by_text("A newer job of this work tells its truth now").wait_for()


def test_a_mapping_is_answered_with_selects(place, browse):
    upload = place.upload("planes_vendor.csv", b"Tail_Number\nN10156\n")
    job = place.submit("import_planes", source="files/mapped", file={"upload": upload["upload"]})
    question = place.until(job, "awaiting_mapping")["questions"][0]["id"]
    page = browse(f"{place.address}#/questions/{question}")
    send = page.get_by_role("button", name="Send the answer")
    assert send.get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="Go there").click()
    assert page.evaluate("document.activeElement.id") == "map-manufacturer"
    page.get_by_label("manufacturer").select_option("Maker")
    page.get_by_role("cell", name="EMBRAER").wait_for()
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: job in url)
    status(page, "Partial")
    assert place.get(f"jobs/{job}")["result"]["columns"]["manufacturer"] == "Maker"


def test_a_form_is_answered_where_its_job_is(place, browse):
    job = place.submit("publish_prices", {"shop": "south"})
    place.until(job, "awaiting_input")
    page = browse(f"{place.address}#/jobs/{job}")
    page.get_by_label(re.compile("^Publish")).select_option(label="changed")
    page.get_by_label(re.compile("^Largest change")).fill("200")
    page.get_by_role("button", name="Send the answer").click()
    page.get_by_text(re.compile("field does not fit")).wait_for()
    page.get_by_label(re.compile("^Largest change")).fill("20")
    page.get_by_role("button", name="Send the answer").click()
    status(page, "Completed")
    assert place.get(f"jobs/{job}")["result"]["published"] == "changed"


def test_what_is_selected_is_retried_in_bulk_and_the_list_stands_still(place, browse):
    jobs = [place.submit("call_partner", {"partner": f"bulk{n}"}) for n in range(3)]
    for job in jobs:
        place.until(job, "failed")
    page = browse(f"{place.address}#/jobs?q=task:call_partner status:failed")
    page.get_by_role("checkbox", name="Select call_partner").nth(2).wait_for()
    for _ in range(3):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.get_by_text("3 jobs selected.").wait_for()
    held = [row.inner_text() for row in page.locator("tbody tr").all()]
    place.until(place.submit("call_partner", {"partner": "late"}), "failed")
    page.get_by_text(re.compile(r"Updates held, [1-9]")).wait_for()
    assert [row.inner_text().split("\t")[0] for row in page.locator("tbody tr").all()] == [
        row.split("\t")[0] for row in held
    ]
    page.get_by_role("button", name="Retry…").click()
    page.locator(CONFIRM, has_text="Retry 3 jobs").click()
    page.wait_for_url(re.compile("/jobs/[0-9a-f-]{36}"))
    status(page, "Completed")
    assert all(place.get(f"jobs/{job}")["attempt"] > 3 for job in jobs)


def test_gaps_are_selected_and_filled(place, browse):
    place.weather("JFK", "2014-01")
    place.weather("JFK", "2014-04")
    page = browse(f"{place.address}#/coverage?task=sync_weather&zoom=month&at=2014")
    first = page.get_by_role("gridcell", name="weather/JFK 2014-01: Complete")
    first.click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.get_by_text("weather/JFK, 2014-02 to 2014-03").wait_for()
    page.get_by_role("button", name="Start 2 jobs").click()
    page.wait_for_url(re.compile("/jobs/[0-9a-f-]{36}"))
    status(page, "Completed")
    page.goto(f"{place.address}#/coverage?task=sync_weather&zoom=month&at=2014")
    page.get_by_role("gridcell", name="weather/JFK 2014-03: Complete").wait_for()
    page.get_by_role("gridcell", name="weather/JFK 2014-05: Missing").wait_for()


def test_two_browsers_see_the_same_and_one_of_them_cancels(place, browse):
    job = place.submit("export_report", {"pages": 100_000})
    one, two = (browse(f"{place.address}#/jobs/{job}") for _ in range(2))
    for page in (one, two):
        status(page, "Running")
        page.locator(".log-line", has_text="page").first.wait_for()
    one.get_by_role("button", name="Cancel…").click()
    one.click(CONFIRM)
    for page in (one, two):
        status(page, "Cancelled")


def test_a_job_is_started_from_its_form_and_a_file_is_handed_over(place, browse):
    page = browse(f"{place.address}#/tasks/greet")
    page.get_by_label(re.compile("^name")).fill("Ann")
    page.get_by_label("loud").check()
    page.get_by_role("button", name="Start the job").click()
    status(page, "Completed")
    page.get_by_text("hello ANN").wait_for()
    page.goto(f"{place.address}#/tasks/import_planes")
    page.get_by_role("heading", level=1, name="Start import_planes").wait_for()
    page.locator("input[type=file]").set_input_files(
        {"name": "by_hand.csv", "mimeType": "text/csv", "buffer": b"Tail_Number\nN1\n"}
    )
    page.get_by_text("by_hand.csv, ").wait_for()
    page.get_by_role("button", name="Start the job").click()
    status(page, "Awaiting mapping")
    page.get_by_text("by_hand.csv").first.wait_for()


def test_a_queue_and_a_schedule_are_paused_with_a_reason_and_the_audit_tells_it(place, browse):
    page = browse(f"{place.address}#/workers")
    for verb, then in (("Pause…", "Resume…"), ("Resume…", "Pause…")):
        row = page.get_by_role("row", name=re.compile("^default"))
        row.get_by_role("button", name=verb).click()
        page.locator("dialog[open] input").fill("the source is moved")
        page.click(CONFIRM)
        row.get_by_role("button", name=then).wait_for()
    page.goto(f"{place.address}#/schedules/greet")
    page.get_by_role("heading", level=1, name="greet").wait_for()
    page.get_by_role("button", name="Pause…").click()
    page.click(CONFIRM)
    page.get_by_role("button", name="Resume…").click()
    page.click(CONFIRM)
    page.get_by_role("button", name="Pause…").wait_for()
    page.goto(f"{place.address}#/audit")
    page.get_by_role("cell", name="queue paused").first.wait_for()
    page.get_by_role("cell", name="the source is moved").first.wait_for()
    page.get_by_role("cell", name="schedule paused").first.wait_for()


def test_a_filter_is_typed_with_help_kept_as_a_view_and_is_an_address(place, browse):
    place.weather("EWR", "2013-07")
    page = browse(f"{place.address}#/jobs")
    page.get_by_role("link", name=re.compile("sync_weather")).first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type("status:comp")
    page.get_by_role("option", name="status:completed").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("period:2013-07 ")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"q=status:completed(\+|%20)period:2013-07"))
    page.get_by_text(re.compile("^1 matches|^[0-9]+ match")).wait_for()
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name of the view").fill("July")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Clear the filter").click()
    page.get_by_label("Saved views").select_option("July")
    page.wait_for_url(re.compile("period:2013-07"))
    page.keyboard.press("?")
    page.get_by_role("dialog", name="All keys").wait_for()


def test_a_refusal_says_which_job_stands_in_the_way(place, browse):
    done = place.weather("JFK", "2015-01")
    page = browse(f"{place.address}#/jobs/{done}")
    page.get_by_role("button", name="Re-run in full…").click()
    active = place.submit("sync_weather", {"airport": "JFK", "pause": 1.0}, source="weather/JFK", period="2015-01")
    place.until(active, "running")
    page.click(CONFIRM)
    page.locator("dialog[open]").get_by_role("link", name=f"job …{active[-8:]}").wait_for()
    place.post(f"jobs/{active}/cancel", {})


def test_c33_a_page_outlives_a_server_that_was_killed_and_shows_what_is_so_then(tmp_path, browse):
    with running(tmp_path) as site:
        job = site.submit("export_report", {"pages": 100_000})
        page = browse(f"{site.address}#/jobs/{job}")
        status(page, "Running")
        page.get_by_text("Live", exact=True).wait_for()
        site.stop(9)
        page.get_by_text(re.compile("^as of .* trying again")).wait_for()
        status(page, "Running")
        (tmp_path / "enough").touch()
        site.start()
        page.get_by_text("Live", exact=True).wait_for(timeout=30_000)
        page.locator(".job-title .st", has_text="Completed").wait_for(timeout=45_000)
        page.locator(".trail .interrupted").wait_for()


def test_it_is_run_with_changed_arguments_and_a_masked_one_stays(place, browse):
    job = place.submit("publish_prices", {"shop": "west", "api_key": "s3cret"})
    place.until(job, "awaiting_input")
    place.post(f"jobs/{job}/cancel", {})
    page = browse(f"{place.address}#/jobs/{job}")
    page.get_by_role("button", name="Run with changed arguments…").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_label(re.compile("^shop")).fill("east")
    dialog.get_by_text("What is shown as ••• stays what it was").wait_for()
    dialog.get_by_role("button", name="Run with these arguments").click()
    page.wait_for_url(lambda url: job not in url)
    status(page, "Awaiting input")
    assert place.get(f"jobs/{page.url.rsplit('/', 1)[1]}")["arguments"]["shop"] == "east"
    assert "s3cret" not in page.content()


def test_it_is_run_with_a_corrected_file(place, browse):
    upload = place.upload("wrong.csv", b"Tail_Number\n")
    job = place.submit("import_planes", source="files/corrected", file={"upload": upload["upload"]})
    place.until(job, "awaiting_mapping")
    place.post(f"jobs/{job}/cancel", {})
    page = browse(f"{place.address}#/jobs/{job}")
    page.get_by_role("button", name="Run with a corrected file…").click()
    dialog = page.locator("dialog[open]")
    dialog.locator("input[type=file]").set_input_files(
        {"name": "right.csv", "mimeType": "text/csv", "buffer": b"Tail_Number\nN1\n"}
    )
    dialog.get_by_text("right.csv, ").wait_for()
    page.click(CONFIRM)
    page.wait_for_url(lambda url: job not in url)
    page.get_by_role("heading", level=1, name="files/corrected · right.csv").wait_for()
