"""What a row must be like, and the reason a person reads when it is not.

The lenient rule keeps a row whose reading is missing or impossible, without that reading.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WIND_LIMIT = 200  # mph
MISSING = ("", "NA")


class BadRow(ValueError):
    """The row cannot be taken over; the message says why."""


def hour(airport: str, row: Mapping[str, str], *, lenient: bool) -> dict[str, Any]:
    """An hour of weather as the warehouse keeps it.

    Raises: BadRow without temperature or wind speed, with a wind that cannot be, for an hour told twice.
    """
    temp, wind = number("temperature", row["temp"]), number("wind speed", row["wind_speed"])
    impossible = wind is not None and not 0 <= wind <= WIND_LIMIT
    if not lenient:
        if row["copy"] != "1":
            raise BadRow("this hour is told twice")
        if temp is None:
            raise BadRow("no temperature")
        if wind is None:
            raise BadRow("no wind speed")
        if impossible:
            raise BadRow(f"wind speed of {wind:.0f} mph is impossible (limit {WIND_LIMIT})")
    others = ("dewp", "humid", "wind_dir", "wind_gust", "precip", "pressure", "visib")
    return {
        "airport": airport,
        "time_hour": row["time_hour"],
        "temp": temp,
        "wind_speed": None if impossible else wind,
        **{name: number(name, row[name]) for name in others},
    }


def plane(row: Mapping[str, str], *, lenient: bool) -> dict[str, Any]:
    """A plane. Raises: BadRow without a year."""
    year = number("year", row["year"])
    if year is None and not lenient:
        raise BadRow("no year of manufacture")
    kept = {name: text(row[name]) for name in ("tailnum", "type", "manufacturer", "model")}
    return kept | {"year": None if year is None else int(year), "seats": number("seats", row["seats"])}


def airport(row: Mapping[str, str], *, lenient: bool) -> dict[str, Any]:
    """An airport. Raises: BadRow without a time zone."""
    zone = text(row["tzone"])
    if zone is None and not lenient:
        raise BadRow("no time zone")
    place = {name: number(name, row[name]) for name in ("lat", "lon", "alt")}
    return {"faa": row["faa"], "name": text(row["name"]), **place, "tzone": zone}


def airline(row: Mapping[str, str], *, lenient: bool) -> dict[str, Any]:  # noqa: ARG001 - all checks look alike
    """An airline."""
    return {"carrier": row["carrier"], "name": text(row["name"])}


def text(value: str) -> str | None:
    """A text, or None where it is missing."""
    return None if value in MISSING else value


def number(what: str, value: str) -> float | None:
    """A number, or None where it is missing.

    Raises: BadRow for anything else.
    """
    if value in MISSING:
        return None
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise BadRow(f"{what} is '{value}', which is no number")
    return found
