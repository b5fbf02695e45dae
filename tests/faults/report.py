"""The whole form: ``make faults``. Measures, prints the tables, and with ``--write`` puts them into docs/operating.md.

    python -m tests.faults.report [--short] [--only chaos kills time] [--write]
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "apps")]

import chaos  # noqa: E402
from fleet import fleet  # noqa: E402
from services import fresh_database, start_postgres  # noqa: E402
from test_random_kills import kill_at_random  # noqa: E402
from test_time_to_recover import percentile, rounds  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fleet import Fleet
    from services import Cluster

PAGE = HERE.parents[1] / "docs" / "operating.md"
TITLE = "## Recovery, measured"
COMMAND = "make faults"
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


def kills_table(server: Cluster, *, short: bool) -> Lines:
    """SIGKILL at random moments."""
    kills, workers = (10, 2) if short else (100, 4)
    lines = [
        f"SIGKILL at random moments, {workers} workers, one at a time, two where two were busy at every fifth time (seldom); jobs of 20 items, half of them durable:",
        "",
        "| database | kills | jobs | completed | given up | lost | bodies started beyond the record | ran again |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, where in (("PostgreSQL", server), ("SQLite", None)):
        with new_fleet(where) as one:
            b, killed = kill_at_random(one, kills, workers)
            lines.append(
                f"| {name} | {killed} | {b.submitted} | {b.completed} | {b.given_up} | {b.lost} |"
                f" {b.overstarted} | {b.restarted} |"
            )
            _say(lines[-1])
    return lines


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


PARTS: dict[str, Callable[..., Lines]] = {"chaos": chaos_table, "kills": kills_table, "time": time_table}


# -- the page ----------------------------------------------------------------------------------------


def section(parts: list[Lines]) -> str:
    """What stands on the page."""
    today = datetime.now(UTC).strftime("%-d %B %Y")
    how = (
        f"Measured on {today} with `{COMMAND}`: real processes, SIGKILL, and a separate PostgreSQL server. *Given up* jobs"
        " ran alone in a worker that was killed, three times: they fail visibly. *Lost* jobs are neither completed nor given"
        " up. A ratio above 1 means that a backlog was caught up; a p99 of 20 kills or fewer is the largest value. *Bodies"
        " started beyond the record* compares starts with recorded runs, because a hand-back is a run but not an attempt."
        " After a random kill, the items of at most the last 0.5 s are repeated (0.25 s, and the same for the write on a busy"
        " machine), with `durable=True` at most one for each run; the tests check it."
    )
    return "\n".join([TITLE, "", how, *(line for part in parts for line in ["", *part])]) + "\n"


def write(text: str, page: Path = PAGE) -> None:
    """Replace the section, or append it; the rest of the page is somebody else's."""
    before = page.read_text(encoding="utf-8") if page.exists() else "# Operating jobtrail\n"
    head, found, tail = before.partition(TITLE)
    rest = tail.partition("\n## ")
    after = f"\n## {rest[2]}" if rest[1] else ""
    page.write_text(f"{head.rstrip()}\n\n{text}{after}" if found else f"{before.rstrip()}\n\n{text}", encoding="utf-8")


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    begun = time.monotonic()
    with start_postgres(max_connections="400") as server:
        text = section([PARTS[name](server, short=given.short) for name in given.only])
    print(f"\n{text}\nin {time.monotonic() - begun:.0f} s")
    if given.write:
        write(text)


if __name__ == "__main__":
    main()
