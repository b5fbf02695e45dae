"""Groups and chains: drawn with their states, live, and a way from each member to its group and back."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from jobtrail import Context, JobTrail

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine
MANY = 500


@pytest.fixture(scope="module")
def app(place):
    """The tasks of the server's application, to submit groups of them; the server runs them."""
    with closing(JobTrail(place.database, plugins=[])) as jobs:

        @jobs.task(kind="sync")
        def sync_weather(ctx: Context, *, airport: str) -> dict: ...

        @jobs.task
        def greet(*, name: str) -> str: ...

        yield jobs


def load(app, airport, period):
    return app.task_named("sync_weather").using(source=f"weather/{airport}", period=period), {"airport": airport}


def test_a_member_leads_to_its_group_whose_failed_members_run_again_while_one_looks(app, place, browse, barriers):
    members = [load(app, "EWR", "2013-01"), load(app, "LGA", "2013-09")]
    group = app.group(members, then=app.task_named("greet"), params={"name": "all"}, name="September")
    failed = group.jobs()[1].id
    place.until(failed, "failed")
    place.wait("the group has ended", lambda: group.outcome())
    page = browse(f"{place.address}#/jobs/{failed}")
    drawing = page.get_by_role("group", name="Chain")
    drawing.get_by_role("link", name=re.compile("^greet")).wait_for()
    assert barriers(page) == []
    page.get_by_role("link", name="group September", exact=True).click()
    page.get_by_role("heading", level=1, name="Group September").wait_for()
    page.get_by_text("2 of 2 ended").first.wait_for()
    page.locator(".job-title .st.partial").wait_for()
    assert barriers(page) == []
    (place.folder / "back").touch()
    page.get_by_role("button", name="Retry 1 failed member…").click()
    page.get_by_role("dialog").get_by_text("With 1 of 1 job something will be done.").wait_for()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Retry")).click()
    page.wait_for_url(re.compile("/jobs/"))
    page.go_back()
    page.get_by_role("button", name="Retry 0 failed members…").wait_for()
    page.get_by_role("navigation", name="Status").get_by_role("link", name="Completed 2").click()
    page.get_by_text("2 of 2 shown").wait_for()


def test_five_hundred_members_are_one_box_and_a_list_that_opens(app, place, browse, barriers):
    later = app.task_named("greet").using(delay=86_400)
    group = app.group([(later, {"name": str(n)}) for n in range(MANY)], name="many")
    assert len(str(place.get(f"groups/{group.id}"))) < 200_000
    page = browse(f"{place.address}#/groups/{group.id}")
    page.get_by_text(f"0 of {MANY} ended").first.wait_for()
    assert page.locator(".graph .node").count() == 1
    rows = page.locator("main table tbody tr")
    assert rows.count() == 50
    assert barriers(page) == []
    page.get_by_role("button", name="and 450 more").click()
    page.wait_for_function(f"document.querySelectorAll('main table tbody tr').length === {MANY}")
    page.route("**/api/groups/*", lambda route: route.abort())  # only what was heard can ask for it again
    with page.expect_request(re.compile("/api/groups/"), timeout=10_000):
        group.jobs()[0].cancel()
    page.unroute_all()
