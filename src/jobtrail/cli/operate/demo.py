"""``jobtrail demo``: find the example package ``flights`` and run its demonstration."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.errors import UsageError
from jobtrail.messages import Message, use_language

PACKAGE = "jobtrail_examples.flights"  # in a wheel
IN_CHECKOUT = "jobtrail_flights_example"


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "demo", "run", "help.demo")(demo)


def demo(
    session: Session,
    once: Annotated[bool, typer.Option("--once", help="help.demo-once")] = False,
    data: Annotated[Path | None, typer.Option("--data", metavar="DIR", help="help.demo-data")] = None,
    folder: Annotated[Path | None, typer.Option("--dir", metavar="DIR", help="help.demo-dir")] = None,
    host: Annotated[str, typer.Option("--host", help="help.demo-host")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="help.free-port")] = 8765,
    executor: Annotated[str | None, typer.Option("--executor", metavar="NAME", help="help.demo-executor")] = None,
    broker: Annotated[str | None, typer.Option("--broker", metavar="URL", help="help.demo-broker")] = None,
) -> int:
    """Load real data with jobs, correct it, run again what failed, then show it in the console."""
    if executor not in {None, "local", "celery"} or (executor == "celery") != (broker is not None) or (broker and not once):
        raise UsageError(Message("cli.demo-executor"))
    with use_language("en"):  # of what its workers store and log, and of what the example prints
        code: int = part("demo.run").run_demo(
            session, once=once, data=data, folder=folder, host=host, port=port, broker=broker
        )
    return code


def part(name: str) -> ModuleType:
    """Return a module of the example package.

    Raises:
        UsageError: if this installation has no examples.
    """
    return importlib.import_module(f"{flights().__name__}.{name}")


def flights() -> ModuleType:
    """Return the example package: ``examples/flights`` of a source checkout, else the one installed with jobtrail.

    The checkout comes first, because an editable installation contains an old copy.

    Raises:
        UsageError: if this installation has no examples.
    """
    if IN_CHECKOUT in sys.modules:
        return sys.modules[IN_CHECKOUT]
    start = Path(__file__).resolve().parents[4] / "examples" / "flights" / "__init__.py"
    if not start.is_file():
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(PACKAGE)
    spec = importlib.util.spec_from_file_location(IN_CHECKOUT, start, submodule_search_locations=[str(start.parent)])
    if not start.is_file() or spec is None or spec.loader is None:
        raise UsageError(Message("cli.no-examples"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[IN_CHECKOUT] = module
    spec.loader.exec_module(module)
    return module


def __getattr__(name: str) -> Any:
    """Return the application of the last demonstration, or the Celery application that runs its jobs."""
    if name == "app":
        return part("demo.place").last_app()
    if name == "celery_app":
        return part("demo.place").last_app().executors.find("celery").app
    message = f"module '{__name__}' has no attribute '{name}'"
    raise AttributeError(message)
