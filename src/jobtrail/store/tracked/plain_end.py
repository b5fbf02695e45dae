"""The end of a run that leaves nothing but its result: one statement, which needs no transaction around it (PostgreSQL)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, literal_column, not_, update

from jobtrail.database.tables import jobs
from jobtrail.job.model import Status
from jobtrail.store.events import has_line
from jobtrail.store.totals import ends

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.job.transitions import Move

_VALUES = ("outcome", "finished_at", "result", "note", "error", "fingerprint")


def is_plain(move: Move) -> bool:
    """Whether nothing but the row and the counts change: no unit, no line of the trail, no question, no successor."""
    return (
        move.settles
        and move.unit is None
        and not move.follow
        and move.asks is None
        and not has_line(move, Status.RUNNING)
        and tuple(move.values) == _VALUES
    )


def write(conn: Connection, move: Move) -> bool:
    """Write the end of a plain run and count it.

    Returns:
        False where nothing was written: the job was asked to stop, another one waits for its end, or a newer run owns it.
    """
    counted = ends.values_of(move)
    if counted is None:
        return False
    given = {f"new_{name}": value for name, value in move.values.items()}
    return conn.execute(_END, {"job": move.job_id, "run": move.run_no, **given, **counted}).rowcount > 0


_ended = (
    update(jobs)
    .where(
        jobs.c.id == bindparam("job"), jobs.c.run_no == bindparam("run"), jobs.c.stop_cause.is_(None), not_(jobs.c.followed),
        literal_column("(jobtrail_jobs.status || '')") == Status.RUNNING.value,  # not the column: see docs/why/store.md
    )
    .values(status=Status.COMPLETED.value, **{name: bindparam(f"new_{name}", type_=jobs.c[name].type) for name in _VALUES})
    .returning(jobs.c.id)
    .cte("ended")
)  # fmt: skip
_END = ends.counting(where_any=_ended).execution_options(preserve_rowcount=True)
