"""``jobtrail schedules``: list, show, add, edit, pause, resume, run now and remove."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command_group, with_options
from jobtrail.cli.input.schedule_options import OPTIONS, moment, options_of, zone_of_rule
from jobtrail.cli.session import Session
from jobtrail.messages import Message, tr

from .submit import ActorOption, ReasonOption, WaitOption, actor_or_me, answer_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail import JobTrail
    from jobtrail.queries.monitoring.workers import WorkerLine
    from jobtrail.queries.schedules import ScheduleList

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="help.schedule-name", show_default=False)]
CountOption = Annotated[int, typer.Option("--number", "-n", min=1, max=10_000, help="help.number")]


def add_to(cli: typer.Typer) -> None:
    """Register the group and its commands."""
    commands: dict[str, tuple[Callable[..., int | None], str]] = {
        "list": (list_all, "help.schedules-list"),
        "show": (show, "help.schedules-show"),
        "next": (next_times, "help.schedules-next"),
        "missed": (missed, "help.schedules-missed"),
        "add": (add, "help.schedules-add"),
        "edit": (edit, "help.schedules-edit"),
        "pause": (pause, "help.schedules-pause"),
        "resume": (resume, "help.schedules-resume"),
        "run-now": (run_now, "help.schedules-run-now"),
        "remove": (remove, "help.schedules-remove"),
    }
    command_group(cli, "schedules", "read", "help.schedules", commands)


# -- looking -----------------------------------------------------------------------------------------


def list_all(session: Session) -> None:
    """List all schedules with their next times."""
    from jobtrail.cli.rendering.schedule_views import schedule_table

    jobs = session.open()
    found = jobs.queries.schedules()
    if session.as_json:
        session.json(found)
        return
    if found.schedules:
        schedule_table(found).show(session.console)
    else:
        session.say(tr("cli.no-schedules"))
    if found.declared_only:
        session.hint((tr("cli.declared-only", names=found.declared_only), "dim"))
    if found.schedules:
        _print_leaders(session, jobs, found)


def _print_leaders(session: Session, jobs: JobTrail, found: ScheduleList) -> None:
    """Print which process submits the jobs now."""
    from jobtrail.cli.rendering.text import clean

    leaders = sorted(set(found.leaders.values()))
    if not leaders:
        session.hint((tr("cli.no-leader"), "yellow"))
        return
    known = {one.id: one for one in jobs.queries.workers(limit=500).workers}
    shown = [_leader(one, known.get(one)) for one in leaders]
    session.hint((clean(tr("cli.made-by", workers=shown)), "dim"))


def _leader(worker: str, known: WorkerLine | None) -> Message:
    from jobtrail.cli.rendering.text import tail

    if known is None:
        return Message("cli.worker", id=tail(worker))
    return Message("cli.worker-process", id=tail(worker), pid=str(known.pid), host=known.host)


def show(session: Session, name: NameArgument) -> None:
    """Show everything about one schedule."""
    from jobtrail.cli.rendering.schedule_views import show_one

    found = session.open().queries.schedule(name)
    if session.as_json:
        session.json(found)
    else:
        show_one(session, found)


def next_times(session: Session, name: NameArgument, number: CountOption = 20) -> None:
    """List the next planned times. With --json: the schedule with these times."""
    from jobtrail.cli.rendering.schedule_views import local, rule_words

    found = session.open().queries.schedule(name, times=number)
    if session.as_json:
        session.json(found)
        return
    session.say((rule_words(found), "dim"))
    for one in found.following:
        session.say(local(one.at, found.zone), ("  " + f"{one.at:%Y-%m-%dT%H:%M:%SZ}", "dim"))
    if len(found.following) < number:
        session.say((tr("cli.no-more-times"), "dim"))


def missed(
    session: Session,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="help.schedules-missed-name")] = None,
    number: CountOption = 50,
) -> None:
    """List planned times that did not run, and why."""
    from jobtrail.cli.rendering.schedule_views import missed_table

    found = session.open().queries.missed(name, limit=number)
    if session.as_json:
        session.json(found)
    elif found.slots:
        missed_table(found).show(session.console)
    else:
        session.say(tr("cli.nothing-missed"))


# -- steering ----------------------------------------------------------------------------------------


@with_options(OPTIONS)
def add(
    session: Session,
    name: NameArgument,
    task: Annotated[str, typer.Option("--task", "-t", help="help.schedules-add-task")],
    rule: Annotated[str, typer.Option("--rule", "-r", help="help.schedules-add-rule")],
    **given: Any,
) -> None:
    """Add a schedule."""
    jobs = session.open(tasks=True, creates=True)
    options = options_of(given, zone_of_rule(given["tz"]), jobs.tasks.find(task))
    jobs.schedules.add(name, task, rule, tz=given["tz"], **options)
    _tell(session, jobs, name, tr("cli.is-added"))


@with_options(OPTIONS)
def edit(
    session: Session,
    name: NameArgument,
    rule: Annotated[str | None, typer.Option("--rule", "-r", help="help.schedules-edit-rule")] = None,
    take_code: Annotated[bool, typer.Option("--take-code", help="help.schedules-edit-take-code")] = False,
    **given: Any,
) -> None:
    """Change a schedule. Changes of a declared schedule stay in force after deployments."""
    jobs = session.open()
    if take_code:
        jobs.schedules.take_code(name, actor=actor_or_me(given["actor"]), reason=given["reason"])
        _tell(session, jobs, name, tr("cli.is-as-declared"))
        return
    found, tz = jobs.schedules.get(name), given["tz"]
    zone = found.zone
    options = options_of(given, zone, jobs.tasks.find(found.task))
    if rule is not None:
        options |= {"rule": rule, "tz": tz or zone}
    elif tz is not None:
        options["tz"] = tz
    jobs.schedules.edit(name, **options)
    _tell(session, jobs, name, tr("cli.is-changed"))


def pause(
    session: Session,
    name: NameArgument,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="help.schedules-pause-until")] = None,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> None:
    """Stop a schedule. Its times are recorded as missed."""
    jobs = session.open()
    end: datetime | None = None if until is None else moment("--until", until, jobs.schedules.get(name).zone)
    jobs.schedules.pause(name, until=end, reason=reason, actor=actor_or_me(actor))
    _tell(session, jobs, name, tr("cli.is-paused"))


def resume(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Continue with the next planned time."""
    jobs = session.open()
    jobs.schedules.resume(name, actor=actor_or_me(actor), reason=reason)
    _tell(session, jobs, name, tr("cli.goes-on"))


def run_now(
    session: Session,
    name: NameArgument,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Submit the job of a schedule now."""
    jobs = session.open(tasks=True)
    job = jobs.schedules.run_now(name, actor=actor_or_me(actor), reason=reason)
    return answer_with(session, jobs, job, tr("cli.submitted"), wait=wait)


def remove(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Remove a schedule that was added at run time, or that no program declares any more."""
    jobs = session.open()
    jobs.schedules.remove(name, actor=actor_or_me(actor), reason=reason)
    if session.as_json:
        session.json({"name": name, "removed": True})
    else:
        session.say((name, "bold"), f" {tr('cli.is-removed')}")


def _tell(session: Session, jobs: JobTrail, name: str, words: str) -> None:
    from jobtrail.cli.rendering.schedule_views import next_time, rule_words

    found = jobs.queries.schedule(name)
    if session.as_json:
        session.json(found)
        return
    following = f"; {tr('cli.next-time', time=next_time(found))}" if found.next else ""
    session.say((found.name, "bold"), f" {words}: {rule_words(found)}{following}")
    if not jobs.schedules.leaders():
        session.hint((tr("cli.no-leader"), "yellow"))
