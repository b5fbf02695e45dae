"""The console inside other applications: under a path that it does not know, and behind a login by token."""

from __future__ import annotations

import contextlib

import pytest
from live_server import serving
from starlette.applications import Starlette
from starlette.routing import Mount

from jobtrail import JobTrail
from jobtrail.api import create_api
from jobtrail.store import tokens

pytestmark = pytest.mark.timeout(180)  # a browser, or the compiler, on a busy machine


@pytest.fixture
def jobs(tmp_path):
    with contextlib.closing(JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}")) as found:
        found.migrate()

        @found.task
        def greet(*, name: str) -> str:
            return f"hello {name}"

        yield found


def new_token(jobs, role):
    store = jobs.store
    made = store.write(
        lambda conn: tokens.create(conn, store.dialect, store.now(), name="ann", role=role, actor="person:bob")
    )
    return made[1]


def test_it_works_below_a_path(jobs, browse):
    job = jobs.task_named("greet").enqueue(name="Ann")
    host = Starlette(routes=[Mount("/ops/work", create_api(jobs))])
    with serving(host) as server:
        page = browse(f"{server.address}/ops/work/#/jobs/{job.id}")
        page.get_by_role("heading", level=1, name="greet").wait_for()
        page.get_by_text("Live", exact=True).wait_for()
        page.get_by_role("link", name="Tasks").click()
        page.get_by_role("heading", level=1, name="Tasks").wait_for()
        assert page.url == f"{server.address}/ops/work/#/tasks"


def test_c37_who_is_not_known_is_asked_for_a_token_and_may_do_what_it_allows(jobs, browse, barriers):
    job = jobs.task_named("greet").enqueue(name="Ann")
    token = new_token(jobs, "viewer")
    with serving(create_api(jobs, local=False, allowed_hosts=["127.0.0.1"])) as server:
        page = browse(f"{server.address}/#/jobs/{job.id}")
        page.get_by_label("Token").fill("jt_wrong")
        page.get_by_role("button", name="Enter").click()
        page.get_by_text("this token is not known").wait_for()
        assert barriers(page) == []
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Enter").click()
        page.get_by_role("heading", level=1, name="greet").wait_for()
        page.get_by_text("this needs the role operator; yours is viewer").first.wait_for()
        assert page.locator(".acts-list .btn:not(.off)").count() == 0
        page.reload()
        page.get_by_role("heading", level=1, name="greet").wait_for()
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Token").wait_for()
        page.reload()
        page.get_by_label("Token").wait_for()
