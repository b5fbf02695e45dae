"""The page Notifications: the inbox, channels and how they are, deliveries with their jobs, rules."""

from __future__ import annotations

from contextlib import closing

import pytest
from live_server import serving
from office_modules import Pager, deliver

from jobtrail import JobTrail
from jobtrail.api import Person, create_api
from jobtrail.notify import AlertRule, Notify, announce
from jobtrail.notify.channels import states
from jobtrail.testing import MovableClock

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine

PAGE = "/#/pages/notify/messages"


class Told:
    """An application with notifications on a movable clock, and its server."""

    def __init__(self, folder):
        self.clock = MovableClock()
        self.pager = Pager()
        rule = AlertRule("on-call", kinds="module.*", channels=["pager"], quiet="22:00-07:00 Europe/Berlin", remind=7200)
        plugin = Notify([rule], {"pager": self.pager}, retry=2)
        self.jobs = JobTrail(f"sqlite:///{folder / 'jobs.db'}", plugins=[plugin], clock=self.clock)
        self.jobs.migrate()
        self.jobs.notify.turn()

    def happens(self, subject, kind="module.error"):
        """Announce an event and have it told."""
        now = self.clock.now()
        facts = {"reason": "<b>no activity</b>"}
        self.jobs.store.write(lambda conn: announce(conn, kind, subject, facts, now))
        deliver(self.jobs, self.clock)

    def serve(self, role="admin"):
        return serving(create_api(self.jobs, login=lambda _request: Person("ann", role), allowed_hosts=["127.0.0.1"]))


@pytest.fixture
def told(tmp_path):
    one = Told(tmp_path)
    with closing(one.jobs):
        yield one


@pytest.fixture
def address(told):
    with told.serve() as server:
        yield f"{server.address}{PAGE}"


def region(page, name):
    return page.get_by_role("region", name=name)


def test_a_message_arrives_by_itself_and_is_read(told, address, browse):
    page = browse(address)
    inbox = region(page, "Inbox")
    inbox.get_by_text("Nothing unread").wait_for()
    told.happens("parser")
    inbox.get_by_role("button", name="unread 2").wait_for()  # by its rule, and instead of the channel that failed
    titles = inbox.locator(".nm-title").all_text_contents()
    assert all("parser" in title for title in titles)
    assert inbox.locator("b").count() == 0, "words of others are words"
    inbox.get_by_role("button", name="Mark as read").first.click()
    inbox.get_by_role("button", name="unread 1").wait_for()
    inbox.get_by_role("button", name="all", exact=True).click()
    inbox.get_by_text("by person:ann").wait_for()
    assert [one.get_attribute("class") for one in inbox.get_by_role("listitem").all()] == ["unread", ""], "unread first"
    inbox.get_by_role("button", name="Mark all as read").click()
    inbox.get_by_role("button", name="unread 0").wait_for()
    with told.jobs.store.read() as conn:
        from jobtrail.notify.inbox import count_unread

        assert count_unread(conn) == 0


def test_deliveries_lead_to_their_jobs(told, address, browse):
    told.happens("parser")
    page = browse(address)
    rows = region(page, "Recent deliveries").locator("tbody tr")
    rows.first.wait_for()
    shown = sorted(row.locator("td").nth(2).text_content() for row in rows.all())
    assert shown == ["modules → inbox", "on-call → inbox", "on-call → pager"]
    failed = rows.filter(has_text="on-call → pager")
    failed.get_by_text("told by another channel").wait_for()
    failed.get_by_text("550 no such number").wait_for()
    region(page, "Recent deliveries").get_by_role("button", name="sent", exact=True).click()
    failed.wait_for(state="detached")
    assert rows.count() == 2
    job = rows.first.get_by_role("link").text_content()
    rows.first.get_by_role("link").click()
    page.wait_for_url(f"**/jobs/*{job}")
    page.get_by_text("notify_deliver").first.wait_for()


def test_a_channel_that_fails_is_disabled_with_its_message_and_enabled_again(told, address, browse):
    for name in ("a", "b", "c"):
        told.happens(name)
    page = browse(address)
    row = region(page, "Channels").locator("tr", has_text="pager.example.org")
    row.get_by_text("disabled", exact=True).wait_for()
    with told.jobs.store.read() as conn:
        row.get_by_text(states.read_all(conn)["pager"].message).wait_for()
    row.get_by_role("button", name="Test").click()
    page.get_by_role("status").get_by_role("alert").get_by_text("550 no such number").wait_for()
    row.get_by_role("button", name="Enable").click()
    row.get_by_text("works").wait_for()
    told.pager.send = lambda message: None
    row.get_by_role("button", name="Test").click()
    page.get_by_text("A test message left on pager.").wait_for()


def test_rules_and_channels_say_what_is_set(told, address, browse):
    page = browse(address)
    rule = region(page, "Rules").locator("tr", has_text="on-call")
    rule.get_by_text("reminds every 2 h, quiet 22:00-07:00 Europe/Berlin, says when it is over").wait_for()
    rule.get_by_text("module.*").wait_for()
    cells = region(page, "Channels").locator("tr", has_text="pager.example.org").locator("td").all_text_contents()
    assert cells[:4] == ["works", "–", "inbox", "on-call"]


@pytest.mark.parametrize(("role", "buttons"), [("viewer", 0), ("operator", 3)])
def test_only_what_a_role_may_is_there(told, browse, role, buttons):
    told.happens("parser")
    with told.serve(role) as server:
        page = browse(f"{server.address}{PAGE}")
        page.locator(".nm-inbox li").first.wait_for()
        assert page.get_by_role("button", name="Mark").count() == buttons
        assert page.get_by_role("button", name="Test").count() == 0


def test_russian_without_barriers(told, address, browse, barriers):
    for name in ("a", "b", "c"):
        told.happens(name)
    page = browse(address, locale="ru-RU", viewport={"width": 390, "height": 800})
    page.get_by_role("heading", level=1, name="Уведомления").wait_for()
    region(page, "Каналы").get_by_text("отключён", exact=True).wait_for()
    region(page, "Входящие").get_by_role("button", name="Отметить все прочитанными").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert barriers(page) == []
    page.set_viewport_size({"width": 1240, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 1240
