"""What an operator does in the console, done in a browser against a real server with a real worker."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import console_app
import pytest
from console_site import running

from jobtrail import JobTrail
from jobtrail.commands.job_fields import stored_row

pytestmark = pytest.mark.timeout(180)  # a browser, or the compiler, on a busy machine

MANY = 2_000
CONFIRM = "dialog[open] button[type=submit]"


@pytest.fixture(autouse=True)
def strict(place):
    """The sources refuse what they refuse; each test begins so."""
    for name in ("lenient", "back", "enough"):
        (place.folder / name).unlink(missing_ok=True)


def status(page, word):
    page.locator(".job-title .st", has_text=word).wait_for()


def press(page, name, reason=""):
    """An action of the page, through its dialog."""
    page.get_by_role("button", name=name).first.click()
    if reason:
        page.locator("dialog[open]").get_by_label("Reason").fill(reason)
    page.locator(CONFIRM).and_(page.locator(":not(.off)")).click()


def job_of(page):
    """The id of the job whose page is shown."""
    page.wait_for_url(re.compile("/jobs/[0-9a-f-]{36}"))
    return page.url.rsplit("/", 1)[1]


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
    # The old job is as it was, and its item tells what became of it.
    page.get_by_text("23 of 24 items are in.").wait_for()
    failed = page.get_by_role("row", name=re.compile("wind speed 1048 mph"))
    failed.get_by_text("Since then: ok in").wait_for()
    failed.get_by_role("button", name="history").click()
    told = page.locator(".item-history li")
    told.nth(1).wait_for()
    assert ["Failed" in one for one in told.all_inner_texts()] == [True, False]
    told.nth(1).get_by_role("link").click()
    page.wait_for_url(re.compile(again["id"]))
    page.get_by_role("button", name="2 tries").click()
    page.locator(".item-history").get_by_text("wind speed 1048 mph").wait_for()


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


def test_a_form_is_answered_where_its_job_is(place, browse, barriers):
    job = place.submit("publish_prices", {"shop": "south"})
    place.until(job, "awaiting_input")
    page = browse(f"{place.address}#/jobs/{job}")
    page.get_by_label(re.compile("^Publish")).select_option(label="changed")
    page.get_by_label(re.compile("^Largest change")).fill("200")
    page.get_by_role("button", name="Send the answer").click()
    page.get_by_text("1 field does not fit").wait_for()
    page.get_by_text("has to be 100 or less").wait_for()
    assert barriers(page) == []
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
    page.get_by_role("gridcell", name="weather/JFK 2014-03: Complete").hover()
    page.get_by_text("24 / 0 / 0").wait_for()
    page.get_by_role("gridcell", name="weather/JFK 2014-05: Missing").wait_for()
    page.get_by_role("button", name="Days").click()
    page.get_by_role("gridcell", name="weather/JFK 2014-").nth(27).wait_for()
    page.get_by_role("button", name="Years").click()
    page.get_by_role("gridcell", name="weather/JFK 2014: ").wait_for()


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
    page.get_by_role("heading", level=2, name="Start import_planes").wait_for()
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
    page.get_by_text(re.compile("^[1-9][0-9]* jobs? · newest first")).wait_for()
    page.get_by_role("button", name="Save view").click()
    page.get_by_label("Name of the view").fill("July")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Clear the filter").click()
    page.get_by_label("Saved views").select_option("July")
    page.wait_for_url(re.compile("period:2013-07"))
    page.get_by_role("button", name="Forget view").click()
    page.get_by_label("Saved views").wait_for(state="detached")
    page.get_by_role("button", name="Remove period:2013-07").click()
    page.wait_for_url(re.compile("q=status:completed$"))
    page.get_by_role("navigation", name="Status").get_by_role("button", name=re.compile("^Failed")).click()
    page.wait_for_url(re.compile("q=status:failed$"))


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
    with running(tmp_path, forked=False) as site:
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
    again = job_of(page)
    assert place.get(f"jobs/{again}")["arguments"] == {"shop": "east", "api_key": "•••"}
    assert "s3cret" not in page.content()
    with closing(JobTrail(place.database)) as jobs:
        assert json.loads(stored_row(jobs.get(again)).args) == {"shop": "east", "api_key": "s3cret"}


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


def test_it_is_retried_run_at_once_gone_on_with_and_run_again_in_full(place, browse):
    failed = place.submit("call_partner", {"partner": "once"})
    place.until(failed, "failed")
    page = browse(f"{place.address}#/jobs/{failed}")
    page.get_by_text("It failed after attempt 3 of 3.").wait_for()
    press(page, "Retry…", "the partner says he is back")
    page.get_by_text("It failed after attempt 4 of 4.").wait_for()
    later = place.submit("greet", {"name": "Bo"}, run_at="2999-01-01T00:00:00Z")
    page.goto(f"{place.address}#/jobs/{later}")
    press(page, "Run now…")
    status(page, "Completed")
    stopped = place.weather("JFK", "2016-01", wait=False, pause=0.3)
    place.wait("some items are in", lambda: (place.get(f"jobs/{stopped}")["items"]["ok"] or 0) > 3)
    page.goto(f"{place.address}#/jobs/{stopped}")
    press(page, "Cancel…")
    status(page, "Cancelled")
    press(page, "Go on where it stopped…")
    page.wait_for_url(lambda url: stopped not in url)
    status(page, "Completed")
    resumed = place.get(f"jobs/{job_of(page)}")
    assert resumed["mode"] == "resume"
    assert resumed["items"]["ok"] + place.get(f"jobs/{stopped}")["items"]["ok"] == 24
    press(page, "Re-run in full…")
    page.wait_for_url(lambda url: resumed["id"] not in url)
    again = place.get(f"jobs/{job_of(page)}")
    assert (again["mode"], again["rerun_of"]) == ("full", resumed["id"])
    press(page, "Cancel…")


def test_the_end_of_a_body_that_does_not_stop_is_written_and_its_return_is_told(place, browse):
    job = place.submit("count_stock")
    page = browse(f"{place.address}#/jobs/{job}")
    status(page, "Running")
    press(page, "Cancel…", "nobody needs it")
    status(page, "Cancelling")
    press(page, "Write its end…")
    status(page, "Cancelled")
    page.get_by_text("Not possible: its body still runs; it can be retried when that has ended.").wait_for()
    (place.folder / "enough").touch()
    page.get_by_text("Whole trail").click()
    page.get_by_role("cell", name="body returned").wait_for()


def test_all_that_match_are_cancelled_in_bulk_after_a_preview_and_that_is_stopped(place, browse):
    place.until(place.submit("greet", {"name": "bulk"}, source="bulk"), "completed")
    with closing(JobTrail(place.database)) as jobs:
        greet = jobs.task(console_app.greet.task.function, name="greet")
        greet.using(source="bulk", delay=1e6).enqueue_many([{"name": "bulk"}] * MANY)
    page = browse(f"{place.address}#/jobs?q=source:bulk")
    page.get_by_role("checkbox", name="Select greet").first.check()
    page.get_by_role("button", name=f"Select all {MANY + 1:,} that match").click()
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_text(f"With {MANY:,} of {MANY + 1:,} jobs something will be done.").wait_for()
    page.get_by_text("1 left alone: has ended").wait_for()
    page.locator(CONFIRM, has_text=f"Cancel {MANY:,} jobs").click()
    job_of(page)
    press(page, "Cancel…", "too many")
    status(page, "Cancelled")
    left = place.get("jobs?q=source:bulk%20status:pending&count=true")["count"]["number"]
    assert 0 < left < MANY


def test_selected_jobs_are_deleted_after_a_preview_with_everything_that_tells_of_them(place, browse):
    gone = [place.submit("greet", {"name": f"gone{n}"}, source="gone") for n in range(2)]
    for job in gone:
        place.until(job, "completed")
    page = browse(f"{place.address}#/jobs?q=source:gone")
    for n in range(2):
        page.get_by_role("checkbox", name="Select greet").nth(n).check()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_text("With 2 of 2 jobs something will be done.").wait_for()
    page.locator(CONFIRM, has_text="Delete 2 jobs").click()
    status(page, "Completed")
    assert place.get("jobs?q=source:gone")["jobs"] == []


def test_a_schedule_is_added_in_words_changed_run_at_once_and_removed(place, browse):
    page = browse(f"{place.address}#/schedules")
    page.get_by_role("button", name="Add a schedule…").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_label("Name").fill("tea")
    dialog.get_by_label("Task").select_option("greet")
    dialog.get_by_label(re.compile("^Rule")).fill("0 16 * * 1-5")
    dialog.get_by_text("every day from Monday to Friday at 16:00 (UTC)").wait_for()
    dialog.get_by_label(re.compile("^Arguments")).fill('{"name": "Eve"}')
    page.click(CONFIRM)
    page.get_by_role("heading", level=1, name="tea").wait_for()
    page.get_by_role("button", name="Edit…").click()
    page.locator("dialog[open]").get_by_label(re.compile("^Rule")).fill("every 5 minutes")
    page.locator("dialog[open]").get_by_text("Next: ").wait_for()
    page.click(CONFIRM)
    page.get_by_text("Every 5 minutes.").wait_for()
    press(page, "Run now…", "thirsty")
    status(page, "Completed")
    page.get_by_text("hello Eve").wait_for()
    page.goto(f"{place.address}#/schedules/tea")
    press(page, "Remove…")
    page.wait_for_url(re.compile("/schedules$"))
    page.get_by_role("link", name="greet").first.wait_for()
    page.get_by_role("link", name="tea").wait_for(state="detached")


def test_a_declared_schedule_shows_what_was_changed_and_goes_back_to_what_is_declared(place, browse):
    page = browse(f"{place.address}#/schedules/weather%2FJFK")
    page.get_by_role("button", name="Edit…").click()
    page.locator("dialog[open]").get_by_label(re.compile("^Rule")).fill("0 5 2 * *")
    page.locator("dialog[open]").get_by_text("Next: ").wait_for()
    page.click(CONFIRM)
    page.get_by_role("heading", name="Changed from what is declared").wait_for()
    page.get_by_text("On day 2 of every month at 05:00 (UTC).").wait_for()
    press(page, "As declared…")
    page.get_by_role("heading", name="Changed from what is declared").wait_for(state="detached")
    page.get_by_text("On day 2 of every month at 03:00 (UTC).").wait_for()


def test_a_job_is_started_on_a_file_of_the_server_and_on_no_other_one(place, browse):
    (place.folder / "incoming" / "there.csv").write_text("Tail_Number\nN2\n")
    page = browse(f"{place.address}#/tasks/import_planes")
    page.get_by_role("button", name="on the server").click()
    page.get_by_label("on the server").and_(page.locator("input")).fill("../../etc/passwd")
    page.get_by_role("button", name="Start the job").click()
    page.get_by_text("'../../etc/passwd' is no file below").wait_for()
    page.get_by_label("on the server").and_(page.locator("input")).fill("there.csv")
    page.get_by_label("Source").fill("files/there")
    page.get_by_role("button", name="Start the job").click()
    status(page, "Awaiting mapping")
    page.get_by_role("heading", level=1, name="files/there · there.csv").wait_for()


def test_chosen_items_are_run_again_as_a_new_job(place, browse):
    job = place.weather("JFK", "2013-03")
    page = browse(f"{place.address}#/jobs/{job}?items=ok")
    status(page, "Completed")
    boxes = page.locator(".items input[type=checkbox]")
    boxes.first.wait_for()
    keys = [boxes.nth(n).get_attribute("aria-label").removeprefix("Choose ") for n in (0, 1, 3)]
    for n in (0, 1, 2, 3):
        boxes.nth(n).check()
    boxes.nth(2).uncheck()
    page.get_by_role("button", name="Run 3 items again…").click()
    page.get_by_text("and no others").wait_for()
    page.locator("dialog[open]").get_by_label("Reason").fill("late corrections")
    page.click(CONFIRM)
    page.wait_for_url(lambda url: job not in url)
    status(page, "Completed")
    again = place.get(f"jobs/{job_of(page)}")
    told = place.get(f"jobs/{again['id']}/items")["items"]
    assert [item["key"] for item in told] == keys
    assert (again["reason"], again["rerun_of"]) == ("late corrections", job)


def test_a_log_is_searched_by_level_and_taken_away_and_so_are_items(place, browse):
    job = place.weather("EWR", "2013-02")
    page = browse(f"{place.address}#/jobs/{job}")
    lines = page.locator(".log-line")
    lines.filter(has_text="24 hours of EWR").wait_for()
    page.get_by_role("button", name="Warnings").click()
    lines.filter(has_text="24 hours of EWR").wait_for(state="detached")
    lines.filter(has_text="wind speed 1048").wait_for()
    page.get_by_role("button", name="Errors", exact=True).click()
    page.get_by_text("Nothing in the log matches.").wait_for()
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_label("Search in the log").fill("STORED")
    page.locator(".log-line mark", has_text="stored").wait_for()
    assert lines.count() == 1
    with page.expect_download() as log:
        page.get_by_role("link", name="Download the log").click()
    assert "download: 24 hours of EWR" in Path(log.value.path()).read_text()
    page.get_by_role("button", name="OK 23").click()
    page.get_by_role("cell", name="2013-02-12T00:00Z").wait_for()
    assert page.url.endswith("items=ok")
    with page.expect_download() as items:
        page.get_by_role("link", name="CSV").click()
    assert len(Path(items.value.path()).read_text().splitlines()) == 24


def test_a_log_is_followed_until_somebody_reads_above(place, browse):
    job = place.submit("export_report", {"pages": 100_000})
    page = browse(f"{place.address}#/jobs/{job}")
    log = page.get_by_role("log", name="Log")
    follow = page.get_by_role("button", name="Follow")
    at_end = "pane => pane.scrollHeight > pane.clientHeight + 100 && pane.scrollHeight - pane.scrollTop - pane.clientHeight < 60"
    place.wait("the newest lines are shown", lambda: log.evaluate(at_end))

    def read_above():
        log.hover()  # each time: the page grows above it
        page.mouse.wheel(0, -300)
        return follow.get_attribute("aria-pressed") == "false"

    place.wait("it stands still", read_above)
    lines = log.evaluate("pane => pane.scrollHeight")
    place.wait("more has come", lambda: log.evaluate("pane => pane.scrollHeight") > lines)
    assert not log.evaluate(at_end)
    follow.click()
    place.wait("the newest lines are shown", lambda: log.evaluate(at_end))
    (place.folder / "enough").touch()
    status(page, "Completed")
    follow.wait_for(state="detached")


def test_language_and_theme_stay_as_they_were_chosen_and_keys_go_everywhere(place, browse):
    first, second = (place.submit("greet", {"name": name}) for name in ("one", "two"))
    place.until(first, "completed")
    place.until(second, "completed")
    page = browse(f"{place.address}#/", color_scheme="light")
    page.get_by_role("button", name="RU", exact=True).click()
    page.get_by_role("heading", level=1, name="Что требует меня сейчас").wait_for()
    page.get_by_role("button", name="Светло или темно").click()
    page.reload()
    page.locator("html[lang=ru][data-theme=dark]").wait_for()
    page.get_by_role("heading", level=1, name="Что требует меня сейчас").wait_for()
    page.get_by_role("button", name="EN", exact=True).click()
    page.goto(f"{place.address}#/jobs?q=task:greet status:completed")
    page.get_by_role("link", name="greet").nth(1).wait_for()
    rows = [link.get_attribute("href").rsplit("/", 1)[1] for link in page.locator("tbody a.main").all()]
    for key in "jjk":
        page.keyboard.press(key)
    page.locator("tbody tr.pos").wait_for()
    page.keyboard.press("x")
    page.get_by_text("1 job selected.").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("1 job selected.").wait_for(state="detached")
    page.keyboard.press("Enter")
    assert job_of(page) == rows[0]
    page.keyboard.press("?")
    page.get_by_role("dialog", name="All keys").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("link", name="Jobs").first.click()
    page.get_by_label("Filter jobs").and_(page.locator("input")).wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.role") == "combobox"


def test_in_russian_what_the_server_says_is_said_in_russian_and_what_people_say_is_not(place, browse):
    done = place.submit("greet", {"name": "Bo"})
    place.until(done, "completed")
    stopped = place.submit("greet", {"name": "Bo"}, run_at="2999-01-01T00:00:00Z")
    place.post(f"jobs/{stopped}/cancel", {"reason": "not today"})
    page = browse(f"{place.address}#/jobs?q=id:{done} id:{stopped}", locale="ru-RU")
    for row in (0, 1):
        page.get_by_role("checkbox", name="Выделить greet").nth(row).check()
    page.get_by_role("button", name="Ещё попытка…").click()
    page.locator("dialog[open]").get_by_text("не трогаем 1: сейчас завершено").wait_for()
    page.goto(f"{place.address}#/jobs/{place.weather('JFK', '2013-05')}")
    page.get_by_text("Загружено 22 из 24.").wait_for()
    page.goto(f"{place.address}#/jobs/{stopped}")
    page.get_by_text("Отменено: эта машина. not today").wait_for()
    page.goto(f"{place.address}#/questions/0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f")
    page.get_by_text("вопроса 0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f нет").wait_for()


def test_errors_lead_to_their_jobs_and_the_audit_is_narrowed(place, browse):
    place.until(place.submit("call_partner", {"partner": "gone"}), "failed")
    page = browse(f"{place.address}#/errors")
    page.get_by_role("link", name=re.compile("^ConnectionError: connection to gone.example")).first.click()
    page.wait_for_url(re.compile("error:"))
    page.get_by_role("link", name="call_partner").first.wait_for()
    place.post("queues/default/pause", {"reason": "narrowed"})
    place.post("queues/default/resume", {})
    page.goto(f"{place.address}#/audit")
    page.get_by_label("What").select_option("queue paused")
    page.get_by_role("cell", name="narrowed").wait_for()
    page.get_by_role("cell", name="submitted").first.wait_for(state="detached")
    page.get_by_label("Who").fill("person:nobody")
    page.keyboard.press("Enter")
    page.get_by_text("Nothing matches").wait_for()


def test_escape_asks_once_before_it_drops_what_was_typed(place, browse):
    job = place.submit("greet", {"name": "draft"})
    place.until(job, "completed")
    page = browse(f"{place.address}#/jobs/{job}")
    page.get_by_role("button", name="Re-run in full…").first.click()
    page.locator("dialog[open]").get_by_label("Reason").fill("a long reason")
    page.keyboard.press("Escape")
    page.get_by_role("alert").get_by_text("Press Escape again").wait_for()
    assert page.locator("dialog[open]").get_by_label("Reason").input_value() == "a long reason"
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")


def test_no_action_takes_the_place_of_cancel(place, browse):
    job = place.weather("LGA", "2013-08", wait=False, pause=1.0)
    place.until(job, "running")
    page = browse(f"{place.address}#/jobs/{job}")
    status(page, "Running")
    press(page, "Cancel…")
    page.locator(".job-title .st", has_text=re.compile("Cancel")).wait_for()
    assert page.locator(".page-head .btn.primary").count() == 0
    place.until(job, "cancelled", "completed", "partial")
