"""Moments that somebody gives: with a zone, and of years that every clock shows and both databases give back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

YEARS = range(1900, 3000)


def in_our_time(moment: Any) -> datetime | None:
    """The moment in UTC; None for what is no datetime with a zone of the years 1900 to 2999."""
    if not isinstance(moment, datetime) or moment.utcoffset() is None or moment.year not in YEARS:
        return None
    return moment.astimezone(UTC)
