"""A browser, a server with its worker, and pages; without a browser or a built console the tests are skipped, in CI they fail."""

from __future__ import annotations

import importlib.util

import console_site as site
import pytest
from services import skip_or_fail

AXE = site.ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def chromium():
    """The browser of this machine, for the tests of one file: while it is open, this thread has a running event loop."""
    if importlib.util.find_spec("playwright") is None:
        skip_or_fail("playwright is not installed")
    path = site.browser_path()
    if path is None:
        skip_or_fail("there is no chromium on this machine")
    if not (site.STATIC / "index.html").is_file():
        skip_or_fail("the console is not built: make console")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server with a worker, on SQLite, for the tests of one file."""
    with site.running(tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture
def browse(chromium):
    """Opens pages; an error in one of them fails the test."""
    problems, contexts = [], []

    def open_page(address: str, **options):
        context = chromium.new_context(**({"viewport": {"width": 1360, "height": 900}, "locale": "en-US", "reduced_motion": "reduce"} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)  # on a busy machine
        page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
        page.on(
            "console", lambda message: problems.append(f"{page.url}: {message.text}") if _is_problem(message) else None
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def barriers():
    """What axe finds on a page, light and dark, as sentences; where axe is not installed, that is said or fails."""

    def look(page, *themes: str) -> list[str]:
        if not AXE.is_file():
            skip_or_fail("axe-core is not installed: make console")
        page.evaluate(AXE.read_text("utf-8"))
        return [f"{theme}: {one}" for theme in themes or ("light", "dark") for one in _violations(page, theme)]

    return look


def _violations(page, theme: str) -> list[str]:
    page.emulate_media(color_scheme=theme)
    page.locator(f":root[data-theme={theme}]").wait_for(state="attached")
    return [
        f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for one in page.evaluate("async () => (await axe.run()).violations")
        for node in one["nodes"]
    ]


def _is_problem(message) -> bool:
    # What the network says of a server that is stopped on purpose, or of a refusal that the page shows, is no error of the page.
    return message.type == "error" and "Failed to load resource" not in message.text and "WebSocket" not in message.text
