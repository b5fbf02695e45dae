"""A cell of a CSV file that no spreadsheet takes for a formula."""

from __future__ import annotations

from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell(value: Any) -> str:
    """A value as text; what begins like a formula gets an apostrophe before it."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
