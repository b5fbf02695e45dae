"""What is answered about units: the coverage grid, one unit, and what a backfill would do."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field

from jobtrail.job.json_value import canonical, digest
from jobtrail.job.masking import masked
from jobtrail.queries.base import ID, Model, masked_text
from jobtrail.queries.jobs.job_list import ItemCounts, JobLine
from jobtrail.schedules.backfill.backfill import state_of

if TYPE_CHECKING:
    from jobtrail.schedules.backfill.backfill import BackfillPlan
    from jobtrail.store.units import UnitRow

    from .coverage import Cell, Column, Row

State = Literal["complete", "partial", "failed", "active", "missing"]
SHOWN = 500  # units of a plan


class Unit(Model):
    """A unit and its current truth."""

    unit: str = Field(description="Its key.")
    text: str = Field(examples=["sync_weather weather/EWR 2013-02"])
    source: str | None
    period: str | None = Field(examples=["2013-02"])
    start: datetime | None
    end: datetime | None
    sha256: str | None = Field(description="Of a file.")
    state: State = Field(description="missing: nothing has come of it yet.")
    status: str | None = Field(description="Of its active job.")
    outcome: str | None
    job: str | None = Field(description="The job that its truth comes from.", examples=[ID])
    active_job: str | None
    items: ItemCounts
    linked_unit: str | None = Field(description="The same file before or after its correction.")
    changed_at: datetime


class GridColumn(Model):
    """A period of the grid."""

    period: str = Field(examples=["2013-02"])
    start: datetime
    end: datetime
    over: bool = Field(description="It lies wholly in the past.")


class GridCell(Model):
    """What is known of a source in a column; a column without a cell is a gap."""

    column: int = Field(description="Its place among the columns, from 0.")
    state: State = Field(description="The loudest of its units: failed, partial, active, missing, complete.")
    counts: dict[str, int] = Field(examples=[{"complete": 11, "partial": 1}])
    expected: int | None = Field(description="How many finer units would be there by now.")
    unit: Unit | None = Field(description="The unit that is just this column, or reaches beyond it.")


class GridRow(Model):
    """A source."""

    source: str | None
    cells: list[GridCell]
    missing: int = Field(description="Columns that are over and without a cell.")
    counts: dict[str, int]


class Grid(Model):
    """Sources by periods. ``next`` is the ``skip`` of the following page of sources, null at the end."""

    task: str
    zoom: str
    zone: str
    columns: list[GridColumn]
    rows: list[GridRow]
    sources: int = Field(description="How many sources there are.")
    next: int | None
    more: bool = Field(description="Not every unit of the range was read; take a coarser zoom or fewer sources.")
    now: datetime


class UnitTasks(Model):
    """The tasks that have units."""

    tasks: list[str]


class Files(Model):
    """Units that are files, what has changed last first."""

    files: list[Unit]
    more: bool


class UnitPage(Model):
    """A unit, and its jobs, newest first."""

    unit: Unit
    task: str
    jobs: list[JobLine]


class PlannedUnit(Model):
    """A unit of the range, and what would be done with it: submit, the mode of a re-run, or nothing."""

    source: str | None
    period: str
    state: State
    way: str | None
    job: str | None


class Plan(Model):
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
    new_sources: list[str | None]
    units: list[PlannedUnit] = Field(description=f"The first {SHOWN} of those that would be run.")
    arguments: dict[str, Any] = Field(description="By source, what new jobs would be given; secrets are masked.")
    digest: str = Field(description="Of all units that would be run, and how; a backfill that is given it runs these or none.")


class Started(Model):
    """A job that was submitted, or the one that stands for it already."""

    job: str = Field(examples=[ID])
    created: bool


def _state(text: str) -> State:
    return cast("State", text)


def unit(row: UnitRow) -> Unit:
    """A unit as it was read."""
    return Unit(
        unit=row.unit, text=masked_text(row.text) or "", source=masked_text(row.source), period=row.period, start=row.period_start,
        end=row.period_end, sha256=row.sha256, state=_state(state_of(row)), status=row.active_status and row.active_status.value,
        outcome=row.outcome and row.outcome.value, job=row.job_id, active_job=row.active_job,
        items=ItemCounts(ok=row.items_ok, failed=row.items_failed, skipped=row.items_skipped),
        linked_unit=row.linked_unit, changed_at=row.changed_at,
    )  # fmt: skip


def column(one: Column) -> GridColumn:
    """A column."""
    period = one.period
    return GridColumn(period=period.text, start=period.start, end=period.end, over=one.over)


def row(one: Row) -> GridRow:
    """A source and its cells."""
    cells = [_cell(cell) for cell in one.cells]
    return GridRow(source=masked_text(one.source), cells=cells, missing=one.missing, counts=dict(one.counts))


def _cell(cell: Cell) -> GridCell:
    own = None if cell.unit is None else unit(cell.unit)
    return GridCell(
        column=cell.column, state=_state(cell.state), counts=dict(cell.counts), expected=cell.expected, unit=own
    )


def plan(found: BackfillPlan, marked: frozenset[str]) -> Plan:
    """What a backfill would do."""
    said = found.selection
    chosen = found.chosen
    return Plan(
        task=said.task, first=said.first, last=said.last, step=said.step, order=said.order, chosen=len(chosen),
        counts=found.counts, ways=found.ways,
        by_source=[{"source": source, **counts} for source, counts in found.counts_by_source.items()],
        new_sources=list(found.new_sources),
        units=[
            PlannedUnit(source=one.source, period=one.period.text, state=_state(one.state), way=one.way, job=one.job)
            for one in chosen[:SHOWN]
        ],
        arguments={source or "": masked(dict(args), marked) for source, args in found.args.items()},
        digest=plan_digest(found),
    )  # fmt: skip


def plan_digest(found: BackfillPlan) -> str:
    """Identify what a backfill would do: its units, the way each is run, and the arguments of new jobs."""
    units = [[one.source, one.period.text, one.state, one.way, one.job] for one in found.chosen]
    args = [[source, dict(given)] for source, given in found.args.items()]
    return digest(canonical([units, found.selection.order, args]))
