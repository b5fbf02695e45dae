"""Types that several routes share: a moment with its offset, the reason of an action, a job that was started."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, WithJsonSchema, field_validator

from jobtrail.errors import UsageError
from jobtrail.job.json_value import safe_text
from jobtrail.job.period import in_our_time
from jobtrail.messages import Message
from jobtrail.queries.base import ID, Model

_ISO_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT")


def _iso_text(moment: Any) -> Any:
    """Reject numbers: pydantic would read them as seconds or milliseconds since 1970, depending on their size."""
    if isinstance(moment, int | float) or (isinstance(moment, str) and not _ISO_MOMENT.match(moment)):
        raise UsageError(Message("api.must-be-moment"))
    return moment


def _in_range(moment: datetime) -> datetime:
    """Reject years that cannot be converted to every zone."""
    if in_our_time(moment) is None:
        raise UsageError(Message("api.must-be-in-years"))
    return moment


# A timezone-aware moment in a request.
AwareMoment = Annotated[
    AwareDatetime,
    BeforeValidator(_iso_text),
    AfterValidator(_in_range),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": r"^(19|2\d)\d\d-", "examples": ["2013-02-01T03:00:00Z"]}),
]


class WithReason(Model):
    """A request that may give the reason of an action."""

    reason: str | None = Field(None, max_length=1000, examples=["the provider has sent the month again"])

    @field_validator("reason")
    @classmethod
    def _storable(cls, value: str | None) -> str | None:
        return safe_text(value.strip(), 4000) or None if value else None


class StartedJob(Model):
    """A job that was submitted, or the active one that is returned in its place."""

    job: str = Field(examples=[ID])
    created: bool
