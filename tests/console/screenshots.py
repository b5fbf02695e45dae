"""Pictures of every page, light and dark, into docs/images: `make screenshots` (ARGS=office: of the plug-ins' pages only)."""

from __future__ import annotations

import re
import signal
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from console_site import ROOT, STATIC, Site, browser_path, running
from live_server import serving
from office_modules import lived

IMAGES = ROOT / "docs" / "images"
PAGES = {
    "overview": "#/",
    "jobs": "#/jobs?q=task:sync_weather",
    "coverage": "#/coverage?task=sync_weather&zoom=month&at=2013",
    "questions": "#/questions",
    "schedules": "#/schedules",
    "schedule": "#/schedules/weather%2FEWR",
    "errors": "#/errors",
    "workers": "#/workers",
    "tasks": "#/tasks",
    "task": "#/tasks/greet",
    "audit": "#/audit",
}
PHONE = ("overview", "job", "coverage")
OFFICE = {"modules": "#/pages/office/modules", "module": "#/pages/office/modules?module=prices", "notifications": "#/pages/notify/messages"}
SIZE = {"width": 1240, "height": 720}
PHONE_SIZE = {"width": 390, "height": 844}


def main() -> int:
    """Fill a database with jobs in every state, and take a picture of each page."""
    path = browser_path()
    if path is None or not (STATIC / "index.html").is_file():
        print("screenshots need chromium and the built console (make console)", file=sys.stderr)
        return 1
    IMAGES.mkdir(exist_ok=True)
    with pictures(path) as take:
        if sys.argv[1:] != ["office"]:
            of_the_console(take)
        of_the_office(take)
    return 0


def of_the_console(take) -> None:
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as site:
        pages = {**fill(site), **PAGES}
        for name, where in pages.items():
            for theme in ("light", "dark"):
                take(site.address + where, f"{name}-{theme}.png", theme)
        for name in PHONE:
            take(site.address + pages[name], f"{name}-phone.png", "light", PHONE_SIZE)
        take(site.address + pages["job"], "job-ru.png", "light", locale="ru-RU")
        (Path(folder) / "enough").touch()


def of_the_office(take) -> None:
    """Modules with a day behind them."""
    from jobtrail.api import Person, create_api

    with tempfile.TemporaryDirectory() as folder:
        jobs, _clock = lived(Path(folder))
        app = create_api(jobs, login=lambda _request: Person("ann", "admin"), allowed_hosts=["127.0.0.1"])
        with closing(jobs), serving(app) as server:
            for name, where in OFFICE.items():
                take(f"{server.address}/{where}", f"{name}-light.png", "light")
            take(f"{server.address}/{OFFICE['modules']}", "modules-dark.png", "dark")
            take(f"{server.address}/{OFFICE['modules']}", "modules-phone.png", "light", PHONE_SIZE)


def fill(site: Site) -> dict[str, str]:
    """Jobs in every state; the addresses of those that have a picture."""
    for airport, months in (("EWR", 12), ("JFK", 12), ("LGA", 9)):
        for month in range(1, months + 1):
            if (airport, month) != ("EWR", 2):
                site.weather(airport, f"2013-{month:02d}", wait=False)
    partial = interrupted(site)
    for partner in ("alpha", "beta"):
        site.submit("call_partner", {"partner": partner})
    form = site.submit("publish_prices", {"shop": "north", "api_key": "not shown"})
    upload = site.upload("planes_vendor.csv", b"Tail_Number\nN10156\n")
    mapping = site.submit("import_planes", source="files/vendor", file={"upload": upload["upload"]})
    export = site.submit("export_report", {"pages": 20_000})
    site.until(form, "awaiting_input")
    question = site.until(mapping, "awaiting_mapping")["questions"][0]["id"]
    return {
        "job": f"#/jobs/{partial}",
        "running": f"#/jobs/{export}",
        "form": f"#/jobs/{form}",
        "mapping": f"#/questions/{question}",
    }


def interrupted(site: Site) -> str:
    """A job whose worker is killed in the middle: it goes on where it was, and comes in partly."""
    job = site.weather("EWR", "2013-02", wait=False, pause=0.2)
    site.wait("items are recorded", lambda: (site.get(f"jobs/{job}")["items"]["ok"] or 0) > 4)
    site.stop(signal.SIGKILL)
    site.start()
    site.until(job, "partial")
    return job


@contextmanager
def pictures(path: str):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])

        def take(
            address: str, name: str, theme: str, size: dict[str, int] | None = None, locale: str = "en-US"
        ) -> None:
            context = browser.new_context(
                viewport=size or SIZE, color_scheme=theme, locale=locale, reduced_motion="reduce"
            )
            page = context.new_page()
            page.goto(address)
            page.locator("h1").first.wait_for()
            page.locator(".waiting").first.wait_for(state="detached")
            page.wait_for_timeout(1200)  # the charts are drawn after their numbers
            if "coverage" in name and "phone" not in name:
                page.locator("[data-place='2.8']").click()
                page.keyboard.press("End")
                for _ in range(3):
                    page.keyboard.press("Shift+ArrowLeft")
                page.get_by_role("button", name=re.compile("^Start ")).wait_for()
            page.screenshot(path=IMAGES / name)
            context.close()

        yield take
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
