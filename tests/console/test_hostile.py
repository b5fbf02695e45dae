"""No content makes a page wider than the window, on a phone or on a desk."""

from __future__ import annotations

import console_hostile
import pytest
from console_site import running

pytestmark = pytest.mark.timeout(180)  # a browser, on a busy machine

PAGES = {
    "overview": "#/",
    "jobs": "#/jobs",
    "coverage": "#/coverage?task={task}",
    "questions": "#/questions",
    "mapping": "#/questions/{mapping}",
    "schedules": "#/schedules",
    "schedule": "#/schedules/{schedule}",
    "errors": "#/errors",
    "workers": "#/workers",
    "tasks": "#/tasks",
    "task": "#/tasks/{task}",
    "audit": "#/audit",
    **{f"job {number}": f"#/jobs/{{job{number}}}" for number in range(2 * len(console_hostile.HOSTILE))},
}
WIDTHS = (1240, 390)
WIDEST = """() => [document.documentElement.scrollWidth - innerWidth, ...[...document.querySelectorAll('main *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1)
  .filter(one => !one.closest('table, .table-box, pre, .log, .cov, .tabs, [class*=scroll]'))
  .slice(0, 8).map(one => `${one.tagName}.${one.className}`)]"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A server whose jobs have such texts everywhere; the addresses of its pages."""
    with running(tmp_path_factory.mktemp("hostile"), app="console_hostile:jobs") as site:
        words = {"task": console_hostile.NAME, "schedule": "s" * 100}
        for number, text in enumerate((*console_hostile.HOSTILE, *console_hostile.HOSTILE)):
            fails = number >= len(console_hostile.HOSTILE)
            job = site.submit(
                console_hostile.NAME, {"text": text, "fails": fails}, source=f"{number} {printable(text)[:150]}", period="2013-02", reason=text[:900]
            )
            words[f"job{number}"] = job
        question = site.until(site.submit("wide"), "awaiting_mapping")["questions"][0]["id"]
        for number in range(2 * len(console_hostile.HOSTILE)):
            site.until(words[f"job{number}"], "completed", "partial", "failed")
        site.post("queues/default/pause", {"reason": console_hostile.WORD[:900]})
        yield {name: site.address + where.format_map({**words, "mapping": question}) for name, where in PAGES.items()}


SHORTLY = ("jobs", "coverage", "mapping", "errors", "tasks", "job 0", f"job {len(console_hostile.HOSTILE)}")


@pytest.mark.parametrize("name", [name if name in SHORTLY else pytest.param(name, marks=pytest.mark.long) for name in PAGES])
def test_no_page_scrolls_sideways_whatever_is_on_it(hostile, browse, name):
    page = browse(hostile[name])
    page.locator("h1").first.wait_for()
    page.locator(".waiting").first.wait_for(state="detached")
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # it is laid out anew
        over, *wide = page.evaluate(WIDEST)
        if over > 0:
            found[width] = (over, wide)
    assert found == {}


def printable(text: str) -> str:
    """Without what a source may not have."""
    return "".join(letter for letter in text if letter.isprintable())
