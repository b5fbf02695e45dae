"""``jobtrail execute``: runs the one job that a ticket names, in this process; for executors that start a process for each job."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import tr, use_language

if TYPE_CHECKING:
    from jobtrail.worker.handed.host import TicketEnd

REFUSED = 3


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "execute", "run", "help.execute")(execute)


def execute(
    session: Session,
    job: Annotated[str, typer.Argument(metavar="ID", help="help.execute-job")],
    token: Annotated[int, typer.Option("--token", min=1, help="help.execute-token")],
) -> int:
    """Run one job. The exit code is 0 if it ran here, whatever its outcome, and 3 if the ticket began no run."""
    jobs = session.open(tasks=True, creates=True)
    jobs.make_ready()
    host = jobs.host("execute", slots=1, leads=False, interrupts=True, ends_process=True)
    before = signal.signal(signal.SIGTERM, lambda *_: host.stop())
    try:
        with use_language("en"):  # a worker stores and logs in English
            host.start()
            done = host.run(job, token)
            host.stop()
    finally:
        signal.signal(signal.SIGTERM, before)
    return _tell(session, job, done)


def _tell(session: Session, job: str, done: TicketEnd) -> int:
    if session.as_json:
        told: dict[str, Any] = {"job": job, "begun": done.begun, "refused": done.refused.value if done.refused else None}
        session.json(told)
    elif done.begun:
        session.say(tr("cli.executed", job=job))
    else:
        session.say(tr("cli.not-executed", job=job, why=str(done.refused)))
    return 0 if done.begun else REFUSED
