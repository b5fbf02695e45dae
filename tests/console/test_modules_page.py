"""The page Modules and its strip: what the API says, live, silence by the last activity alone, and what people change."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from live_server import serving
from office_modules import lived

from jobtrail import JobTrail
from jobtrail.api import Person, create_api
from jobtrail.office import Office
from jobtrail.testing import MovableClock

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine

PAGE = "/#/pages/office/modules"
ROLE = "admin"


def office_site(jobs, role=ROLE):
    return serving(create_api(jobs, login=lambda _request: Person("ann", role), allowed_hosts=["127.0.0.1"]))


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """Modules with three hours behind them and no worker beside them; nothing changes it."""
    jobs, _clock = lived(tmp_path_factory.mktemp("office"), 3)
    with closing(jobs), office_site(jobs) as server:
        yield server, jobs


@pytest.fixture
def site(tmp_path):
    """An application with three modules that have just reported, in real time, without a worker."""
    limits = {"parser": {}, "feed": {"warn_after": 2, "error_after": 3000}, "sync": {}}
    with closing(JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}", plugins=[Office(modules=limits)])) as jobs:
        jobs.migrate()
        jobs.office.run_once()
        jobs.office.beat("parser", rows=120, message="page 1", wait=True)
        jobs.office.beat("sync", wait=True)
        with office_site(jobs) as server:
            yield server, jobs


def card_of(page, name):
    return page.locator(".om-card").filter(has=page.get_by_role("heading", name=name, exact=True))


def test_each_card_shows_what_the_api_says(day, browse):
    server, jobs = day
    page = browse(f"{server.address}{PAGE}")
    found = jobs.office.all()
    for module in found.modules:
        card = card_of(page, module.module)
        card.locator(".st", has_text=re.compile(f"^{module.status}$")).wait_for()
        letters = {rect.split(" ")[0] for rect in titles_of(card)}
        assert letters == {WORDS[one] for one in module.bar}
        for name, value in module.numbers.items():
            card.get_by_text(f"{name} {value:g}").wait_for()
    assert [one.status for one in found.modules] == ["paused", "error", "ok", "error", "new"]
    assert page.locator(".om-card h2").all_text_contents() == ["feed", "prices", "scanner", "backup", "parser"], "the worst first"
    card_of(page, "backup").get_by_text("Paused until somebody resumes it, person:ann, moves to another disk").wait_for()
    card_of(page, "parser").get_by_text("page 41 of 52").wait_for()


WORDS = {"e": "error", "w": "warning", "p": "paused", "n": "new", "o": "ok", "-": "nothing"}


def titles_of(card):
    return card.locator(".om-bar rect title").all_text_contents()


def test_counts_are_filters(day, browse):
    page = browse(f"{day[0].address}{PAGE}")
    page.get_by_role("button", name="error 2").click()
    assert page.locator(".om-card h2").all_text_contents() == ["feed", "prices"]
    page.get_by_role("button", name="silent 2").press("Enter")
    assert page.locator(".om-card h2").all_text_contents() == ["feed", "prices"]
    page.get_by_role("button", name="all 5").click()
    page.get_by_role("link", name="prices").press("Enter")
    page.get_by_role("heading", level=2, name="prices").wait_for()
    assert page.url.endswith("modules?module=prices")


def test_one_module_shows_its_history_and_hours(day, browse):
    server, jobs = day
    page = browse(f"{server.address}{PAGE}?module=prices")
    found = jobs.office.get("prices")
    rows = page.locator(".om-history tbody tr")
    rows.first.wait_for()
    assert rows.count() == len(found.history)
    for row, line in zip(rows.all_text_contents(), found.history, strict=True):
        assert line.to in row
        assert (line.reason or "") in row
    page.get_by_role("button", name="The numbers as a table").click()
    hours = page.get_by_role("group", name="Figures by hour").locator("tbody tr")
    assert hours.count() == len(found.hours)
    beats = [row.locator("td").nth(5).text_content() for row in hours.all()]
    assert [one for one in beats if one != "–"] == [
        f"{hour.figures['beats']['value']:g}" for hour in reversed(found.hours) if "beats" in hour.figures
    ]
    page.get_by_role("button", name="Beats").click()
    page.get_by_text("beats in each hour").wait_for()
    page.get_by_role("link", name="All modules").click()
    card_of(page, "prices").wait_for()


def test_a_change_appears_by_itself(site, browse):
    server, jobs = site
    page = browse(f"{server.address}{PAGE}")
    card_of(page, "parser").get_by_text("rows 120").wait_for()
    assert card_of(page, "parser").locator(".st.ok").count() == 1
    jobs.office.beat("parser", rows=130, message="page 2", wait=True)
    card_of(page, "parser").get_by_text("rows 130").wait_for(timeout=20_000)  # before everything is asked for again
    jobs.office.beat("parser", status="error", message="the file is broken", rows=7, wait=True)
    card_of(page, "parser").locator(".st.error").wait_for()
    card_of(page, "parser").get_by_text("the file is broken").wait_for()
    card_of(page, "parser").get_by_text("rows 7").wait_for()
    page.get_by_role("button", name="error 1").wait_for()
    jobs.office.register("late")
    card_of(page, "late").locator(".st.pending").wait_for()
    jobs.office.remove("late")
    card_of(page, "late").wait_for(state="detached")


def test_a_silent_module_sleeps_although_nobody_watches(site, browse):
    """Its status stays ok, because no worker runs; the page knows by its last activity alone, and a beat wakes it."""
    server, jobs = site
    jobs.office.beat("feed", wait=True)
    page = browse(f"{server.address}{PAGE}")
    card_of(page, "feed").get_by_label("💤").wait_for()
    assert card_of(page, "feed").locator(".st").text_content() == "ok"
    assert card_of(page, "parser").get_by_label("💤").count() == 0
    jobs.office.set_limits("feed", warn_after=2000)
    jobs.office.beat("feed", status="warning", wait=True)  # a change, so that the limits are asked for again
    card_of(page, "feed").get_by_label("💤").wait_for(state="detached")


def test_it_says_when_nobody_watches(tmp_path, browse):
    clock = MovableClock()
    with closing(JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}", plugins=[Office()], clock=clock)) as jobs:
        jobs.migrate()
        jobs.office.beat("parser", wait=True)
        with office_site(jobs) as server:
            page = browse(f"{server.address}{PAGE}")
            page.get_by_text("Nobody watches: no worker with Office runs.").wait_for()
            jobs.office.run_once()
            clock.move(seconds=29)
            page.reload()
            card_of(page, "parser").wait_for()
            assert page.get_by_text("Nobody watches").count() == 0
            clock.move(seconds=2)
            page.reload()
            page.get_by_text("Nobody watches since").wait_for()


def test_the_strip_of_the_overview(site, browse):
    server, jobs = site
    jobs.office.beat("feed", wait=True)
    page = browse(f"{server.address}/#/")
    strip = page.get_by_role("region", name="Modules")
    strip.get_by_text("3 ok").wait_for()
    strip.get_by_role("listitem").filter(has_text="feed").get_by_label("💤").wait_for()
    assert strip.get_by_role("listitem").count() == 1
    jobs.office.beat("sync", status="error", wait=True)
    strip.get_by_text("1 error").wait_for()
    assert strip.get_by_role("link").all_text_contents()[1:] == ["sync", "feed"]
    strip.get_by_role("link", name="sync").click()
    page.get_by_role("heading", level=2, name="sync").wait_for()


def test_pause_resume_limits_and_remove(site, browse):
    server, jobs = site
    page = browse(f"{server.address}{PAGE}?module=parser")
    page.get_by_role("button", name="Pause …").click()
    dialog = page.get_by_role("dialog", name="Pause parser?")
    dialog.get_by_label("For how long").select_option("240")
    dialog.get_by_label("Reason").fill("new disk")
    page.keyboard.press("Enter")
    page.locator(".om-top .st.paused").wait_for()
    paused = jobs.office.find("parser")
    assert (paused.status, paused.pause_reason, paused.pause_actor) == ("paused", "new disk", "person:ann")
    assert 239 < (paused.paused_until - jobs.store.now()).total_seconds() / 60 <= 240
    page.get_by_role("button", name="Resume …").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    page.locator(".om-top .st.ok").wait_for()
    page.get_by_role("button", name="Limits …").click()
    dialog = page.get_by_role("dialog", name="Limits of parser")
    dialog.get_by_label("Warning after, in seconds").fill("900")
    dialog.get_by_role("button", name="Change the limits").click()
    dialog.get_by_role("alert").wait_for()  # not below the limit of an error
    dialog.get_by_label("Error after, in seconds").fill("1800")
    dialog.get_by_role("button", name="Change the limits").click()
    page.get_by_text("warning after 15 min, error after 30 min (its own)").wait_for()
    page.get_by_role("button", name="Remove …").click()
    page.keyboard.press("Escape")
    assert jobs.office.find("parser") is not None
    page.get_by_role("button", name="Remove …").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    card_of(page, "sync").wait_for()
    assert jobs.office.find("parser") is None


@pytest.mark.parametrize(("role", "buttons"), [("viewer", []), ("operator", ["Pause …"])])
def test_only_what_a_role_may_is_there(day, browse, role, buttons):
    with office_site(day[1], role) as server:
        page = browse(f"{server.address}{PAGE}?module=parser")
        page.locator(".om-history tbody tr").first.wait_for()
        assert page.locator(".om-acts button").all_text_contents() == buttons


def test_russian(day, browse, barriers):
    page = browse(f"{day[0].address}{PAGE}", locale="ru-RU")
    page.get_by_role("heading", level=1, name="Модули").wait_for()
    card_of(page, "prices").locator(".st", has_text="ошибка").wait_for()
    card_of(page, "prices").get_by_text("молчит").wait_for()
    card_of(page, "scanner").get_by_text("сигналов не было").wait_for()
    page.goto(f"{day[0].address}{PAGE}?module=prices")
    page.get_by_text("нет активности 900 секунд").first.wait_for()
    page.get_by_role("button", name="Приостановить …").click()
    page.get_by_role("dialog", name="Приостановить prices?").wait_for()
    assert barriers(page) == []


@pytest.mark.parametrize("where", [PAGE, f"{PAGE}?module=prices", "/#/"])
def test_no_barriers_and_no_scrolling_sideways(day, browse, barriers, where):
    page = browse(f"{day[0].address}{where}")
    page.locator(".om-card, .om-history tbody tr, .om-counts .st").first.wait_for()
    for width in (1240, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []


def test_a_module_with_a_hostile_name_and_words(tmp_path, browse):
    with closing(JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}", plugins=[Office()])) as jobs:
        jobs.migrate()
        name = "m" * 99
        jobs.office.beat(name, message="<img src=x onerror=alert(1)>" + "w" * 900, wait=True)
        with office_site(jobs) as server:
            page = browse("about:blank")
            page.set_viewport_size({"width": 390, "height": 800})
            page.goto(f"{server.address}{PAGE}")
            page.get_by_text("<img src=x").wait_for()
            assert page.locator(".om-card img").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_before_the_first_module(tmp_path, browse):
    with closing(JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}", plugins=[Office()])) as jobs:
        jobs.migrate()
        with office_site(jobs) as server:
            page = browse(f"{server.address}{PAGE}")
            page.get_by_text("A module is here after its first beat").wait_for()
            jobs.office.beat("parser", wait=True)
            card_of(page, "parser").wait_for()
