"""An application whose jobs come to every state that the console shows; told what to do by files in its folder."""

from __future__ import annotations

import logging
import os
import time
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from jobtrail import Context, JobTrail, Limit, PermanentError, Retry

FOLDER = Path(os.environ.get("CONSOLE_FOLDER", "."))
HOURS = 24
REFUSED = {
    ("EWR", "2013-02"): {8: "wind speed 1048 mph is not possible"},
    ("JFK", "2013-05"): {3: "no temperature", 4: "no temperature"},
}
PLANES = [
    {"Tail_Number": "N10156", "Maker": "EMBRAER", "Model_Name": "EMB-145XR", "Year_Built": "2004", "Seat_Count": "55"},
    {
        "Tail_Number": "N102UW",
        "Maker": "AIRBUS INDUSTRIE",
        "Model_Name": "A320-214",
        "Year_Built": "1998",
        "Seat_Count": "182",
    },
    {
        "Tail_Number": "N103US",
        "Maker": "AIRBUS INDUSTRIE",
        "Model_Name": "A320-214",
        "Year_Built": "",
        "Seat_Count": "182",
    },
]
log = logging.getLogger("flights")
log.setLevel(logging.INFO)
jobs = JobTrail(os.environ.get("CONSOLE_DATABASE", "sqlite:///jobs.db"))


class Plane(BaseModel):
    """What the file is to give for each plane."""

    tailnum: str = Field(description="unique")
    year: int
    manufacturer: str
    model: str | None = None
    seats: int | None = None


class Approval(BaseModel):
    """What is to be decided before the prices are published."""

    publish: Literal["all", "changed", "none"] = Field(title="Publish")
    limit: float = Field(10, title="Largest change in per cent", ge=0, le=100)
    note: str | None = Field(None, title="Note")


def download(hours: int) -> list[int]:
    """What the source gives: its hours."""
    return list(range(hours))


@jobs.task(kind="sync", retry=Retry(attempts=5))
def sync_weather(ctx: Context, *, airport: str, pause: float = 0.0) -> dict:
    """Load the weather of one airport for one month; an hour is an item."""
    if airport == "LGA" and str(ctx.period) == "2013-09" and not (FOLDER / "back").exists():
        log.error("the source answered 503")
        raise PermanentError("the source answered 503")
    rows = ctx.step("download", download, HOURS)
    log.info("download: %d hours of %s, %s", len(rows), airport, ctx.period)
    refused = {} if (FOLDER / "lenient").exists() else REFUSED.get((airport, str(ctx.period)), {})
    for item in ctx.items(rows, key=lambda hour: f"{ctx.period}-12T{hour:02d}:00Z"):
        with item:
            if item.value in refused:
                log.warning("%s refused: %s", item.key, refused[item.value])
                raise ValueError(refused[item.value])
            time.sleep(pause)
    log.info("%d hours stored", len(rows) - len(refused))
    return {"rows": len(rows) - len(refused)}


@jobs.task(kind="export")
def export_report(ctx: Context, *, pages: int = 500) -> dict:
    """Write a long report, page by page; ends when the folder has a file `enough`, or when it is cancelled."""
    for page in range(1, pages + 1):
        ctx.check_cancelled()
        ctx.set_progress(done=page, total=pages, message=f"page {page}")
        log.info("page %d of %d is written", page, pages)
        if (FOLDER / "enough").exists():
            break
        time.sleep(0.05)
    return {"pages": page}


@jobs.task(kind="count")
def count_stock() -> str:
    """Count what is there until the folder has a file `enough`; it does not hear that it is to stop."""
    while not (FOLDER / "enough").exists():
        time.sleep(0.05)
    return "counted"


@jobs.task(kind="file")
def import_planes(ctx: Context) -> dict:
    """Import a list of planes whose columns have names of their own."""
    chosen = ctx.ask("columns", "Which column means what?", Plane, kind="mapping", columns=PLANES)
    for item in ctx.items(PLANES, key=lambda row: row["Tail_Number"]):
        with item:
            if not item.value["Year_Built"]:
                raise ValueError("the plane has no year")
    return {"columns": chosen if isinstance(chosen, dict) else dict(chosen)}


@jobs.task(kind="prices")
def publish_prices(ctx: Context, *, shop: str, api_key: str = "") -> dict:
    """Publish the prices of a shop after a person has looked at them."""
    decided = ctx.ask("approval", f"Prices of {shop} changed by up to 34 %: publish them?", Approval)
    return {"published": decided.publish, "shop": shop}


@jobs.task(retry=Retry(attempts=3), limits=[Limit("partner:{partner}", running=2)])
def call_partner(*, partner: str) -> None:
    """Tell a partner what is new; some of them are never there."""
    raise ConnectionError(f"connection to {partner}.example reset by peer")


@jobs.task
def keep_numbers(*, number: int, ratio: float = 0.5, price: Decimal = Decimal("0"), more: dict | None = None) -> dict:
    """Give back what was given, to show that it came unchanged."""
    return {"number": number, "ratio": ratio, "price": str(price), "more": more}


@jobs.task
def greet(*, name: str, times: int = 1, loud: bool = False) -> str:
    """Say hello."""
    return " ".join([f"hello {name.upper() if loud else name}"] * times)


for place in ("EWR", "JFK"):
    jobs.schedules.declare(
        sync_weather,
        "0 3 2 * *",
        name=f"weather/{place}",
        args={"airport": place},
        source=f"weather/{place}",
        period="previous month",
    )
jobs.schedules.declare(greet, "every 6 hours", name="greet", args={"name": "world"})
