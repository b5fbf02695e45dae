"""What a bulk action would do now."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from jobtrail.commands import bulk
from jobtrail.messages import render
from jobtrail.queries.base import ID, Model

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.queries.context import QueryContext


class SkippedJobs(Model):
    """Jobs with which nothing would be done."""

    reason: str = Field(examples=["its unit has a newer job"])
    jobs: int
    example: str = Field(examples=[ID])


class BulkPreview(Model):
    """What would be done now; nothing was written."""

    action: str
    mode: str | None
    jobs: int = Field(description="How many are meant.")
    acts: int = Field(description="With how many something would be done.")
    skipped: list[SkippedJobs]
    more: bool = Field(description=f"The filter names older jobs too; the newest {bulk.MOST_JOBS:,} are meant.")
    digest: str = Field(description="The action is started with it, and only once.")
    at: datetime = Field(description="When this was so; the action is started with it, too.")


def read_preview(
    conn: Connection, context: QueryContext, selection: bulk.Wanted, *, role: str | None = None
) -> BulkPreview:
    """Read what a bulk action would do to each job of a selection; a ``role`` below admin cannot search secrets.

    Raises:
        InvalidFilter: if the filter of the selection is not valid.
    """
    shown = bulk.preview(conn, selection, context.now(), view=context.view(role))
    skipped = [SkippedJobs(reason=render(reason), jobs=number, example=example) for reason, number, example in shown.skips]
    return BulkPreview(
        action=selection.action, mode=selection.mode, jobs=len(shown.chosen), acts=shown.acts, skipped=skipped,
        more=shown.more, digest=shown.digest, at=shown.at,
    )  # fmt: skip
