"""A progress bar for one job on standard error, by Rich: percent, count, rate and the time that is left."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from jobtrail.errors import UsageError
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from rich.console import Console

    from jobtrail.job.items import Pace

NARROW, WIDE = 60, 100  # columns of the terminal
STEP = 10  # percent between two lines where there is no terminal


def facts(reported: Mapping[str, Any], pace: Pace) -> list[str]:
    """Percent, count, rate and time left, each as a short text without words; what is not known is left out."""
    done, total = reported.get("done"), reported.get("total")
    told = [] if pace.percent is None else [f"{pace.percent:.0f} %"]
    if done is not None:
        told.append(f"{done:,}" if total is None else f"{done:,}/{total:,}")
    if pace.per_second is not None:
        told.append(f"{pace.per_second:,.{0 if pace.per_second >= 100 else 1}f}/s")
    if pace.seconds_left is not None:
        told.append(f"-{timedelta(seconds=round(pace.seconds_left))}")
    return told


class ProgressBar:
    """Shows how far a job is, as a context manager; where standard error is no terminal, a line for every ten percent.

    Args:
        name: What is waited for.
        console: Rich console; default: standard error.

    Raises:
        UsageError: If Rich, of the extra ``jobtrail[cli]``, is not installed.
    """

    def __init__(self, name: str, console: Console | None = None) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
            from rich.table import Column
        except ImportError:
            raise UsageError(Message("errors.extra-missing", extra="cli", package="rich")) from None
        self._console = console or Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
        self._name, self._last = name, ""
        width = self._console.width
        columns: list[Any] = [TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, max_width=40))]
        if width >= NARROW:
            columns.append(BarColumn(20 if width < WIDE else 40))
        columns.append(TextColumn("{task.fields[facts]}", markup=False, table_column=Column(no_wrap=True)))
        if width >= WIDE:
            shown = Column(no_wrap=True, overflow="ellipsis", ratio=1)
            columns += [TimeElapsedColumn(), TextColumn("{task.fields[words]}", markup=False, table_column=shown)]
        self._bar = Progress(*columns, console=self._console, transient=True, expand=width >= WIDE)
        self._line = self._bar.add_task(name, total=None, facts="", words="")

    def __enter__(self) -> Self:
        """Begin to show it."""
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self._console.is_terminal:
            self._bar.stop()

    def update(self, words: str, reported: Mapping[str, Any] | None = None, pace: Pace | None = None) -> None:
        """Show how far the job is now.

        Args:
            words: Its message or state; one line.
            reported: Its last progress report.
            pace: Its pace; None if it does not run.
        """
        told = facts(reported, pace) if reported is not None and pace is not None else []
        percent = pace.percent if pace is not None else None
        if self._console.is_terminal:
            narrow = self._console.width < WIDE
            said = " ".join([*told[: 2 if self._console.width < NARROW else None], *([words] if narrow and not told else [])])
            total = None if percent is None else 100
            self._bar.update(self._line, total=total, completed=percent or 0, facts=said, words=words)
            return
        mark = f"{words if percent is None else int(percent // STEP)}"
        if mark != self._last:
            self._last = mark
            self._console.print(" ".join([self._name, *told, words]), soft_wrap=True)
