"""``jobtrail submit``, and what other commands need to answer with a job."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.commands.job_fields import stored_row
from jobtrail.messages import Message, tr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ActorOption = Annotated[str | None, typer.Option("--actor", help="help.actor")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="help.reason")]
WaitOption = Annotated[bool, typer.Option("--wait", "-w", help="help.wait")]


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "submit", "change", "help.submit")(submit)


def submit(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="help.task", show_default=False)],
    source: Annotated[str | None, typer.Option("--source", help="help.source")] = None,
    period: Annotated[str | None, typer.Option("--period", help="help.submit-period")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="help.submit-file")] = None,
    arg: Annotated[list[str] | None, typer.Option("--arg", "-a", metavar="K=V", help="help.submit-arg")] = None,
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="help.submit-args")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="help.submit-unit")] = None,
    label: Annotated[list[str] | None, typer.Option("--label", "-l", metavar="K=V", help="help.label")] = None,
    delay: Annotated[float | None, typer.Option("--delay", metavar="SECONDS", help="help.submit-delay")] = None,
    priority: Annotated[int | None, typer.Option("--priority", help="help.priority")] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="help.queue")] = None,
    if_active: Annotated[str, typer.Option("--if-active", help="help.submit-if-active")] = "same",
    if_done: Annotated[str, typer.Option("--if-done", help="help.submit-if-done")] = "run",
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="help.submit-idempotency-key")
    ] = None,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Submit a job."""
    labels = dict(_pair(one, "--label") for one in label or ())
    jobs = session.open(tasks=True, creates=True)
    options: dict[str, Any] = {
        "source": source, "period": period, "file": str(file) if file else None, "unit": unit, "labels": labels or None, "delay": delay,
        "priority": priority, "queue": queue, "if_active": if_active, "if_done": if_done,
        "idempotency_key": idempotency_key, "actor": actor_or_me(actor), "reason": reason,
    }  # fmt: skip
    bound = jobs.task_named(task).using(**{key: value for key, value in options.items() if value is not None})
    job = bound.enqueue(**arguments(arg or (), args, bound.task.signature.texts))
    return answer_with(session, jobs, job, tr("cli.submitted" if job.created else "cli.is-there-already"), wait=wait)


def answer_with(session: Session, jobs: Any, job: Any, words: str, *, wait: bool) -> int:
    """Print what was done with a job; with ``wait`` wait for its end. Returns the exit code."""
    from jobtrail.cli.rendering.views import named, status_text
    from jobtrail.queries.jobs.job_list import StoredJob, job_line

    if job.removed:
        return _answer_removed(session, job, wait=wait)
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


def _answer_removed(session: Session, job: Any, *, wait: bool) -> int:
    """Print what is known of a job whose details are removed. Returns the exit code."""
    from jobtrail.cli.input.waiting import GOOD

    if session.as_json:
        known = {"id": job.id, "task": job.task, "status": job.status, "outcome": job.outcome}
        session.json({"job": {**known, "finished_at": job.finished_at}, "created": False, "removed": True})
    else:
        session.say(tr("job.removed", job=job.id, status=job.status, at=job.finished_at))
    return 0 if not wait or job.status in GOOD else 1


def actor_or_me(given: str | None) -> str:
    """The given actor, else the user of this terminal."""
    if given:
        return given
    try:
        return f"person:{getpass.getuser()}"
    except (KeyError, OSError):
        return "person:unknown"


def arguments(pairs: Iterable[str], whole: str | None, texts: Mapping[str, bool]) -> dict[str, Any]:
    """The arguments that ``--arg`` and ``--args`` give.

    Raises:
        UsageError: if one is given twice or cannot be read.
    """
    from jobtrail.errors import UsageError

    found = {} if whole is None else arguments_of("--args", whole)
    for one in pairs:
        key, text = _pair(one, "--arg")
        if key in found:
            raise UsageError(Message("cli.argument-twice", name=key))
        found[key] = text if key in texts and not (texts[key] and text == "null") else _value(text)
    return found


def arguments_of(option: str, whole: str) -> dict[str, Any]:
    """Read all arguments from one JSON object.

    Raises:
        UsageError: if the text is not a JSON object.
    """
    from jobtrail.errors import UsageError

    try:
        arguments = json.loads(whole)
    except ValueError as error:
        raise UsageError(Message("cli.not-json", option=option, error=error)) from None
    if not isinstance(arguments, dict):
        raise UsageError(Message("cli.not-an-object", option=option))
    return arguments


def _pair(text: str, option: str) -> tuple[str, str]:
    from jobtrail.errors import UsageError

    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(Message("cli.not-a-pair", option=option, text=text))
    return key, value


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and Infinity are not JSON, so they are text
