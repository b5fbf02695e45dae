"""The whole form: ``make faults``. Measures, prints the tables, and with ``--write`` puts them into docs/operating.md.

    python -m tests.faults.report [--short] [--only campaign celery chaos time] [--seed N] [--seconds N] [--write]

``--seed`` and ``--seconds`` are for the campaign, as the variables `JOBTRAIL_CAMPAIGN_SEED` and `JOBTRAIL_CAMPAIGN_SECONDS`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / name) for name in ("campaign", "faults", "support", "apps")]

import campaign  # noqa: E402
import celery_faults  # noqa: E402
import chaos  # noqa: E402
import invariants  # noqa: E402
from fleet import fleet  # noqa: E402
from services import fresh_database, start_postgres  # noqa: E402
from test_time_to_recover import percentile, rounds  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet import Fleet
    from services import Cluster

PAGE = HERE.parents[1] / "docs" / "operating.md"
Lines = list[str]


@contextlib.contextmanager
def new_fleet(server: Cluster | None, **settings: float) -> Iterator[Fleet]:
    """An empty database, on the server or in a file."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jobtrail-faults-")))
        url = stack.enter_context(fresh_database(server.address)) if server else f"sqlite:///{folder}/jobs.db"
        yield stack.enter_context(fleet(url, folder, **settings))


# -- the parts ---------------------------------------------------------------------------------------


def chaos_table(server: Cluster, *, short: bool) -> Lines:
    """Steady load while something goes wrong."""
    plan = chaos.SHORT if short else chaos.WHOLE
    what = (
        f"{plan.workers} workers of {plan.slots} slots, {plan.rate:g} jobs a second of {plan.body * 1000:g} ms, faults of"
        f" {plan.fault:g} s, windows of {plan.window:g} s (median of three, at most 60 s after the fault):"
    )
    lines = [
        what,
        "",
        "| fault | database | submitted | completed | given up | lost | bodies started beyond the record | after ÷ before |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for where, cases in ((server, chaos.ON_POSTGRES), (None, chaos.ON_SQLITE)):
        with new_fleet(where) as one:
            for row in chaos.run(one, plan, cases, where):
                b = row.balance
                lines.append(
                    f"| {row.case} | {row.database} | {b.submitted:,} | {b.completed:,} | {b.given_up} | {b.lost} |"
                    f" {b.overstarted} | {row.ratio:.2f} |"
                )
                _say(lines[-1])
    return lines


def campaign_table(server: Cluster, *, short: bool) -> Lines:
    """Everything at once, at random; each database in a deployment of its own."""
    plan = campaign.SHORT if short else replace(campaign.WHOLE, seconds=float(os.environ.get(campaign.SECONDS) or 600))
    lines = [
        (
            f"{len(invariants.INVARIANTS)} statements over all tables, {plan.workers} workers of two versions, load, faults and"
            " pressed buttons together:"
        ),
        "",
        (
            "| database | seed | seconds | jobs | acknowledged | lost | doubled | wrongly failed | given up | acknowledged ≠ stored |"
            " invariants broken |"
        ),
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    kinds: Lines = []
    for kind in ("postgresql", "sqlite"):
        with tempfile.TemporaryDirectory(prefix="jobtrail-campaign-") as folder:
            r = campaign.run(kind, plan, campaign.chosen_seed(), Path(folder))
        lines.append(
            f"| {r.database} | {r.seed} | {r.seconds:g} | {r.jobs:,} | {r.acknowledged:,} | {r.count(invariants.LOST)} |"
            f" {r.count(*invariants.DOUBLED)} | {r.count(invariants.WRONGLY_FAILED)} | {r.given_up} |"
            f" {r.count(invariants.NOT_STORED)} | {len(r.broken)} |"
        )
        told = ", ".join(f"{number} × {name}" for name, number in r.faults.most_common())
        kinds.append(f"- {r.database}: {told}")
        _say(lines[-1])
    return [*lines, "", *kinds]


def time_table(server: Cluster, *, short: bool) -> Lines:
    """From a worker's death to the next start of its job."""
    lines = [
        "From SIGKILL to the next start of the job, in seconds, with the default settings:",
        "",
        "| how | database | kills | p50 | p99 |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    alive, silent = (3, 1) if short else (20, 5)
    cases: list[tuple[str, Cluster | None, int, dict[str, bool]]] = [
        ("its beat process lives", server, alive, {}),
        ("its beat process lives", None, alive, {}),
        ("its beat process is killed too, same host", server, alive, {"beat_too": True}),
        ("its beat process is killed too, another host", server, silent, {"beat_too": True, "elsewhere": True}),
    ]
    for how, where, number, options in cases:
        with new_fleet(where) as one:
            took = rounds(one, number, **options)
        name = "PostgreSQL" if where else "SQLite"
        lines.append(f"| {how} | {name} | {number} | {percentile(took, 0.5):.2f} | {percentile(took, 0.99):.2f} |")
        _say(lines[-1])
    return lines


def celery_table(server: Cluster, *, short: bool) -> Lines:
    """Celery, its broker and the store, one fault after the other."""
    runs = 1 if short else 2
    lines = [
        "A Celery worker with two children, two jobs of 4 s that run, 40 that wait, a lease of 3 s:",
        "",
        "| fault | broker | runs | jobs | lost | doubled | seconds until right, at most |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for fault, (_, brokers) in celery_faults.FAULTS.items():
        for broker in brokers:
            r = celery_faults.measure(fault, broker, server, runs)
            lines.append(f"| {fault} | {broker} | {r.runs} | {r.jobs} | {r.lost} | {r.doubled} | {r.seconds:.1f} |")
            _say(lines[-1])
    return lines


PARTS: dict[str, Callable[..., Lines]] = {
    "campaign": campaign_table,
    "celery": celery_table,
    "chaos": chaos_table,
    "time": time_table,
}


# -- the page ----------------------------------------------------------------------------------------


def write(name: str, lines: Lines, page: Path = PAGE) -> None:
    """Replace what stands between the markers of a part; the rest of the page is somebody else's."""
    today = datetime.now(UTC).strftime("%-d %B %Y")
    begin, end = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    tail = rest.partition(end)[2]
    if not tail:
        message = f"{page} has no markers of {name}"
        raise ValueError(message)
    told = "\n".join([f"Measured on {today}. {lines[0]}", *lines[1:]])
    page.write_text(f"{head}{begin}\n{told}\n{end}{tail}", encoding="utf-8")


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for name, value in ((campaign.SEED, given.seed), (campaign.SECONDS, given.seconds)):
        if value is not None:
            os.environ[name] = str(value)
    begun = time.monotonic()
    with start_postgres(max_connections="400") as server:
        for name in given.only:
            lines = PARTS[name](server, short=given.short)
            print("\n".join(["", *lines, ""]))
            if given.write:
                write(name, lines)
    print(f"in {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
