"""``jobtrail demo``: hands over to the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .program import WORKING, command
from .session import Session


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "demo", WORKING)(demo)


def demo(
    session: Session,
    once: Annotated[bool, typer.Option("--once", help="Run all to the end and stop.")] = False,
    data: Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Other files of the same form.")] = None,
    folder: Annotated[Path | None, typer.Option("--dir", metavar="DIR", help="For jobs.db and warehouse.db.")] = None,
) -> int:
    """See it work: load real data with real jobs, correct it, run again what failed."""
    from .demo import run_demo

    return run_demo(once=once, data=data, folder=folder, database=session.database, as_json=session.as_json,
                    console=session.console)  # fmt: skip
