"""Units as people see them: coverage, one unit with its jobs, files, and what a backfill would do."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field

from jobtrail.errors import NotFound
from jobtrail.job.json_value import canonical, digest
from jobtrail.job.masking import masked
from jobtrail.messages import Message
from jobtrail.schedules.backfill.backfill import state_of
from jobtrail.store import units
from jobtrail.store.search import search

from . import coverage
from .base import ID, MaskedText, Model, masked_text
from .jobs.job_list import ItemCounts, JobLine, job_line

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.schedules.backfill.backfill import BackfillPlan
    from jobtrail.store.units import UnitRow

    from .context import QueryContext

UnitState = Literal["complete", "partial", "failed", "active", "missing"]
MOST_CELLS = 5_000
MOST_UNITS = 20_000
MOST_SOURCES = 5_000
NEWEST = 200  # units that decide the usual zoom and zone
FILES = 200
JOBS = 50  # of a unit
SHOWN = 500  # units of a plan


class UnitLine(Model):
    """A unit and its current truth."""

    unit: str = Field(description="Its key.")
    text: MaskedText = Field(examples=["sync_weather weather/EWR 2013-02"])
    source: MaskedText | None
    period: str | None = Field(examples=["2013-02"])
    start: datetime | None
    end: datetime | None
    sha256: str | None = Field(description="Of a file.")
    state: UnitState = Field(description="missing: nothing has come of it yet.")
    status: str | None = Field(description="Of its active job.")
    outcome: str | None
    job: str | None = Field(description="The job that its truth comes from.", examples=[ID])
    active_job: str | None
    items: ItemCounts
    linked_unit: str | None = Field(description="The same file before or after its correction.")
    changed_at: datetime


class CoverageColumn(Model):
    """A period of the grid."""

    period: str = Field(examples=["2013-02"])
    start: datetime
    end: datetime
    over: bool = Field(description="It lies wholly in the past.")


class CoverageCell(Model):
    """What is recorded of a source in a column; a column that is over and has no cell is a gap."""

    column: int = Field(description="Its place among the columns, from 0.")
    state: UnitState = Field(description="The most severe of its units: failed, partial, active, missing, complete.")
    counts: dict[str, int] = Field(examples=[{"complete": 11, "partial": 1}])
    expected: int | None = Field(description="How many finer units would be there by now.")
    unit: UnitLine | None = Field(description="The unit that is just this column, or reaches beyond it.")


class CoverageRow(Model):
    """A source."""

    source: MaskedText | None
    cells: list[CoverageCell]
    missing: int = Field(description="Columns that are over and without a cell.")
    counts: dict[str, int]


class CoverageGrid(Model):
    """Sources by periods. ``next`` is the ``skip`` of the following page of sources, null at the end."""

    task: str
    zoom: str
    zone: str
    columns: list[CoverageColumn]
    rows: list[CoverageRow]
    sources: int = Field(description="How many sources there are.")
    next: int | None
    more: bool = Field(description="Not every unit of the range was read; take a coarser zoom or fewer sources.")
    now: datetime


class UnitTasks(Model):
    """The tasks that have units."""

    tasks: list[str]


class FileUnits(Model):
    """Units that are files, the latest changed first."""

    files: list[UnitLine]
    more: bool


class UnitDetail(Model):
    """A unit and its jobs, newest first."""

    unit: UnitLine
    task: str
    jobs: list[JobLine]


class BackfillUnit(Model):
    """A unit of the range, and what would be done with it: submit, the mode of a re-run, or nothing."""

    source: MaskedText | None
    period: str
    state: UnitState
    way: str | None
    job: str | None


class BackfillPreview(Model):
    """What a backfill would do now; nothing was written."""

    task: str
    first: str
    last: str
    step: str
    order: str
    chosen: int = Field(description="How many jobs it would make.")
    counts: dict[str, int] = Field(description="Units by state.")
    ways: dict[str, int] = Field(description="Jobs by way: submit, full, failed_items, resume.")
    by_source: list[dict[str, Any]]
    new_sources: list[MaskedText | None]
    units: list[BackfillUnit] = Field(description=f"The first {SHOWN} of those that would be run.")
    arguments: dict[str, Any] = Field(description="By source, what new jobs would be given; secrets are masked.")
    digest: str = Field(description="Of all units that would be run, and how; a backfill that is given it runs these or none.")


# -- coverage ----------------------------------------------------------------------------------------


def read_coverage(
    conn: Connection,
    context: QueryContext,
    task: str,
    *,
    zoom: str | None = None,
    first: str | None = None,
    last: str | None = None,
    source: str = "",
    skip: int = 0,
    limit: int = 100,
    entire: bool = False,
) -> CoverageGrid:
    """Read the coverage of a task: sources by periods, with the state of each cell.

    Args:
        conn: a connection for reading.
        context: the application.
        task: the task's name.
        zoom: year, month, week, day or hour; default: what most of the newest units are.
        first: the first period; default: see ``entire``.
        last: the last period, itself included.
        source: only sources that begin with this.
        skip: how many sources to skip.
        limit: how many sources to return at most.
        entire: begin and end where the units do, where ``first`` or ``last`` is not given, and not with the latest frame.

    Raises:
        NotFound: if no such task is known and no units of it are recorded.
        InvalidPeriod: if a period cannot be read.
        InvalidOption: if there is no such zoom, or there would be too many columns.
    """
    now, found, sources = context.now(), context.tasks.find(task), _sources(conn, task)
    if not sources and found is None:
        _check_has_units(conn, task)
    newest = units.newest_periods(conn, task, limit=NEWEST)
    zoom = zoom or coverage.usual_grain(newest)
    zone = coverage.usual_zone(newest) or ("UTC" if found is None else found.zone)
    columns = coverage.columns(zoom, first, last, units.span(conn, task), zone, now, entire=entire)
    wanted = [one for one in sources if (masked_text(one) or "").startswith(source)]
    shown = wanted[skip:][: max(min(limit, MOST_CELLS // len(columns)), 1)]
    upto = skip + len(shown)
    start, end = columns[0].period.start, columns[-1].period.end
    read = units.in_grid(conn, task, shown, start, end, limit=MOST_UNITS + 1) if shown else []
    return CoverageGrid(
        task=task, zoom=zoom, zone=columns[0].period.zone, sources=len(wanted),
        columns=[_column(one) for one in columns],
        rows=[_row(one) for one in coverage.rows(columns, shown, read[:MOST_UNITS], now)],
        next=upto if upto < len(wanted) else None, more=len(read) > MOST_UNITS, now=now,
    )  # fmt: skip


def _sources(conn: Connection, task: str) -> list[str | None]:
    return sorted(units.sources(conn, task, limit=MOST_SOURCES), key=_shown_order)


def _shown_order(source: str | None) -> tuple[bool, str, int]:
    """The order of sources as they are shown; the order of those that are shown alike says nothing of what is hidden."""
    return source is not None, masked_text(source) or "", hash(source)


def _check_has_units(conn: Connection, task: str) -> None:
    there = units.tasks(conn)
    if task not in there:
        raise NotFound(Message("queries.no-units", task=task, known=there))


def _column(one: coverage.PeriodColumn) -> CoverageColumn:
    period = one.period
    return CoverageColumn(period=period.text, start=period.start, end=period.end, over=one.over)


def _row(one: coverage.SourceRow) -> CoverageRow:
    cells = [
        CoverageCell(
            column=cell.column, state=_state(cell.state), counts=dict(cell.counts), expected=cell.expected,
            unit=None if cell.unit is None else unit_line(cell.unit),
        )
        for cell in one.cells
    ]  # fmt: skip
    return CoverageRow(source=one.source, cells=cells, missing=len(one.gaps), counts=dict(one.counts))


# -- units -------------------------------------------------------------------------------------------


def read_tasks(conn: Connection) -> UnitTasks:
    """Read the names of the tasks that have units."""
    return UnitTasks(tasks=units.tasks(conn))


def read_files(conn: Connection, task: str) -> FileUnits:
    """Read the units of a task that are files, the latest changed first."""
    found = units.files(conn, task, limit=FILES + 1)
    return FileUnits(files=[unit_line(row) for row in found[:FILES]], more=len(found) > FILES)


def read_unit(conn: Connection, context: QueryContext, key: str) -> UnitDetail:
    """Read one unit and its newest jobs.

    Raises:
        NotFound: if there is no such unit.
    """
    found = units.get(conn, key)
    if found is None:
        raise NotFound(Message("api.no-unit", key=key[:100]))
    page = search.find(conn, f"unit:{found.unit}", now=context.now(), limit=JOBS)
    marked = context.marked(found.task)
    lines = [job_line(row, marked=marked) for row in page.rows]
    return UnitDetail(unit=unit_line(found), task=found.task, jobs=lines)


def unit_line(row: UnitRow) -> UnitLine:
    """A unit from its row."""
    return UnitLine(
        unit=row.unit, text=row.text, source=row.source, period=row.period, start=row.period_start, end=row.period_end,
        sha256=row.sha256, state=_state(state_of(row)), status=row.active_status and row.active_status.value,
        outcome=row.outcome and row.outcome.value, job=row.job_id, active_job=row.active_job,
        items=ItemCounts(ok=row.items_ok, failed=row.items_failed, skipped=row.items_skipped),
        linked_unit=row.linked_unit, changed_at=row.changed_at,
    )  # fmt: skip


def _state(text: str) -> UnitState:
    return cast("UnitState", text)


# -- backfill ----------------------------------------------------------------------------------------


def backfill_preview(plan: BackfillPlan, marked: frozenset[str]) -> BackfillPreview:
    """What a backfill would do, from its plan; ``marked`` are the arguments that the task declares secret."""
    said, chosen = plan.selection, plan.chosen
    return BackfillPreview(
        task=said.task, first=said.first, last=said.last, step=said.step, order=said.order, chosen=len(chosen),
        counts=plan.counts, ways=plan.ways,
        by_source=[{"source": masked_text(source), **counts} for source, counts in plan.counts_by_source.items()],
        new_sources=list(plan.new_sources),
        units=[
            BackfillUnit(source=one.source, period=one.period.text, state=_state(one.state), way=one.way, job=one.job)
            for one in chosen[:SHOWN]
        ],
        arguments={masked_text(source) or "": masked(dict(args), marked) for source, args in plan.args.items()},
        digest=plan_digest(plan, marked),
    )  # fmt: skip


def plan_digest(plan: BackfillPlan, marked: frozenset[str]) -> str:
    """Identify what a backfill would do: its units, the way each is run, and the arguments of new jobs.

    Secrets are not part of it: who has the digest could try out what they are.
    """
    chosen = [[masked_text(one.source), one.period.text, one.state, one.way, one.job] for one in plan.chosen]
    args = [[masked_text(source), masked(dict(given), marked)] for source, given in plan.args.items()]
    return digest(canonical([chosen, plan.selection.order, args]))
