"""``jobtrail schedules``: what runs by the clock, what was missed, and how it is steered."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from jobtrail.cli.command import LOOKING, command_group
from jobtrail.cli.input.schedule_options import (
    ArgOption,
    CatchUpOption,
    DelayOption,
    DoneOption,
    EndsOption,
    FailuresOption,
    GraceOption,
    JitterOption,
    LabelOption,
    OverlapOption,
    PeriodOption,
    PriorityOption,
    QueueOption,
    RunsOption,
    SourceOption,
    TzOption,
    WindowOption,
    moment,
    words_of,
    zone_of_rule,
)
from jobtrail.cli.session import Session

from .submit import ActorOption, ReasonOption, WaitOption, actor_or_me, answer_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobtrail import JobTrail
    from jobtrail.queries.schedules import ScheduleList

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.", show_default=False)]
CountOption = Annotated[int, typer.Option("--number", "-n", min=1, max=10_000, help="How many.")]


def add_to(cli: typer.Typer) -> None:
    """Register the group and its commands."""
    commands: dict[str, Callable[..., int | None]] = {
        "list": list_all, "show": show, "next": next_times, "missed": missed, "add": add, "edit": edit, "pause": pause,
        "resume": resume, "run-now": run_now, "remove": remove,
    }  # fmt: skip
    command_group(cli, "schedules", LOOKING, "What runs by the clock: look at it, add, edit, pause, run now.", commands)


# -- looking -----------------------------------------------------------------------------------------


def list_all(session: Session) -> None:
    """All schedules, with their next times in their own zones."""
    from jobtrail.cli.rendering.schedule_views import schedule_table

    jobs = session.open()
    found = jobs.queries.schedules()
    if session.as_json:
        session.json(found)
        return
    if found.schedules:
        schedule_table(found).show(session.console)
    else:
        session.say("there are no schedules")
    if found.declared_only:
        names = ", ".join(found.declared_only)
        session.hint((f"declared and not stored before a worker starts: {names}", "dim"))
    if found.schedules:
        _print_leaders(session, jobs, found)


def _print_leaders(session: Session, jobs: JobTrail, found: ScheduleList) -> None:
    """Which process makes the jobs now."""
    from jobtrail.cli.rendering.text import clean, tail

    leaders = sorted(set(found.leaders.values()))
    if not leaders:
        session.hint(("no worker runs that would make their jobs", "yellow"))
        return
    known = {one.id: f" (process {one.pid} on {one.host})" for one in jobs.queries.workers(limit=500).workers}
    shown = ", ".join(f"worker …{tail(one)}{known.get(one, '')}" for one in leaders)
    session.hint((clean(f"their jobs are made by {shown}"), "dim"))


def show(session: Session, name: NameArgument) -> None:
    """Everything about one schedule."""
    from jobtrail.cli.rendering.schedule_views import show_one

    found = session.open().queries.schedule(name)
    if session.as_json:
        session.json(found)
    else:
        show_one(session, found)


def next_times(session: Session, name: NameArgument, number: CountOption = 20) -> None:
    """The next planned times; with --json the schedule with these times."""
    from jobtrail.cli.rendering.schedule_views import local, rule_words

    found = session.open().queries.schedule(name, times=number)
    if session.as_json:
        session.json(found)
        return
    session.say((rule_words(found), "dim"))
    for one in found.following:
        session.say(local(one.at, found.zone), ("  " + f"{one.at:%Y-%m-%dT%H:%M:%SZ}", "dim"))
    if len(found.following) < number:
        session.say(("no more follow", "dim"))


def missed(
    session: Session,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of one schedule only.")] = None,
    number: CountOption = 50,
) -> None:
    """Planned times that did not run, and why."""
    from jobtrail.cli.rendering.schedule_views import missed_table

    found = session.open().queries.missed(name, limit=number)
    if session.as_json:
        session.json(found)
    elif found.slots:
        missed_table(found).show(session.console)
    else:
        session.say("nothing was missed")


# -- steering ----------------------------------------------------------------------------------------


def add(
    session: Session,
    name: NameArgument,
    task: Annotated[str, typer.Option("--task", "-t", help="The task whose jobs it makes.")],
    rule: Annotated[str, typer.Option("--rule", "-r", help="Cron text, 'every 5 minutes', or 'at 2030-01-31T03:00Z'.")],
    tz: TzOption = None,
    arg: ArgOption = None,
    source: SourceOption = None,
    period: PeriodOption = None,
    label: LabelOption = None,
    queue: QueueOption = None,
    priority: PriorityOption = None,
    catch_up: CatchUpOption = None,
    window: WindowOption = None,
    grace: GraceOption = None,
    overlap: OverlapOption = None,
    jitter: JitterOption = None,
    delay: DelayOption = None,
    pause_after_failures: FailuresOption = None,
    ends_at: EndsOption = None,
    max_runs: RunsOption = None,
    if_done: DoneOption = None,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> None:
    """Add a schedule."""
    said = {
        "args": arg, "source": source, "period": period, "labels": label, "queue": queue, "priority": priority,
        "catch_up": catch_up, "window": window, "grace": grace, "overlap": overlap, "jitter": jitter, "delay": delay,
        "pause_after_failures": pause_after_failures, "ends_at": ends_at, "max_runs": max_runs, "if_done": if_done,
    }  # fmt: skip
    jobs = session.open(tasks=True, creates=True)
    words = words_of(said, zone_of_rule(tz))
    jobs.schedules.add(name, task, rule, tz=tz, actor=actor_or_me(actor), reason=reason, **words)
    _tell(session, jobs, name, "is added")


def edit(
    session: Session,
    name: NameArgument,
    rule: Annotated[str | None, typer.Option("--rule", "-r", help="Another rule; its zone with --tz.")] = None,
    tz: TzOption = None,
    arg: ArgOption = None,
    source: SourceOption = None,
    period: PeriodOption = None,
    label: LabelOption = None,
    queue: QueueOption = None,
    priority: PriorityOption = None,
    catch_up: CatchUpOption = None,
    window: WindowOption = None,
    grace: GraceOption = None,
    overlap: OverlapOption = None,
    jitter: JitterOption = None,
    delay: DelayOption = None,
    pause_after_failures: FailuresOption = None,
    ends_at: EndsOption = None,
    max_runs: RunsOption = None,
    if_done: DoneOption = None,
    take_code: Annotated[
        bool, typer.Option("--take-code", help="Let go of what was edited; what the program declares is in force.")
    ] = False,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> None:
    """Change a schedule; of one that the program declares the changes stay through deploys, and are shown."""
    said = {
        "args": arg, "source": source, "period": period, "labels": label, "queue": queue, "priority": priority,
        "catch_up": catch_up, "window": window, "grace": grace, "overlap": overlap, "jitter": jitter, "delay": delay,
        "pause_after_failures": pause_after_failures, "ends_at": ends_at, "max_runs": max_runs, "if_done": if_done,
    }  # fmt: skip
    jobs = session.open()
    who = actor_or_me(actor)
    if take_code:
        jobs.schedules.take_code(name, actor=who, reason=reason)
        _tell(session, jobs, name, "is as the program declares it")
        return
    words = words_of(said, jobs.schedules.get(name).zone)
    if rule is not None:
        words |= {"rule": rule, "tz": tz or jobs.schedules.get(name).zone}
    elif tz is not None:
        words["tz"] = tz
    jobs.schedules.edit(name, actor=who, reason=reason, **words)
    _tell(session, jobs, name, "is changed")


def pause(
    session: Session,
    name: NameArgument,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Go on by itself then (read in the schedule's zone).")
    ] = None,
    actor: ActorOption = None,
    reason: ReasonOption = None,
) -> None:
    """Run nothing until it is resumed; its times are noted as missed."""
    jobs = session.open()
    end: datetime | None = None if until is None else moment("--until", until, jobs.schedules.get(name).zone)
    jobs.schedules.pause(name, until=end, reason=reason, actor=actor_or_me(actor))
    _tell(session, jobs, name, "is paused")


def resume(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Go on with the next planned time."""
    jobs = session.open()
    jobs.schedules.resume(name, actor=actor_or_me(actor), reason=reason)
    _tell(session, jobs, name, "goes on")


def run_now(
    session: Session,
    name: NameArgument,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Submit its job now, beside its planned times."""
    jobs = session.open(tasks=True)
    job = jobs.schedules.run_now(name, actor=actor_or_me(actor), reason=reason)
    return answer_with(session, jobs, job, "submitted", wait=wait)


def remove(session: Session, name: NameArgument, actor: ActorOption = None, reason: ReasonOption = None) -> None:
    """Remove a schedule that was added at run time, or that no program has any more."""
    jobs = session.open()
    jobs.schedules.remove(name, actor=actor_or_me(actor), reason=reason)
    if session.as_json:
        session.json({"name": name, "removed": True})
    else:
        session.say((name, "bold"), " is removed")


def _tell(session: Session, jobs: JobTrail, name: str, words: str) -> None:
    from jobtrail.cli.rendering.schedule_views import next_time, rule_words

    found = jobs.queries.schedule(name)
    if session.as_json:
        session.json(found)
        return
    following = f"; next {next_time(found)}" if found.next else ""
    session.say((found.name, "bold"), f" {words}: {rule_words(found)}{following}")
    if not jobs.schedules.leaders():
        session.hint(("no worker runs that would make its jobs", "yellow"))
