"""Help and usage errors in the reader's language. Commands and options name a text of ``messages/*/help.ftl``."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

from jobtrail.messages import Message, render, tr

PANELS = ("read", "change", "run", "maintain")
_CODE = re.compile(r"help\.[a-z0-9-]+")
_PLACEHOLDER = re.compile(r"<[a-z][a-z\[\] ]*>|\b[A-Z]{2,}\b")
# What Typer says of wrong usage, and the text that says the same.
_ERRORS = (
    (r"No such command '(?P<name>.*)'\. Did you mean (?P<near>.*)\?", "cli.no-such-command-but"),
    (r"No such command '(?P<name>.*)'\.", "cli.no-such-command"),
    (r"No such option: (?P<name>\S+) \(Possible options: (?P<near>.*)\)", "cli.no-such-option-but"),
    (r"No such option: (?P<name>\S+)", "cli.no-such-option"),
    (r"Missing (?:argument|option|parameter) (?P<name>.*?)\.", "cli.missing"),
    (r"Got unexpected extra argument\(s\) \((?P<given>.*)\)", "cli.too-many-arguments"),
    (r"Option '(?P<name>.*)' requires an argument\.", "cli.option-needs-value"),
    (r"Option '(?P<name>.*)' does not take a value\.", "cli.option-without-value"),
    (r"Invalid value for (?P<name>.*?): (?P<problem>.*)", "cli.bad-value"),
)


class _Help:
    """Writes the help of a command. A mixin for Typer's commands and groups; plug-ins give their help as text."""

    params: list[Any]
    help: str | None

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        pieces = " ".join(self.collect_usage_pieces(ctx))  # type: ignore[attr-defined]
        formatter.write_usage(ctx.command_path, _translated(pieces), prefix=f"{tr('cli.usage')}: ")

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        del ctx
        if text := _text(self.help):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(text)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for kind in ("argument", "option"):
            params = [one for one in self.get_params(ctx) if one.param_type_name == kind]  # type: ignore[attr-defined]
            rows = [row for one in params if (row := _row(one, ctx))]
            if rows:
                with formatter.section(tr("cli.arguments" if kind == "argument" else "cli.options")):
                    formatter.write_dl(rows)
        if isinstance(self, TyperGroup):
            self.format_commands(ctx, formatter)

    def get_short_help_str(self, limit: int = 45) -> str:
        del limit  # a line may be wrapped
        return re.split(r"(?<=\.)\s", _text(self.help), maxsplit=1)[0]


class Command(_Help, TyperCommand):
    """A command with its help from the catalogue."""


class CommandGroup(_Help, TyperGroup):
    """Several commands under one name, with their help from the catalogue."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command."""
        write_commands(formatter, tr("cli.commands"), [self.commands[name] for name in self.list_commands(ctx)])


def write_commands(formatter: Any, title: str, commands: list[Any], width: int = 0) -> None:
    """Write a section with the names of commands and the first sentence of their help."""
    with formatter.section(title):
        formatter.write_dl([((one.name or "").ljust(width), one.get_short_help_str()) for one in commands])


def sentence_of(error: Any) -> str:
    """The sentence for an error of the command line's grammar, such as an unknown option."""
    told = error.format_message()
    found = ((code, match) for pattern, code in _ERRORS if (match := re.fullmatch(pattern, told, re.DOTALL)))
    code, match = next(found, (None, None))
    problem = told.rstrip(".")
    if match is not None and code is not None:
        given = {name: value.replace("'", "") if name != "problem" else value for name, value in match.groupdict().items()}
        if code == "cli.bad-value" and (numbers := _number_wanted(error)) is not None:
            code, given = "cli.not-a-number", {"name": given["name"], "range": numbers}
        problem = render(Message(code, **given))
    ctx = getattr(error, "ctx", None)
    return problem if ctx is None else tr("cli.see-help", problem=problem, command=ctx.command_path)


def _number_wanted(error: Any) -> str | None:
    """The range of the number that a parameter takes; None if it takes something else."""
    cause = error.__cause__
    kind = str(cause.errors()[0]["type"]) if hasattr(cause, "errors") else ""
    if not kind.startswith(("int_", "float_", "greater_", "less_", "finite_")):
        return None
    found = error.param._get_number_range_help_str() if hasattr(error.param, "_get_number_range_help_str") else None
    return f" ({found})" if found else ""


def _row(param: Any, ctx: Any) -> tuple[str, str] | None:
    """Name and help of an argument or option; Typer adds the default, the range and "required"."""
    record = param.get_help_record(ctx)
    if record is None:
        return None
    name, told = record
    own = param.help or ""
    extra = told.removeprefix(own).replace("[default: ", f"[{tr('cli.default')}: ")
    if param.required:
        extra = extra.replace("required]", f"{tr('cli.required')}]")
    return _translated(name), f"{tr('cli.help-option') if param.name == 'help' else _text(own)}{extra}"


def _text(told: str | None) -> str:
    """The text that a code names; other words as they are."""
    return tr(told) if told and _CODE.fullmatch(told) else told or ""


def _translated(words: str) -> str:
    """Words with the names of values (TASK, <int>) in the reader's language."""
    return _PLACEHOLDER.sub(lambda found: tr("cli.placeholder", name=re.sub(r"[^A-Za-z]+", "_", found[0]).strip("_"),
                                             word=found[0]), words)  # fmt: skip
