"""Durations as a histogram: classes of which each is a sixteenth of its lower edge wide, so that a percentile is within 4 %.

A histogram is a dict of counts by class; stored it is the text ``class:count,class:count``. The class of whole microseconds
needs shifts only, so that SQL can find it too (migration 0008).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SUB_BITS = 4
_MICROSECOND = timedelta(microseconds=1)


def class_of(micros: int) -> int:
    """The class of a duration in microseconds; a negative one counts as none."""
    shift = max(micros, 0).bit_length() - SUB_BITS - 1
    return max(micros, 0) if shift <= 0 else (shift << SUB_BITS) + (micros >> shift)


def classes(spans: Iterable[timedelta]) -> list[int]:
    """`class_of` for many durations, without a call for each."""
    micros = [span // _MICROSECOND for span in spans]
    return [
        (shift << SUB_BITS) + (one >> shift) if (shift := one.bit_length() - SUB_BITS - 1) > 0 and one > 0 else max(one, 0)
        for one in micros
    ]


def begin_of(number: int) -> float:
    """The least duration of a class, in seconds."""
    shift = max((number >> SUB_BITS) - 1, 0)
    return ((number - (shift << SUB_BITS)) << shift) / 1e6


def middle_of(number: int) -> float:
    """The middle of a class, in seconds."""
    shift = max((number >> SUB_BITS) - 1, 0)
    low = number - (shift << SUB_BITS)
    return ((low << shift) + ((1 << shift) - 1) / 2) / 1e6


def written(histogram: Mapping[int, int], sign: int = 1) -> str:
    """The stored form; with ``sign`` -1 that of what is taken back."""
    return ",".join(f"{number}:{sign * count}" for number, count in sorted(histogram.items()) if count)


def add_written(histogram: dict[int, int], text: str) -> None:
    """Add a stored histogram to one in memory."""
    if text:
        for part in text.split(","):
            number, _, count = part.partition(":")
            key = int(number)
            histogram[key] = histogram.get(key, 0) + int(count)


def percentile(histogram: Mapping[int, int], share: float) -> float | None:
    """Return the duration, in seconds, that this share of all does not exceed; None for an empty histogram.

    Args:
        histogram: Counts by class.
        share: Between 0 and 1.
    """
    wanted = share * sum(histogram.values())
    passed, found = 0, None
    for number in sorted(histogram):
        passed += histogram[number]
        if histogram[number] > 0:
            found = number
        if passed >= wanted and found is not None:
            break
    return None if found is None else middle_of(found)
