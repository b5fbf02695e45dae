"""A browser, a server with its worker, and pages; without a browser or a built console the tests are skipped, in CI they fail."""

from __future__ import annotations

import importlib.util

import console_site as site
import pytest
from services import skip_or_fail

AXE = site.ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
OPTIONS = {"viewport": {"width": 1360, "height": 900}, "locale": "en-US", "reduced_motion": "reduce"}


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


@pytest.fixture(scope="module")
def profile(chromium):
    """What the pages of one file share: a cache with the console's files in it. A profile for each test costs more than its pages."""
    context = chromium.new_context(**OPTIONS)
    yield context
    context.close()


@pytest.fixture
def browse(chromium, profile):
    """Opens pages; an error in one of them fails the test. The second page of a test, and one with options, is another person's."""
    problems, contexts, pages = [], [], []

    def open_page(address: str, **options):
        context = profile
        if pages or options:
            contexts.append(context := chromium.new_context(**(OPTIONS | options)))
        pages.append(page := context.new_page())
        watch(page, problems)
        page.goto(address)
        return page

    yield open_page
    if pages and pages[0].context is profile:
        forget(pages[0])
        pages[0].close()
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="module")
def shared_page(profile):
    """A page, and the list of its errors."""
    page, problems = profile.new_page(), []
    watch(page, problems)
    yield page, problems
    page.close()


@pytest.fixture
def look(shared_page):
    """Opens an address anew in the one page of the file, for tests that change nothing but the page; an error fails the test."""
    page, problems = shared_page
    problems.clear()

    def open_page(address: str):
        page.goto(address)
        return page

    yield open_page
    forget(page)
    page.emulate_media(color_scheme="null")
    page.set_viewport_size(OPTIONS["viewport"])
    page.goto("about:blank")
    assert problems == []


def watch(page, problems: list[str]) -> None:
    page.set_default_timeout(30_000)  # on a busy machine
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    page.on("console", lambda message: problems.append(f"{page.url}: {message.text}") if _is_problem(message) else None)


def forget(page) -> None:
    """What a test has left in the profile: cookies, and what was chosen on its pages."""
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear()")
    page.context.clear_cookies()


@pytest.fixture
def barriers():
    """What axe finds on a page, light and dark, as sentences; where axe is not installed, that is said or fails."""

    def find(page, *themes: str) -> list[str]:
        if not AXE.is_file():
            skip_or_fail("axe-core is not installed: make console")
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE.read_text("utf-8"))
        first, *others = themes or ("light", "dark")
        found = [f"{first}: {one}" for one in _violations(page, first)]
        return found + [f"{theme}: {one}" for theme in others for one in _violations(page, theme, COLOURS)]

    return find


# Those rules of axe that a theme can break: it changes nothing but colours.
COLOURS = ("color-contrast", "link-in-text-block")


def _violations(page, theme: str, rules: tuple[str, ...] = ()) -> list[str]:
    page.emulate_media(color_scheme=theme)
    page.locator(f":root[data-theme={theme}]").wait_for(state="attached")
    return [
        f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for one in page.evaluate("async (rules) => (await axe.run(rules.length ? { runOnly: rules } : {})).violations", rules)
        for node in one["nodes"]
    ]


def _is_problem(message) -> bool:
    # What the network says of a server that is stopped on purpose, or of a refusal that the page shows, is no error of the page.
    return message.type == "error" and "Failed to load resource" not in message.text and "WebSocket" not in message.text
