"""``jobtrail questions``, ``answer`` and ``forget``."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.commands.job_fields import stored_row
from jobtrail.messages import Message, tr

from .listing import JobId
from .submit import ActorOption, ReasonOption, WaitOption, actor_or_me, answer_with

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail import JobTrail
    from jobtrail.job.questions.question import Field, Question
    from jobtrail.queries.questions import QuestionDetail, QuestionList
    from jobtrail.store.questions import QuestionRow

EXAMPLES = {"string": "…", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}


def add_to(cli: typer.Typer) -> None:
    """Register the commands of this file."""
    command(cli, "questions", "read", "help.questions")(list_questions)
    command(cli, "answer", "change", "help.answer")(answer)
    command(cli, "forget", "change", "help.forget")(forget)


# -- questions ---------------------------------------------------------------------------------------


def list_questions(
    session: Session,
    job: Annotated[str | None, typer.Option("--job", metavar="ID", help="help.questions-job")] = None,
    remembered: Annotated[bool, typer.Option("--remembered", help="help.questions-remembered")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="help.limit")] = 200,
) -> None:
    """List questions that wait for an answer, the nearest deadline first."""
    from jobtrail.errors import UsageError

    if remembered and job is not None:
        raise UsageError(Message("cli.remembered-or-job"))
    jobs = session.open()
    if remembered:
        _list_remembered(session, jobs, limit)
    elif job is None:
        _list_open(session, jobs, limit)
    else:
        _list_of_job(session, jobs, job)


def _list_open(session: Session, jobs: JobTrail, limit: int) -> None:
    from jobtrail.cli.rendering.text import number

    found = jobs.queries.questions(limit=limit)
    if session.as_json:
        session.json(found)
    elif not found.questions:
        session.say((tr("cli.no-questions"), "dim"))
    else:
        _print_open(session, found)
        shown = tr("cli.showing", shown=len(found.questions), total=number(found.count))
        session.say((f"{shown} · {tr('cli.answer-with')}", "dim"))


def _print_open(session: Session, found: QuestionList) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import deadline, short, tail

    table = plain_table("job", "deadline", "task", "source", "period_file", "name", "question", rest="question")
    for one in found.questions:
        until = deadline(one.expires_at, found.now)
        if one.has_default and until:
            until = tr("cli.then-default", deadline=until)
        urgent = one.expires_at is not None and (one.expires_at - found.now).total_seconds() < 3600
        cells = (one.task, one.source, one.period or one.file, one.name)
        table.add_row(
            Text(tail(one.job)), Text(until, "yellow" if urgent else ""), *(Text(short(cell, 40)) for cell in cells),
            Text(short(one.text, 300)),
        )  # fmt: skip
    table.show(session.console)


def _list_remembered(session: Session, jobs: JobTrail, limit: int) -> None:
    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import moment, short

    found = jobs.queries.remembered_answers(limit=limit)
    if session.as_json:
        session.json(found)
        return
    if not found.remembered:
        session.say((tr("cli.nothing-remembered"), "dim"))
        return
    table, now = plain_table("task", "source", "name", "answer", "by", "at", rest="answer"), jobs.store.now()
    for one in found.remembered:
        answer = json.dumps(one.answer, ensure_ascii=False)
        table.add_row(
            *(short(cell, 300) for cell in (one.task, one.source, one.name, answer, one.actor, moment(one.at, now)))
        )
    table.show(session.console)
    session.say((tr("cli.forget-with"), "dim"))


def _list_of_job(session: Session, jobs: JobTrail, given: str) -> None:
    from jobtrail.cli.rendering.views import named

    job = jobs.get(given)
    found = jobs.queries.questions_of_job(job.id)
    if session.as_json:
        session.json(found)
        return
    session.say((named(stored_row(job)), "bold"), "" if found.questions else f"  {tr('cli.has-asked-nothing')}")
    for one in found.questions:
        print_question(session, one, jobs.store.now())


def print_question(session: Session, question: QuestionDetail, now: datetime) -> None:
    """Print a question: what is asked and how to answer it, or what was answered."""
    from jobtrail.cli.rendering.text import clean_lines

    session.say("")
    state = tr("names.state", name=question.state)
    session.say((question.name.strip(), "bold"), "  ", (state, "magenta" if question.state == "open" else "dim"))
    for line in clean_lines(question.text).split("\n"):
        session.say(f"  {line}")
    if question.state == "open":
        _print_how_to_answer(session, question, now)
    else:
        _print_closed(session, question, now)


def _print_closed(session: Session, question: QuestionDetail, now: datetime) -> None:
    from jobtrail.cli.rendering.text import clean, moment, short

    if question.answer is not None:
        session.say(_label("answer"), short(json.dumps(question.answer, ensure_ascii=False), 1000))
    who = clean(tr("cli.who-at", who=question.actor or "", at=moment(question.closed_at, now)))
    session.say(_label("by"), who, (f"  {short(question.reason, 200)}" if question.reason else "", "dim"))


def _label(field: str) -> tuple[str, str]:
    return f"  {tr('names.field', name=field):<6}  ", "dim"


def _print_how_to_answer(session: Session, question: QuestionDetail, now: datetime) -> None:
    from jobtrail.cli.rendering.text import tail

    session.say(_label("until"), deadline_words(question, now))
    call = f"jobtrail answer {tail(question.job)}"
    session.say(_label("answer"), call)
    session.say(_label("or"), f"{call} --with {shlex.quote(example(question))}")


def deadline_words(question: QuestionDetail, now: datetime) -> str:
    """Return until when the question can be answered, and what happens then."""
    from jobtrail.cli.rendering.text import deadline, short

    if question.expires_at is None:
        return tr("cli.no-deadline")
    end = f"{question.expires_at:%Y-%m-%d %H:%M} UTC ({deadline(question.expires_at, now)})"
    if not question.has_default:
        return tr("cli.deadline-then-fails", end=end)
    return tr(
        "cli.deadline-then-default", end=end, default=short(json.dumps(question.default, ensure_ascii=False), 200)
    )


# -- an example of an answer -------------------------------------------------------------------------


def example(question: QuestionDetail) -> str:
    """Return a valid answer as JSON text: the proposal of a mapping, else defaults, first choices and placeholders."""
    from jobtrail.job.questions.question import UNSET, answer_of, fields_of

    if question.mapping is not None:
        proposal = question.mapping.proposal
        found = {
            one.name: proposal.get(one.name) or ("…" if one.required else None) for one in question.mapping.targets
        }
        return json.dumps({name: column for name, column in found.items() if column}, ensure_ascii=False)
    fields = fields_of(question.form)
    values = [_stand_in(field) if field.required or len(fields) == 1 else UNSET for field in fields]
    return json.dumps(answer_of(fields, values), ensure_ascii=False)


def _stand_in(field: Field) -> Any:
    from jobtrail.job.questions.question import UNSET
    from jobtrail.job.questions.schema import resolved

    if field.default not in (UNSET, None):
        return field.default
    if field.choices:
        return field.choices[0]
    kind = resolved(field.schema, field.root).get("type", "string")
    return EXAMPLES.get(kind if isinstance(kind, str) else str(kind[0]), "…")


# -- answer ------------------------------------------------------------------------------------------


def answer(
    session: Session,
    job_id: JobId,
    given: Annotated[str | None, typer.Option("--with", metavar="JSON", help="help.answer-with")] = None,
    question: Annotated[str | None, typer.Option("--question", metavar="NAME", help="help.answer-question")] = None,
    remember: Annotated[
        bool | None,
        typer.Option("--remember/--no-remember", help="help.answer-remember"),
    ] = None,
    actor: ActorOption = None,
    reason: ReasonOption = None,
    wait: WaitOption = False,
) -> int:
    """Answer the question of a job. ID may also be that of the question."""
    from jobtrail.commands import answers

    jobs = session.open()
    row = _asked(jobs, job_id, question)
    value = _interactively(session, jobs, row) if given is None else _value(given, answers.question_of(row))
    who = actor_or_me(actor)
    answers.answer(jobs.store, row.id, value, actor=who, reason=reason, remember=remember)
    return answer_with(session, jobs, jobs.get(row.job_id), tr("cli.has-its-answer", name=row.name), wait=wait)


def _asked(jobs: JobTrail, given: str, name: str | None) -> QuestionRow:
    """Return the question of a job, or the one with this id."""
    from jobtrail.commands import answers
    from jobtrail.errors import NotFound
    from jobtrail.store import questions

    try:
        job = jobs.get(given)
    except NotFound as error:
        with jobs.store.read() as conn:
            found = [given] if len(given) == 36 else questions.ending_with(conn, given)
            row = questions.get(conn, found[0]) if len(found) == 1 else None
        if row is None or name not in (None, row.name):
            message = Message("cli.no-job-or-question", problem=error)
            if name:
                message = Message("cli.no-job-or-question-called", problem=error, name=name)
            raise NotFound(message) from None
        return row
    return answers.asked_by(jobs.store, job.id, name)


def _value(given: str, question: Question) -> Any:
    """Read ``--with``: JSON, or a single value as it would be typed; ``-`` reads standard input."""
    from jobtrail.errors import UsageError
    from jobtrail.job.questions.question import fields_of, read_field

    text = sys.stdin.read() if given == "-" else given
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        fields = fields_of(json.loads(question.schema))
        if question.kind == "input" and [field.name for field in fields] == [""]:
            return read_field(fields[0], text)
        raise UsageError(Message("cli.not-json", option="--with", error=error)) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(tr("cli.constant-not-json", name=name))


def _interactively(session: Session, jobs: JobTrail, row: QuestionRow) -> Any:
    from jobtrail.cli.input.answer_form import ask
    from jobtrail.cli.rendering.views import named
    from jobtrail.commands import answers
    from jobtrail.errors import UsageError

    refused = answers.refusal(row, jobs.store.now())
    if refused is not None:
        raise refused
    question = jobs.queries.question(row.id)
    if not sys.stdin.isatty():
        raise UsageError(Message("cli.no-terminal", example=shlex.quote(example(question))))
    job = stored_row(jobs.get(row.job_id))
    session.hint((named(job), "bold"), f" {tr('cli.asks')} ", (row.name.strip(), "bold"))
    session.hint((deadline_words(question, jobs.store.now()), "dim"))
    return ask(session, row, jobs.queries.context.marked(job.task))


# -- forget ------------------------------------------------------------------------------------------


def forget(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="TASK", help="help.task", show_default=False)],
    source: Annotated[str | None, typer.Option("--source", help="help.source")] = None,
    question: Annotated[str | None, typer.Option("--question", metavar="NAME", help="help.forget-question")] = None,
) -> int:
    """Delete remembered answers of a task and source, so that they are asked again."""
    from jobtrail.cli.rendering.text import clean

    count = session.open().forget_answers(task, source, question)
    if session.as_json:
        session.json({"task": task, "source": source, "question": question, "forgotten": count})
    else:
        session.say(clean(tr("cli.forgotten", count=count, where=" ".join(part for part in (task, source) if part))))
    return 0
