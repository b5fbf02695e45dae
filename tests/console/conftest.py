"""A browser, a server with its worker, and pages; without a browser or a built console the tests are skipped, in CI they fail."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import re

import console_site as site
import pytest
from services import skip_or_fail

AXE = site.ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
OPTIONS = {"viewport": {"width": 1360, "height": 900}, "locale": "en-US", "reduced_motion": "reduce"}
# One process draws all pages of a profile, wherever they come from.
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-site-isolation-trials", "--renderer-process-limit=1"]


class Browser:
    """The browser of this machine. It stays from file to file; its event loop runs in this thread only while a file has it."""

    def __init__(self, path: str) -> None:
        from playwright.sync_api import sync_playwright

        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(executable_path=path, args=ARGS)
        self.desk = Desk(self.chromium)
        self._loop = asyncio.get_running_loop()

    @contextlib.contextmanager
    def in_use(self):
        """While pages are opened: other tests of this thread run event loops of their own."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """End it."""
        with self.in_use():
            self.chromium.close()
            self.playwright.stop()


@pytest.fixture(scope="session")
def _browser():
    if importlib.util.find_spec("playwright") is None:
        skip_or_fail("playwright is not installed")
    path = site.browser_path()
    if path is None:
        skip_or_fail("there is no chromium on this machine")
    if not (site.STATIC / "index.html").is_file():
        skip_or_fail("the console is not built: make console")
    found = Browser(path)
    asyncio._set_running_loop(None)
    yield found
    found.close()


@pytest.fixture(scope="module")
def _opened(_browser):
    with _browser.in_use():
        yield _browser
        _browser.desk.leave()


@pytest.fixture(scope="module")
def chromium(_opened):
    """The browser, for the tests of one file."""
    return _opened.chromium


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server with a worker, on SQLite, for the tests of one file."""
    with site.running(tmp_path_factory.mktemp("console")) as running:
        yield running


class Desk:
    """A page that tests share, in a profile that has the console's files in its cache.

    A document of its own for each test costs half a second of processor time, a page of its own a whole one, since that is
    another process; another address in the same document a tenth.
    """

    def __init__(self, chromium, **options) -> None:
        self.options = OPTIONS | options
        self.context = chromium.new_context(**self.options)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.as_loaded = False
        watch(self.page, self.problems)

    def show(self, address: str) -> None:
        """Go to an address; where the last test has left something in the document, with a document of its own."""
        self.problems.clear()
        if self.page.url.partition("#")[0] != address.partition("#")[0]:
            self.page.goto(address)
        elif not self.as_loaded:
            self.page.goto(address)
            self.page.reload()
        else:
            nowhere = self.page.locator("h1", has_text=NOWHERE)
            self.page.evaluate("location.hash = '#/nowhere'")
            nowhere.wait_for()
            self.page.goto(address)
            nowhere.wait_for(state="detached")
        self.as_loaded = True

    def clear(self) -> None:
        """Remove what a test has left: routes, cookies, what was chosen, the size and colours that it asked for."""
        self.page.unroute_all()
        if self.page.url.startswith("http"):
            self.as_loaded = self.as_loaded and self.page.evaluate(AS_LOADED)
            self.page.evaluate("localStorage.clear()")
        self.context.clear_cookies()
        self.page.emulate_media(color_scheme="null")
        self.page.set_viewport_size(self.options["viewport"])


    def leave(self) -> None:
        """Show nothing, so that nothing is asked of a server."""
        self.page.goto("about:blank")


AS_LOADED = """Object.keys(localStorage).every((name) => name === 'jobtrail.lang') && document.documentElement.lang === 'en'
  && !document.querySelector('dialog[open], details[open]')"""
NOWHERE = re.compile("^(Nothing is here|Здесь ничего нет)$")  # an address of no page: what was shown before is gone


@pytest.fixture(scope="module")
def new_desk(chromium):
    """Makes pages that the tests of one file share; options as for a context of the browser."""
    made: list[Desk] = []

    def make(**options):
        made.append(Desk(chromium, **options))
        return made[-1]

    yield make
    for one in made:
        one.context.close()


@pytest.fixture(scope="module")
def desk(_opened):
    """The page that all tests share."""
    return _opened.desk


@pytest.fixture
def browse(chromium, desk):
    """Opens pages; an error in one of them fails the test.

    The first is the page of the file. The second of a test, one with options, and one that is prepared before it is loaded
    ("about:blank") are another person's.
    """
    problems, contexts, used = [], [], []

    def open_page(address: str, **options):
        if not (used or options or address == "about:blank"):
            used.append(desk)
            desk.show(address)
            return desk.page
        contexts.append(context := chromium.new_context(**(OPTIONS | options)))
        page = context.new_page()
        watch(page, problems)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    if used:
        desk.clear()
        problems += desk.problems
    assert problems == []


def watch(page, problems: list[str]) -> None:
    page.set_default_timeout(30_000)  # on a busy machine
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    page.on("console", lambda message: problems.append(f"{page.url}: {message.text}") if _is_problem(message) else None)


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
