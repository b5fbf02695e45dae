"""A script in every field that a program, a job or a person can fill is a text on every page, and nothing of it runs."""

from __future__ import annotations

from urllib.parse import quote

import console_site as site
import pytest
from script_app import FILE, LABEL, NAMES, QUEUE, SCRIPT, fill

pytestmark = pytest.mark.timeout(300)  # a browser on a busy machine

NAMED = quote(SCRIPT, safe="")
PLAN = {"name": SCRIPT, "task": SCRIPT, "rule": "0 3 * * *", "source": SCRIPT, "args": {"text": SCRIPT}, "reason": SCRIPT}
# Each page, and what can be read there more than the script itself.
PAGES = {
    "/": [f"jobs of {NAMES[1]} failed", f"jobs of {SCRIPT} came in only partly"],
    "/jobs": [FILE, NAMES[2]],
    "/jobs/{period}": [f"{LABEL}={SCRIPT}", "1 failed", NAMES[1]],
    "/jobs/{file}": [FILE],
    "/jobs/{failed}": [f"{SCRIPT}: {SCRIPT}", "Traceback (most recent call last)"],
    "/jobs/{form}": ["It asks:"],
    "/jobs/{mapping}": ["It asks:"],
    "/coverage": ["Feb"],
    f"/coverage?task={NAMED}&at=2012": [FILE],
    "/questions": [NAMES[2]],
    "/questions/{of form}": ["Your answer"],
    "/questions/{of mapping}": ["required"],
    "/schedules": [],
    f"/schedules/{NAMED}": [f"Paused by this machine: {SCRIPT}"],
    "/errors": [f"{SCRIPT}: {SCRIPT}"],
    "/workers": [f"this machine: {SCRIPT}"],
    "/audit": ["token made", "queue paused", "schedule paused"],
    "/tasks": [NAMES[2]],
    f"/tasks/{NAMED}": [f"Start {SCRIPT}"],
}

WHOLE = """() => {
    document.querySelectorAll("details").forEach(one => { one.open = true });
    return document.querySelector("main").textContent;
}"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with site.running(tmp_path_factory.mktemp("script"), None, "--queues", f"{QUEUE}=4", app="script_app:jobs") as running:
        yield running


@pytest.fixture(scope="module")
def ids(place):
    """What stands for the words of an address: jobs in every state that shows something, and their questions."""
    made = fill(place.database, place.folder)
    for name, status in (("form", "awaiting_input"), ("mapping", "awaiting_mapping")):
        made[f"of {name}"] = place.until(made[name], status)["questions"][0]["id"]
    for name in ("period", "file", "failed"):
        place.until(made[name], "partial", "failed")
    place.post("schedules", PLAN)
    place.post(f"schedules/{NAMED}/pause", {"reason": SCRIPT})
    place.post(f"queues/{quote(QUEUE, safe='')}/pause", {"reason": SCRIPT})
    return made


def test_it_is_a_text_on_every_page_and_runs_on_none(place, browse, ids):
    page = browse(place.address)
    met = []
    page.on("dialog", lambda dialog: met.append(dialog.message) or dialog.dismiss())
    page.evaluate("addEventListener('securitypolicyviolation', one => { window.violated = one.violatedDirective }, true)")
    for where, texts in PAGES.items():
        page.goto(f"{place.address}#{where.format_map(ids)}")
        page.get_by_role("heading", level=1).wait_for()
        page.locator(".waiting").first.wait_for(state="detached")
        for text in (SCRIPT, *texts):
            place.wait(f"'{text}' stands at {where}", lambda text=text: text in page.evaluate(WHOLE))
        assert page.locator("main img, main script, header img, header script").count() == 0, where
        assert page.evaluate("[window.taken ?? null, window.violated ?? null]") == [None, None], where
    assert met == []


def test_links_to_what_is_named_so_find_it(place, browse, ids):
    page = browse(f"{place.address}#/tasks")
    page.get_by_role("link", name=NAMES[2], exact=True).click()
    page.get_by_text("2 jobs · newest first", exact=False).wait_for()
    page.goto(f"{place.address}#/jobs/{ids['period']}")
    page.get_by_role("link", name=f"tenant={SCRIPT}").click()
    page.get_by_text("7 jobs · newest first", exact=False).wait_for()  # what follows has the labels too
    page.get_by_role("link", name=FILE).wait_for()
