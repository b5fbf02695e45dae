"""The program: all commands under one name."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from jobtrail.messages import tr

from .command import AppOption, DatabaseOption, DebugOption, Deferred, VersionOption
from .help import PANELS, CommandGroup, write_commands
from .session import Session


class Program(CommandGroup):
    """The program: its help lists the commands by their purpose."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel, and one with the names of plug-ins, which are not loaded for that."""
        from .operate.plugins import installed_names

        shown = [one for name in self.list_commands(ctx) if (one := self.get_command(ctx, name)) is not None]
        width = max(len(one.name or "") for one in shown)
        for panel in PANELS:
            rows = [one for one in shown if getattr(one, "rich_help_panel", None) == panel]
            write_commands(formatter, tr("cli.panel", name=panel), rows, width)
        names = installed_names(one.name or "" for one in shown)
        if names:
            with formatter.section(tr("cli.panel", name="plug_ins")):
                formatter.write_dl([(name.ljust(width), tr("cli.its-commands")) for name in names])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command of jobtrail, else the commands of the plug-in of this name."""
        from .operate.plugins import group_of

        own = super().get_command(ctx, cmd_name)
        return own if own is not None else group_of(cmd_name, ctx.params.get("app"))


def program() -> TyperGroup:
    """All commands."""
    from .commands import (
        actions,
        backfill,
        coverage,
        error,
        limits,
        listing,
        questions,
        queues,
        schedules,
        show,
        submit,
        watching,
    )
    from .operate import completion, demo, execute, history, maintenance, metrics, plugins, serve, worker

    cli = Deferred(
        name="jobtrail",
        cls=Program,
        rich_markup_mode=None,  # boxes would double the time that help takes
        help="help.jobtrail",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    cli.callback()(_root)
    reading = (listing, watching, error, plugins, show, questions, coverage, schedules, queues, limits, metrics)
    for part in (*reading, submit, actions, backfill, worker, serve, execute, maintenance, history, completion, demo):
        part.add_to(cli)
    built = typer.main.get_group(cli)
    built.commands = cli.commands
    return built


def _root(
    ctx: typer.Context,
    app: AppOption = None,
    database: DatabaseOption = None,
    debug: DebugOption = False,
    version: VersionOption = False,
) -> None:
    del debug, version  # read where errors are explained, and by its callback
    ctx.obj = Session(app, database, command_names=frozenset(getattr(ctx.command, "commands", ())))
    ctx.call_on_close(ctx.obj.close)
