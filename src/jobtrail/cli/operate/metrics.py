"""``jobtrail metrics``: the metrics for Prometheus, printed once or served."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import tr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobtrail.integrations.prometheus import Metrics

PORT = 9480


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "metrics", "read", "help.metrics")(tell)


def tell(
    session: Session,
    serve: Annotated[bool, typer.Option("--serve", help="help.metrics-serve")] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="help.metrics-port")] = PORT,
) -> None:
    """Print the metrics for Prometheus, or serve them."""
    jobs = session.open()
    jobs.service.make_readable()
    metrics = jobs.metrics()
    if serve:
        _serve(session, metrics, port)
        return
    metrics.count_ends()
    if session.as_json:
        session.json(metrics.samples())
    else:
        sys.stdout.write(metrics.text())


def _serve(session: Session, metrics: Metrics, port: int) -> None:
    server = metrics.serve(port)
    session.hint(tr("cli.metrics-until-stopped", url=f"http://127.0.0.1:{server.server_port}/metrics"))
    if session.as_json:
        session.json({"host": "127.0.0.1", "port": server.server_port})
        sys.stdout.flush()
    stopped = threading.Event()
    with _told(stopped):
        stopped.wait()
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def _told(stopped: threading.Event) -> Iterator[None]:
    """Within the block SIGTERM and SIGINT set the event."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, lambda *_: stopped.set())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
