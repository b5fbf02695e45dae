"""``jobtrail demo``: real data, loaded by real jobs, looked at, corrected, and run again where it failed."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import shlex
import signal
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jobtrail.errors import UsageError
from jobtrail.job.model import Status

from ..source import WEATHER, months_of
from ..tasks import FILES, QUEUE
from .live import SILENT, address_of, can_serve, open_address, serve
from .on_celery import await_idle, celery_worker
from .place import FOLDER_VARIABLE, Place, default_folder
from .question import ask_and_answer, leave_waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from jobtrail.app import JobTrail
    from jobtrail.cli.session import Session
    from jobtrail.commands.job_handle import Job
    from jobtrail.commands.task_handle import BoundTask

APP = "jobtrail.cli.operate.demo:app"
WAIT_AT_MOST = 120.0  # seconds for a job that another process runs
COLOURS = {Status.COMPLETED: "green", Status.PARTIAL: "yellow", Status.FAILED: "red"}
REASONS_SHOWN = 12


@dataclass(slots=True)
class Report:
    """What ``--json`` prints; all but ``rerun`` and ``asked`` tells how it stood before the correction."""

    jobs: int = 0
    completed: int = 0
    partial: int = 0
    failed: int = 0
    items: dict[str, dict[str, int]] = field(default_factory=dict)
    partial_units: list[str] = field(default_factory=list)
    rerun: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


# -- the demonstration -------------------------------------------------------------------------------


def run_demo(
    session: Session,
    *,
    once: bool,
    data: Path | None,
    folder: Path | None,
    host: str,
    port: int,
    broker: str | None = None,
) -> int:
    """Load everything, show how it came in, correct the rule and run again what failed; the exit code.

    With a ``broker`` a Celery worker runs the jobs.

    Without ``once`` it then serves the console, with a worker and data that flows in, until it is interrupted. With
    ``--json`` one object is printed instead.

    Raises: UsageError for input, a folder, an address or a database that cannot be used; StoreError.
    """
    console, as_json = session.console, session.as_json
    place = Place.prepared(folder, data, session.database, broker)
    jobs, serves = place.app(), not once and can_serve()
    try:
        jobs.migrate()
        listening, token = open_address(host, port, jobs) if serves else (None, None)
        whole = Demo(jobs, place, Console(quiet=True) if as_json else console)
        with contextlib.nullcontext() if broker is None else celery_worker(jobs, place.folder, FOLDER_VARIABLE):
            whole.run()
        waits = None if once else leave_waiting(jobs, place)
        address = None if listening is None else address_of(listening)
        if as_json:
            served = {} if address is None else {"address": address, "token": token}
            console.file.write(json.dumps(asdict(whole.report) | served) + "\n")
            console.file.flush()
        else:
            _tell_commands(place, console, waits)
            _tell_address(console, address, token, once=once)
        if listening is not None:
            return serve(session, jobs, whole.units(), listening, local=token is None)
        if not once:
            work(jobs)
    finally:
        jobs.state.warehouse.close()
        jobs.close()
    return 0 if whole.all_complete else 1


class Demo:
    """One demonstration: submit, work, show, correct, run again."""

    def __init__(self, jobs: JobTrail, place: Place, console: Console) -> None:
        self.jobs = jobs
        self.place = place
        self.console = console
        self.report = Report()
        self.all_complete = False

    def run(self) -> Demo:
        """All of it, in order."""
        began = time.monotonic()
        self.jobs.state.warehouse.lenient = False
        first = self.jobs.enqueue_each(self._submissions())
        self._work(first, "loading")
        self._take_stock(first)
        self._show(first)
        again = self._run_again(first)
        self.report.seconds = round(time.monotonic() - began, 2)
        self._show_again(first, again)
        self.report.asked = asked = ask_and_answer(self.jobs, self.place, self._run, self.console)
        self.all_complete = self.all_complete and asked["completed"] == asked["jobs"]
        return self

    def _submissions(self) -> list[tuple[BoundTask, dict[str, Any]]]:
        weather, file = self.jobs.task_named("sync_weather"), self.jobs.task_named("import_file")
        options: dict[str, Any] = {"actor": "jobtrail demo"}
        found: list[tuple[BoundTask, dict[str, Any]]] = []
        for airport, period in self._months():
            found.append((weather.using(source=f"weather/{airport}", period=period, **options), {"airport": airport}))
        for table, kind in FILES.items():
            path = self.place.data / kind.file
            found.append((file.using(source=f"files/{table}", file=path, **options), {"table": table}))
        return found

    def units(self) -> list[tuple[str, str]]:
        """Every airport with every month, month by month."""
        return sorted(self._months(), key=lambda unit: (unit[1], unit[0]))

    def _months(self) -> Iterable[tuple[str, str]]:
        """Every airport with every month from the first to the last one: a month that is missing is to be seen."""
        try:
            by_airport = months_of(self.place.data / WEATHER)
        except (OSError, EOFError, ValueError, IndexError, csv.Error) as error:
            message = f"{self.place.data / WEATHER} cannot be read: {error}"
            raise UsageError(message) from None
        numbers = [year * 12 + month - 1 for months in by_airport.values() for year, month in months]
        for airport in sorted(by_airport):
            for number in range(min(numbers), max(numbers) + 1):
                yield airport, f"{number // 12:04d}-{number % 12 + 1:02d}"

    def _work(self, waiting: list[Job], what: str) -> None:
        """A worker of our own until nothing waits; what another process took is waited for."""
        with self.console.status(f"{what} {len(waiting)} units …"):
            self._run()
            for job in waiting:
                job.wait(WAIT_AT_MOST)

    def _run(self) -> None:
        if self.place.broker is not None:
            await_idle(self.jobs)
        elif work(self.jobs, burst=True):
            raise KeyboardInterrupt

    def _take_stock(self, first: list[Job]) -> None:
        report, status = self.report, Counter(job.status for job in first)
        report.jobs, report.completed = len(first), status[Status.COMPLETED]
        report.partial, report.failed = status[Status.PARTIAL], status[Status.FAILED]
        report.partial_units = sorted(unit_name(job) for job in first if job.status is Status.PARTIAL)
        for job in first:
            counts = report.items.setdefault(job.task, {"ok": 0, "failed": 0, "skipped": 0})
            for outcome, number in job.item_counts().items():
                counts[outcome] += number

    def _run_again(self, first: list[Job]) -> list[Job]:
        """Only what failed, under the lenient rule; arguments stay as they were, the rule stands in the warehouse."""
        unfinished = [job for job in first if job.status is not Status.COMPLETED]
        self.jobs.state.warehouse.lenient = True
        why = "the lenient rule: a row is kept without the reading that is missing or impossible"
        again = [job.rerun("failed_items", actor="jobtrail demo", reason=why) for job in unfinished]
        if again:
            self._work(again, "running again")
        completed = sum(job.status is Status.COMPLETED for job in again)
        touched = sum(item.job_id == job.id for job in again for item in job.items())
        self.report.rerun = {"jobs": len(again), "items": touched, "completed": completed}
        self.all_complete = completed == len(again)
        return again

    # -- for the eye -----------------------------------------------------------------------------------

    def _show(self, first: list[Job]) -> None:
        if self.console.quiet:
            return
        self.console.print(summary(self.report, first))
        self.console.print(reasons(first))
        self.console.print(grid(first, "Coverage: how each unit came in"))

    def _show_again(self, first: list[Job], again: list[Job]) -> None:
        if self.console.quiet:
            return
        told = self.report.rerun
        if again:
            self.console.print(
                f"\nThe rule is corrected (a row may lack a reading). {told['jobs']} units were run again with "
                f"failed_items: only the {told['items']} items that had failed were touched, "
                f"{told['completed']} of {told['jobs']} units are complete now.\n"
            )
        newest = {unit_name(job): job for job in [*first, *again]}
        if again:
            self.console.print(grid(list(newest.values()), "Coverage: after the correction"))
        complete = sum(job.status is Status.COMPLETED for job in newest.values())
        self.console.print(f"{complete} of {len(newest)} units are complete. {self.report.seconds:.1f} s.")


def unit_name(job: Job) -> str:
    """``weather/EWR 2013-02``, or ``files/planes``."""
    return " ".join(part for part in (job.source, period_text(job)) if part)


def summary(report: Report, first: list[Job]) -> Table:
    """The table of what was done, a row for each task."""
    table = Table(title=f"{report.jobs} jobs")
    table.add_column("task")
    for head in ("jobs", "completed", "partial", "failed", "items ok", "items failed", "items skipped"):
        table.add_column(head, justify="right")
    for task, items in report.items.items():
        status = Counter(job.status for job in first if job.task == task)
        numbers = [status.total(), status[Status.COMPLETED], status[Status.PARTIAL], status[Status.FAILED]]
        table.add_row(task, *(f"{number:,}" for number in [*numbers, *items.values()]))
    return table


def reasons(first: list[Job]) -> Table:
    """What came in only partly, and why."""
    table = Table(title="What failed, and why")
    for head, justify in (("unit", "left"), ("items", "right"), ("reason", "left"), ("for example", "left")):
        table.add_column(head, justify=justify)  # type: ignore[arg-type]
    for job in first:
        if job.status is Status.COMPLETED:
            continue
        failed = job.items("failed")
        told = Counter(item.reason or "" for item in failed) or Counter([(job.error or {}).get("message", "")])
        for reason, number in told.most_common(REASONS_SHOWN):
            example = next((item.key for item in failed if item.reason == reason), "")
            table.add_row(Text(unit_name(job)), str(number), Text(reason), Text(example))
    return table


def period_text(job: Job) -> str | None:
    """The period of a job as text."""
    return job.period.text if job.period else None


def grid(jobs: list[Job], title: str) -> Table:
    """Sources down, periods across, each cell in the colour of its status; files have a column of their own."""
    periods: list[str | None] = [*sorted({text for job in jobs if (text := period_text(job))})]
    table = Table(title=title, caption="● complete   ◐ partly (items failed)   ✗ failed   · nothing", box=SIMPLE)
    table.add_column("source")
    for period in periods:
        table.add_column(_short(period or "", periods))
    if any(period_text(job) is None for job in jobs):
        table.add_column("\nfile")
        periods.append(None)
    cells = {(job.source, period_text(job)): job for job in jobs}
    by_kind = sorted({(period_text(job) is None, job.source or "") for job in jobs})
    for is_file, source in by_kind:
        row = [_cell(cells.get((source, one)), blank=is_file is not (one is None)) for one in periods]
        table.add_row(Text(source), *row)
    return table


def _short(period: str, periods: list[str | None]) -> str:
    """``2013`` over ``01`` once a year, else only ``02``: twelve months must fit on a terminal."""
    first_of_year = period == min(one for one in periods if one and one[:4] == period[:4])
    return f"{period[:4]}\n{period[5:]}" if first_of_year else f"\n{period[5:]}"


def _cell(job: Job | None, *, blank: bool) -> Text:
    if job is None:
        return Text("" if blank else "·", style="dim")
    failed = job.item_counts()["failed"] if job.status is Status.PARTIAL else 0
    sign = {Status.COMPLETED: "●", Status.PARTIAL: f"◐{failed}", Status.FAILED: "✗"}.get(job.status, "…")
    return Text(sign, style=COLOURS.get(job.status, ""))


# -- afterwards --------------------------------------------------------------------------------------


def _tell_commands(place: Place, console: Console, waits: Job | None) -> None:
    """What to type next; ``waits`` is the job that asks, where a worker goes on here."""
    tell: Callable[[str], None] = lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True)  # noqa: E731
    tell("\nLook around (in another terminal):" if waits else "\nLook around:")
    if place.folder != default_folder().absolute():
        tell(f"  export {FOLDER_VARIABLE}={shlex.quote(str(place.folder))}")
    tell(f"  export JOBTRAIL_APP={APP}")
    for line in ("list status:partial", "coverage sync_weather", "list source:weather/EWR period:2013-02", "show ID"):
        tell(f"  jobtrail {line}")
    tell("  jobtrail submit sync_weather --source weather/EWR --period 2013-02 --arg airport=EWR")
    if waits:
        tell(f"  jobtrail questions\n  jobtrail answer {waits.id[-8:]}")
        tell("\nA worker goes on here and runs what you submit and what you answer. Ctrl-C ends it.")
    else:
        tell(f"  jobtrail worker --queues {QUEUE} --burst")


def _tell_address(console: Console, address: str | None, token: str | None, *, once: bool) -> None:
    told = [f"The console is at {address}", *_told_of_modules(address)] if address else []
    told += [f"Its token, shown this once: {token}"] if token else []
    if not address and not once:
        told = ["The console is not installed: pip install 'jobtrail[api]'."]
    for line in told:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _told_of_modules(address: str) -> list[str]:
    return [
        f"Modules under watch: {address}#/pages/office/modules",
        f"  weather.{SILENT} falls silent: it turns to warning after a minute, to error after three. What is told of it:",
        f"  {address}#/pages/notify/messages",
    ]


def work(jobs: JobTrail, *, burst: bool = False) -> bool:
    """Run a worker until nothing waits (``burst``) or until Ctrl-C or SIGTERM, which let running jobs end.

    True when it was such a signal.
    """
    worker = jobs.worker(queues=[QUEUE])
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        worker.stop()

    async def run() -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows: KeyboardInterrupt does it
                asyncio.get_running_loop().add_signal_handler(one, stop)
        await worker.run(burst=burst)

    asyncio.run(run())
    return stopped
