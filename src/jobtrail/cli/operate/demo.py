"""``jobtrail demo``: hands over to the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jobtrail.cli.command import WORKING, command
from jobtrail.cli.session import Session


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "demo", WORKING)(demo)


def demo(
    session: Session,
    once: Annotated[bool, typer.Option("--once", help="Run all to the end and stop.")] = False,
    data: Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Other files of the same form.")] = None,
    folder: Annotated[Path | None, typer.Option("--dir", metavar="DIR", help="For jobs.db and warehouse.db.")] = None,
    host: Annotated[str, typer.Option("--host", help="The address of the console.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes a free one.")] = 8765,
) -> int:
    """See it work: load real data with real jobs, correct it, run again what failed; then look at it in the console."""
    from jobtrail.cli.demo.demo import run_demo

    return run_demo(session, once=once, data=data, folder=folder, host=host, port=port)
