"""The command line in Russian: help, tables, sentences and errors have no English words left."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import sqlite3
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jobtrail.cli import help as help_module
from jobtrail.cli.program import program
from jobtrail.job.model import Status
from jobtrail.messages import codes, tr, use_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Answer

    Command = Callable[..., Answer]
    Make = Callable[..., str]

ROOT = Path(__file__).parents[2]
# Values that people type, names of formats and programs; option names and file names are taken out by their form.
WORDS = """
    API CSV Celery Ctrl-C DBA Enter ID JSON JobTrail Lines None Parquet Prometheus csv jsonl parquet pickle celery django results Person SHA SIGTERM SQL SQLite URL UTC VACUUM ANALYZE
    A B C K N V a b x W
    admin aliases all allow any beat cancel_running create cron day default doctor error every failed failed_items file flights
    forget full hour jobtrail latest list login minutes missing module month myproject newest none object oldest operator partial
    people person postgresql previous current queue raise resume retry revoke run same schedules show skip sqlite status success
    one slots sync task token traceback viewer week who worker year at answer items cancel submit log
    SHELL bash fish powershell zsh
    fail load add slow flaky read choose pick columns shop asking_shop rows bad message password str int float ctx seconds Any
""".split()
PATTERNS = (
    r"[0-9a-f]{8}-[0-9a-f-]{27}|…[0-9a-f]{8}|\b[0-9a-f]{8}\b|\b[0-9a-f]{16}\b|\b[0-9a-f]{64}\b",  # ids
    r"\w+://\S+|JOBTRAIL_\w+|--?[a-z][\w-]*",  # addresses, variables, options
    r"[\w./-]+\.(?:db|csv|toml|py)\b|\b\w+:\w[\w/*.]*|/\S+|\w+/\w+\S*",  # files, terms of a filter, zones
    r"'[^']*'|\"[^\"]*\"|\([^()]*: \w+[^()]*\)|\{[^{}]*\}|<[^<>]*логин>|\d+[a-zA-Z]\b|\d{4}-W\d\d",  # code, data, signatures
)


def english(text: str) -> list[str]:
    """The words in Latin letters that are not data."""
    for pattern in PATTERNS:
        text = re.sub(pattern, " ", text)
    found = re.findall(r"[A-Za-z][A-Za-z_-]*", text)
    return sorted({word for word in found if word.strip("-_") not in WORDS and not word.startswith("keep_")})


@pytest.fixture(autouse=True)
def _russian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBTRAIL_LANG", "ru")


def commands() -> Iterator[list[str]]:
    """The words of every command and group."""
    main: Any = program()
    yield []
    for name, one in main.commands.items():
        yield [name]
        yield from ([name, inner] for inner in getattr(one, "commands", {}))


def test_help_is_in_russian(bare: Command) -> None:
    found = {}
    for words in commands():
        answer = bare(*words, "--help")
        assert answer.code == 0
        assert answer.out.startswith(f"Вызов: {' '.join(['jobtrail', *words])}")
        told = re.sub(r"^  \S+(?=  )", "", answer.out.split("\n", 1)[1], flags=re.MULTILINE)  # the names of commands
        found[" ".join(words)] = [*english(told), *re.findall(r"\[default:", told)]
    assert len(found) > 35
    assert {words: left for words, left in found.items() if left} == {}


def test_every_option_has_help() -> None:
    main: Any = program()
    without = []
    for words in commands():
        one = main
        for word in words:
            one = one.commands[word]
        without += [words for told in (one.help, *(param.help for param in one.params)) if not (told or "").startswith("help.")]
    assert without == []


OUTPUTS = [
    ("list", "status:running"), ("tasks",), ("coverage", "load"), ("queues", "pause", "default"), ("queues",),
    ("queues", "resume", "default"), ("schedules",), ("schedules", "missed"), ("questions",), ("questions", "--remembered"),
    ("plugins",), ("doctor",), ("token",), ("token", "create", "--role", "viewer", "--name", "anna"), ("token",), ("migrate",),
    ("prune", "--dry-run", "--days", "0"), ("worker", "--burst"), ("forget", "load"),
    ("backfill", "load", "--from", "2013-01", "--to", "2013-03", "--dry-run"),
    ("submit", "add", "-a", "a=1", "--delay", "300"), ("list",), ("doctor",), ("workers",), ("errors",), ("watch", "status:failed", "--until-done"),
]  # fmt: skip
DATA = r"(?m)^подало .*$|RuntimeError|tenant|acme|anna|person|root|row|has no price|\[/?bold\]|^[\w-]{30,}$"


def test_output_is_in_russian(jt: Command, submitted: Make, tmp_path: Path) -> None:
    """Jobs in several states, shown by every command; what is stored does not depend on the language."""
    (tmp_path / "input.csv").write_text("1,2")
    words = ("load", "--source", "shop/A", "--period", "2013-02", "-a", "bad=2", "--label", "tenant=acme")
    jobs = [submitted(*words), submitted("fail", "-a", "message=1"), submitted("read", "--file", "input.csv")]
    tasks = [told for told in ast.walk(ast.parse((Path(__file__).parent / "shop.py").read_text())) if isinstance(told, ast.FunctionDef)]
    found = {}

    def look(*words: str) -> None:
        answer = jt(*words)
        shown = answer.out + answer.err
        assert re.search("[а-я]", shown), shown
        for task in tasks:
            shown = shown.replace(ast.get_docstring(task) or "", "")
        if left := english(re.sub(DATA, "", shown)):
            found[" ".join(words)] = left, shown

    look("worker", "--burst")
    for words in OUTPUTS:
        look(*words)
    for job in jobs:
        look("show", job, "--no-traceback", "--log-lines", "0")
        look("items", job)
        look("cancel", job)
    look("retry", jobs[1])
    assert found == {}
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as conn:
        stored = "\n".join(conn.iterdump())
    assert "items-failed" in stored
    assert re.findall("[^'\n]*[а-яё][^'\n]*", stored) == []


def test_a_worker_runs_in_english(jt: Command, submitted: Make, url: str, tmp_path: Path) -> None:
    """What it stores and logs does not depend on the terminal that it was started at."""
    (tmp_path / "language_app.py").write_text(
        f"""from jobtrail import AsyncContext, JobTrail
