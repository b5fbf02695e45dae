"""Registers commands: the options that all of them take, panels and groups."""

from __future__ import annotations

import inspect
from collections import UserDict
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .help import Command, CommandGroup
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Commands(UserDict[str, Any]):
    """Commands by name. Each is built when it is asked for: a call needs one of them, and all take a tenth of a second."""

    def later(self, name: str, add: Callable[[typer.Typer], None]) -> None:
        """Register what adds a command to a program."""
        self.data[name] = add

    def __getitem__(self, name: str) -> Any:
        """Return the command of this name, built."""
        found = self.data[name]
        if not isinstance(found, Command | CommandGroup):
            one = typer.Typer(rich_markup_mode=None, add_completion=False)
            one.callback()(lambda: None)
            found(one)
            found = self.data[name] = typer.main.get_group(one).commands[name]
        return found


class Deferred(typer.Typer):
    """A program that does not build its commands before they are asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = Commands()


def _print_version(wanted: bool) -> None:
    if wanted:
        from jobtrail import __version__

        typer.echo(f"jobtrail {__version__}")
        raise typer.Exit


AppOption = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:OBJECT", help="help.app"),
]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="help.database"),
]
DebugOption = Annotated[bool, typer.Option("--debug", help="help.debug")]
JsonOption = Annotated[bool, typer.Option("--json", help="help.json")]
VersionOption = Annotated[bool, typer.Option("--version", help="help.version", callback=_print_version, is_eager=True)]

_SHARED = {"as_json": (JsonOption, False), "app": (AppOption, None), "database": (DatabaseOption, None),
           "debug": (DebugOption, False)}  # fmt: skip


def command_group(
    cli: typer.Typer, name: str, panel: str, about: str, commands: Mapping[str, tuple[Callable[..., int | None], str]]
) -> None:
    """Register several commands under one name. The first, which needs no arguments, is also called by the name alone.

    Args:
        cli: The program.
        name: The name of the group.
        panel: The section of the program's help.
        about: The code of the group's help.
        commands: The function and the code of the help for each command.

    """
    if isinstance(cli, Deferred):
        cli.commands.later(name, partial(command_group, name=name, panel=panel, about=about, commands=commands))
        return
    group = typer.Typer(
        name=name, cls=CommandGroup, invoke_without_command=True, rich_markup_mode=None, help=about,
        context_settings={"help_option_names": ["--help", "-h"]},
    )  # fmt: skip
    alone, _ = next(iter(commands.values()))

    def without_command(
        ctx: typer.Context,
        as_json: JsonOption = False,
        app: AppOption = None,
        database: DatabaseOption = None,
        debug: DebugOption = False,
    ) -> None:
        del debug
        session: Session = ctx.obj
        session.app, session.database = app or session.app, database or session.database
        if ctx.invoked_subcommand is None:
            session.as_json = as_json
            alone(session)

    group.callback(help=about)(without_command)
    for word, (function, told) in commands.items():
        command(group, word, panel, told)(function)
    cli.add_typer(group, rich_help_panel=panel)


def with_options(options: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a function that ends in ``**given`` these options, each None by default."""

    def extend(function: Callable[..., None]) -> Callable[..., None]:
        *own, _ = inspect.signature(function, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        more = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in options.items()]
        function.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
        return function

    return extend


def command(
    cli: typer.Typer, name: str, panel: str, about: str | None = None
) -> Callable[[Callable[..., int | None]], None]:
    """Register a function that takes a `Session` first; the options that all commands share are added to its own.

    Args:
        cli: The program or a group.
        name: The name of the command.
        panel: The section of the program's help.
        about: The code of its help; by default the docstring of the function is the help.

    """

    def register(function: Callable[..., int | None]) -> None:
        if isinstance(cli, Deferred):
            cli.commands.later(name, lambda one: command(one, name, panel, about)(function))
            return
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        names = {p.name for p in own}
        shared = {key: value for key, value in _SHARED.items() if key not in names}

        @wraps(function)
        def run(ctx: typer.Context, **given: Any) -> int | None:
            session: Session = ctx.obj
            given_shared = {key: given.pop(key) for key in shared}
            session.app = given_shared.get("app") or session.app
            session.database = given_shared.get("database") or session.database
            session.as_json = bool(given_shared.get("as_json"))
            return function(session, **given)

        keyword = inspect.Parameter.KEYWORD_ONLY
        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        extra = [inspect.Parameter(k, keyword, default=d, annotation=a) for k, (a, d) in shared.items()]
        parameters = [context, *(p.replace(kind=keyword) for p in own), *extra]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__
        cli.command(name, cls=Command, help=about, rich_help_panel=panel)(run)

    return register
