"""Asks at the terminal: an answer is typed field by field, shown, and typed again if it is not valid."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, Protocol

import typer

from jobtrail.cli.rendering.text import clean, clean_lines, short
from jobtrail.job.masking import MASK, is_secret, masked
from jobtrail.messages import Message, render, tr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jobtrail.cli.session import Session
    from jobtrail.job.questions.question import Field
    from jobtrail.store.questions import QuestionRow

NONE = "-"  # typed for "no column"
_TYPED = frozenset({"value", "typed", "column", "answer"})  # parameters of messages that hold what was typed


class Form(Protocol):
    """The fields that are asked for one after the other."""

    def names(self) -> list[str]:
        """The fields, in their order."""

    def show(self, session: Session) -> None:
        """Print what a person needs to see before the first field."""

    def begin(self, names: Iterable[str]) -> None:
        """Forget the answers of these fields: they are asked for again."""

    def line(self, name: str) -> str:
        """The prompt."""

    def about(self, name: str) -> str:
        """A line about the field, or nothing."""

    def read(self, name: str, typed: str) -> None:
        """Take what was typed.

        Raises:
            AnswerRefused: if it is not valid.
        """

    def hides(self, name: str) -> bool:
        """Whether the typed text is hidden."""

    def answer(self) -> Any:
        """The whole answer."""

    def lines(self) -> list[str]:
        """The whole answer as lines, to be confirmed."""


def ask(session: Session, row: QuestionRow, marked: frozenset[str]) -> Any:
    """Return the answer that a person types; all prompts are written to standard error.

    Raises:
        typer.Abort: if the person leaves with Ctrl-C or the end of input.
    """
    from jobtrail.commands.answers import question_of
    from jobtrail.job.questions.question import check_answer

    form: Form = _Mapping(row, marked) if row.kind == "mapping" else _Fields(row, marked)
    session.hint("")
    session.hint(clean_lines(row.text))
    form.show(session)
    wanted = form.names()
    while True:
        form.begin(wanted)
        for name in wanted:
            _ask_for(session, form, name)
        problems = check_answer(question_of(row), form.answer())
        _tell(session, problems)
        if problems:
            wanted = [name for name in form.names() if any(_is_about(path, name) for path in problems)] or form.names()
            continue
        session.hint("")
        for line in form.lines():
            session.hint((line, "bold"))
        if _confirmed():
            return form.answer()
        wanted = form.names()


def _ask_for(session: Session, form: Form, name: str) -> None:
    from jobtrail.errors import AnswerRefused

    if about := form.about(name):
        session.hint((about, "dim"))
    while True:
        with _beside_the_answer():
            typed = typer.prompt(form.line(name), default="", show_default=False, hide_input=form.hides(name), err=True)
        try:
            form.read(name, typed)
        except AnswerRefused as refused:
            found = refused.problems
            _tell(session, {path: _hidden(one) for path, one in found.items()} if form.hides(name) else found)
        else:
            return


def _confirmed() -> bool:
    """Ask whether to send the answer; Enter is yes."""
    while True:
        with _beside_the_answer():
            typed = typer.prompt(tr("cli.confirm-answer"), default="", show_default=False, err=True).strip().casefold()
        if typed in {"", "y", "yes", "д", "да"}:
            return True
        if typed in {"n", "no", "н", "нет"}:
            return False


def _beside_the_answer() -> AbstractContextManager[Any]:
    """Typer writes the blank before the cursor to standard output, which a program may read."""
    return nullcontext() if sys.stdout.isatty() else redirect_stdout(sys.stderr)


def _tell(session: Session, problems: Mapping[str, Message | str]) -> None:
    for path, problem in problems.items():
        session.hint((clean(f"  {tr('cli.it') if path == '$' else path.removeprefix('$.')} {render(problem)}"), "red"))


def _hidden(problem: Message | str) -> Message | str:
    """The problem without the value that was typed."""
    if isinstance(problem, str):
        return MASK
    hidden: dict[str, Any] = {name: MASK for name in problem.params if name in _TYPED}
    if "has" in problem.params:
        hidden["has"] = Message("questions.is-value", value=MASK)
    if "problem" in problem.params:
        hidden["problem"] = _hidden(problem.params["problem"])
    return Message(problem.code, **{**problem.params, **hidden})


def _is_about(path: str, name: str) -> bool:
    from jobtrail.job.questions.validation import path_of

    whole = path_of([name])
    return path == whole or path.startswith((f"{whole}.", f"{whole}["))


class _Fields:
    """The fields of a schema."""

    def __init__(self, row: QuestionRow, marked: frozenset[str]) -> None:
        from jobtrail.job.questions.question import fields_of

        self._fields = {field.name: field for field in fields_of(json.loads(row.schema))}
        self._marked = marked
        self._whole = row.name
        self._values: dict[str, Any] = {}

    def names(self) -> list[str]:
        return list(self._fields)

    def show(self, session: Session) -> None:
        session.hint("")

    def begin(self, names: Iterable[str]) -> None:
        for name in names:
            self._values.pop(name, None)

    def about(self, name: str) -> str:
        return short(self._fields[name].description, 300)

    def line(self, name: str) -> str:
        field = self._fields[name]
        title = field.title if field.title.casefold() in ("", name.casefold()) else f"{field.title} [{name}]"
        told = [_choices(field) or field.words, self._when_empty(field)]
        return clean(f"{title if name else self._whole} ({'; '.join(one for one in told if one)})")

    def _when_empty(self, field: Field) -> str:
        from jobtrail.job.questions.question import UNSET

        if field.default not in (UNSET, None):
            shown = MASK if self.hides(field.name) else json.dumps(field.default, ensure_ascii=False)
            return tr("cli.empty-is", value=short(shown, 60))
        return "" if field.required else tr("cli.empty-is", value=Message("cli.none"))

    def read(self, name: str, typed: str) -> None:
        from jobtrail.job.questions.question import read_field

        self._values[name] = read_field(self._fields[name], typed)

    def hides(self, name: str) -> bool:
        return is_secret(name or self._whole, self._marked)

    def answer(self) -> Any:
        from jobtrail.job.questions.question import answer_of

        return answer_of(list(self._fields.values()), [self._values[name] for name in self._fields])

    def lines(self) -> list[str]:
        value = MASK if self.names() == [""] and self.hides("") else masked(self.answer(), self._marked)
        return [clean(json.dumps(value, ensure_ascii=False))]


def _choices(field: Field) -> str:
    if not field.choices:
        return ""
    told = [one if isinstance(one, str) else json.dumps(one) for one in field.choices]
    if all(isinstance(one, str) for one in field.choices):
        told = [f"{place} {one}" for place, one in enumerate(told, 1)]
    return short(", ".join(told), 400)


class _Mapping:
    """The targets of a mapping, each with the column that is proposed."""

    def __init__(self, row: QuestionRow, marked: frozenset[str]) -> None:
        from jobtrail.queries.questions import MappingForm, mapping_form

        form = mapping_form(row, marked) or MappingForm(columns=[], targets=[], proposal={})
        self._columns: dict[str, list[str]] = {column.name: column.samples for column in form.columns}
        self._targets: dict[str, Any] = {target.name: target.model_dump() for target in form.targets}
        self._proposal: dict[str, str | None] = dict(form.proposal)
        self._given: dict[str, str | None] = {}

    def names(self) -> list[str]:
        return list(self._targets)

    def show(self, session: Session) -> None:
        from rich.text import Text

        from jobtrail.cli.rendering.tables import plain_table

        session.hint("")
        table = plain_table("#", "column", "for_example", right=("#",), rest="for_example")
        for place, (name, samples) in enumerate(self._columns.items(), 1):
            table.add_row(Text(str(place)), Text(clean(name)), Text(short(", ".join(samples), 200), "dim"))
        table.show(session.errors)
        session.hint("")
        session.hint((tr("cli.how-to-map", none=NONE), "dim"))

    def begin(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._given:
                self._proposal[name] = self._given.pop(name)

    def about(self, name: str) -> str:
        return short(self._targets[name].get("description") or "", 300)

    def line(self, name: str) -> str:
        target, offered = self._targets[name], self._offered(name)
        mark = "*" if target["required"] else ""
        return clean(f"{name}{mark} ({target['type']}) [{NONE if offered is None else offered}]")

    def _offered(self, name: str) -> str | None:
        """The proposal, unless another field has been given that column."""
        column = self._proposal.get(name)
        return None if column in self._given.values() else column

    def read(self, name: str, typed: str) -> None:
        from jobtrail.errors import AnswerRefused
        from jobtrail.job.questions.mapping import check_mapping

        column = self._column(name, typed.strip())
        detail = {
            "columns": [{"name": one} for one in self._columns],
            "targets": [self._targets[one] for one in (*self._given, name)],
        }
        if problems := check_mapping(detail, {**self._given, name: column}):
            raise AnswerRefused(problems)
        self._given[name] = column

    def _column(self, name: str, typed: str) -> str | None:
        if not typed:
            return self._offered(name)
        if typed == NONE:
            return None
        if typed in self._columns:
            return typed
        near = [one for one in self._columns if one.strip().casefold() == typed.casefold()]
        if len(near) == 1:
            return near[0]
        if typed.isascii() and typed.isdigit() and 1 <= int(typed[:9]) <= len(self._columns):
            return list(self._columns)[int(typed[:9]) - 1]
        return typed

    def hides(self, name: str) -> bool:
        del name
        return False

    def answer(self) -> Any:
        return {name: self._given[name] for name in self._targets}

    def lines(self) -> list[str]:
        width = max(map(len, self._targets))
        told = [f"{name:<{width}}  {NONE if (one := self._given[name]) is None else one}" for name in self._targets]
        return [clean(line) for line in told]