from jobtrail.messages import current_language
jobs = JobTrail({url!r}, plugins=[])

@jobs.task
async def language(ctx: AsyncContext) -> str:
    return current_language()
"""
    )
    job = jt("submit", "language", "--app", "language_app:jobs", "--json").json["job"]["id"]
    assert "завершено: 1" in jt("worker", "--burst", "--app", "language_app:jobs").out
    assert jt("show", job, "--json").json["result"] == "en"


def test_questions_are_shown_in_russian(jt: Command, ran: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBTRAIL_APP", "asking_shop:make")
    job = ran("pick")
    answers = [jt("list"), jt("questions"), jt("questions", "--job", job), jt("show", job, "--log-lines", "0")]
    answers += [jt("answer", job, "--with", "green"), jt("answer", job, "--with", "red"), jt("questions", "--job", job)]
    shown = "".join(answer.out + answer.err for answer in answers)
    shown = re.sub(r"(?m)^подало .*$|Which colour\?|colour|red|blue|green|root|\$", "", shown)
    assert english(shown) == [], shown


def test_schedules_are_shown_in_russian(jt: Command) -> None:
    add = ("schedules", "add", "nightly", "--task", "add", "--rule", "0 3 * * *", "--tz", "Europe/Berlin", "--arg", "a=1")
    answers = [jt(*add), jt("schedules", "pause", "nightly", "--until", "2999-01-01", "--reason", "1"), jt("schedules"),
               jt("schedules", "show", "nightly"), jt("schedules", "next", "nightly", "-n", "2"),
               jt("schedules", "edit", "nightly", "--grace", "15m"), jt("schedules", "remove", "nightly")]  # fmt: skip
    shown = "".join(answer.out + answer.err for answer in answers)
    assert english(re.sub(r"nightly|root|\d\dT[\d:]*Z", "", shown)) == [], shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("lst",), "команды «lst» нет; может быть, list? (см. 'jobtrail --help')"),
        (("list", "--nope"), "параметра --nope нет; может быть, --order? (см. 'jobtrail list --help')"),
        (("list", "--limit", "0"), "--limit / -n должно быть числом (1<=x<=1000) (см. 'jobtrail list --help')"),
        (("list", "--limit"), "параметру --limit нужно значение"),
        (("list", "--json=1"), "у параметра --json нет значения"),
        (("submit",), "не хватает TASK (см. 'jobtrail submit --help')"),
        (("tasks", "x"), "«x» здесь лишнее (см. 'jobtrail tasks --help')"),
        (("tasks",), "этой команде нужны задачи: задайте --app module:object или JOBTRAIL_APP"),
    ],
)
def test_wrong_usage_is_told_in_russian(bare: Command, words: tuple[str, ...], sentence: str) -> None:
    answer = bare(*words)
    assert (answer.code, answer.err) == (2, f"jobtrail: {sentence}\n")


def test_every_sentence_of_the_grammar_is_known() -> None:
    """Typer's own sentences are recognized by their form: they are still written so."""
    from typer import core
    from typer._click import core as click_core
    from typer._click import exceptions, parser

    written = "".join(inspect.getsource(one) for one in (core, click_core, exceptions, parser))
    for pattern, _ in help_module._ERRORS:
        first = re.split(r"\(|\\", pattern.replace("(?:argument|option|parameter)", "{param_type}"))[0].split(" '")[0].strip()
        assert first in written, pattern


# -- names -------------------------------------------------------------------------------------------


@cache
def console() -> dict[str, str]:
    """The console's words, Russian."""
    text = (ROOT / "web/src/i18n/ru.ts").read_text("utf-8")
    return dict(re.findall(r'^  "?([\w.]+)"?: "(.*)",$', text, re.MULTILINE))


def name(family: str, value: str, language: str = "ru") -> str:
    with use_language(language):
        return tr(f"names.{family}", name=value)


def test_events_and_states_have_the_words_of_the_console() -> None:
    words = {key.partition(".")[2]: word for key, word in console().items() if key.startswith("event.")}
    assert len(words) > 30
    assert {value: name("event", value) for value in words} == words
    states = {value: console()[f"status.{value}"].lower() for value in Status}
    assert {value: name("state", value) for value in Status} == states
    schedules = {key.rpartition(".")[2]: word.lower() for key, word in console().items() if key.startswith("schedule.state.")}
    assert {value: name("schedule", value) for value in schedules} == schedules
    actors = {key.partition(".")[2]: word for key, word in console().items() if key in {"actor.worker", "actor.upkeep"}}
    assert {value: name("actor", value) for value in actors} == actors
    missed = {key.rpartition(".")[2]: word for key, word in console().items() if key.startswith("missed.reason.")}
    assert {value: name("missed", value) for value in missed} == missed


def test_every_column_has_a_heading() -> None:
    known = set(re.findall(r"\[(\w+)\]", codes("ru")["names.field"]))
    found = set()
    for path in (ROOT / "src/jobtrail/cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "plain_table":
                found |= {one.value for one in node.args if isinstance(one, ast.Constant)}
    assert len(found) > 50
    assert found - known - {"#"} == set()
