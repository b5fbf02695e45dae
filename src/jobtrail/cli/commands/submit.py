"""``jobtrail submit``: a job from the command line."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import STEERING, command
from jobtrail.cli.session import Session
from jobtrail.commands.job_fields import stored_row

if TYPE_CHECKING:
    from collections.abc import Iterable

ActorOption = Annotated[str | None, typer.Option("--actor", help="Who does it (default: person:<your login>).")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Why; it stands in the trail.")]
WaitOption = Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end; exit code 1 when the job fails.")]


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "submit", STEERING)(submit)


def submit(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's name.", show_default=False)],
    source: Annotated[str | None, typer.Option("--source", help="Where the data comes from.")] = None,
    period: Annotated[
        str | None, typer.Option("--period", help="2013, 2013-02, 2013-02-12, 2013-W07 or start/end.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="The input file.")] = None,
    arg: Annotated[
        list[str] | None, typer.Option("--arg", "-a", metavar="K=V", help="An argument; JSON, else text.")
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="All arguments as one JSON object.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option("--label", "-l", metavar="K=V", help="To search by.")] = None,
    delay: Annotated[float | None, typer.Option("--delay", metavar="SECONDS", help="Not before that.")] = None,
    priority: Annotated[int | None, typer.Option("--priority", help="0 (most urgent) to 9.")] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Another queue than the task's.")] = None,
    if_active: Annotated[str, typer.Option("--if-active", help="same, raise or queue.")] = "same",
    if_done: Annotated[str, typer.Option("--if-done", help="run, skip or raise.")] = "run",
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="Makes the submission repeatable.")
    ] = None,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Submit a job."""
    arguments = _arguments(arg or (), args)
    labels = dict(_pair(one, "--label") for one in label or ())
    jobs = session.open(tasks=True, creates=True)
    said = {
        "source": source, "period": period, "file": str(file) if file else None, "labels": labels or None, "delay": delay,
        "priority": priority, "queue": queue, "if_active": if_active, "if_done": if_done,
        "idempotency_key": idempotency_key, "actor": actor_or_me(actor), "reason": reason,
    }  # fmt: skip
    bound = jobs.task_named(task).using(**{key: value for key, value in said.items() if value is not None})
    job = bound.enqueue(**arguments)
    return answer_with(session, jobs, job, "submitted" if job.created else "is there already", wait=wait)


def answer_with(session: Session, jobs: Any, job: Any, words: str, *, wait: bool) -> int:
    """Tell what was done with a job, and wait for it where that was asked for."""
    from jobtrail.cli.rendering.views import named, status_text
    from jobtrail.queries.jobs.job_list import StoredJob, job_line

    if wait:
        if not session.as_json:
            session.hint((f"{named(stored_row(job.refresh()))} {words}", "dim"))
        from jobtrail.cli.input.waiting import wait_for

        return wait_for(session, jobs, job)
    line = job_line(stored_row(job.refresh()))
    if session.as_json:
        session.json(StoredJob(job=line, created=job.created))
    else:
        session.say(f"{named(line)} {words}: ", status_text(line.status))
        session.say((line.id, "dim"))
    return 0


def actor_or_me(given: str | None) -> str:
    """Who steers: as said, or the person at this terminal."""
    if given:
        return given
    try:
        return f"person:{getpass.getuser()}"
    except (KeyError, OSError):
        return "person:unknown"


def _arguments(pairs: Iterable[str], whole: str | None) -> dict[str, Any]:
    from jobtrail.errors import UsageError

    arguments = {} if whole is None else arguments_of("--args", whole)
    for one in pairs:
        key, text = _pair(one, "--arg")
        if key in arguments:
            message = f"the argument '{key}' was given twice"
            raise UsageError(message)
        arguments[key] = _value(text)
    return arguments


def arguments_of(option: str, whole: str) -> dict[str, Any]:
    """All arguments from one JSON object.

    Raises: UsageError.
    """
    from jobtrail.errors import UsageError

    try:
        arguments = json.loads(whole)
    except ValueError as error:
        message = f"{option} is no JSON: {error}"
        raise UsageError(message) from None
    if not isinstance(arguments, dict):
        message = f"""{option} must be one JSON object, as in '{{"airport": "EWR"}}'"""
        raise UsageError(message)
    return arguments


def _pair(text: str, option: str) -> tuple[str, str]:
    from jobtrail.errors import UsageError

    key, equals, value = text.partition("=")
    if not equals or not key:
        message = f"{option} wants name=value; it got '{text}'"
        raise UsageError(message)
    return key, value


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are no JSON, so they are text
