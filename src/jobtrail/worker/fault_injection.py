"""Named points at which a worker kills its own process, for tests: see `jobtrail.testing.crash`.

A worker that is not told to has no points: then nothing is called.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from jobtrail.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "JOBTRAIL_CRASH_AT"
NAMED = ("claim_answer_lost", "claimed", "before_settle", "settle_answer_lost", "after_settle")


def check(point: str) -> None:
    """Is there such a point?

    Raises: InvalidOption, with those that there are.
    """
    kind, _, which = point.partition(":")
    numbered = kind == "item" and which.isdecimal() and int(which) > 0
    if point in NAMED or numbered or (kind == "step" and which):
        return
    message = f"there is no point '{point}'; there are: {', '.join(NAMED)}, step:NAME, item:N"
    raise InvalidOption(message)


def from_environment() -> Callable[[str], None] | None:
    """What a worker calls at its points; None where nobody asked for a crash.

    Raises: InvalidOption.
    """
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return None
    check(wanted)

    def reached(point: str) -> None:
        if point == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached
