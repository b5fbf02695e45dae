"""``jobtrail plugins``, and ``jobtrail PLUGIN COMMAND``: the plug-ins and their commands."""

from __future__ import annotations

import asyncio
import inspect
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import Message, tr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobtrail import JobTrail, Plugin
    from jobtrail.plugins.parts import PluginCommand
    from jobtrail.plugins.registry import BrokenPlugin, MountedPlugin, Plugins


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "plugins", "read", "help.plugins")(list_plugins)


def list_plugins(
    session: Session,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="help.plugins-name")] = None,
) -> None:
    """List the plug-ins, their parts, and those that were left out."""
    jobs = session.open(creates=True)
    if name is not None:
        _print_one(session, _named(jobs, name))
        return
    mounted, broken = list(jobs.plugins.values()), jobs.plugins.broken
    if session.as_json:
        session.json({"plugins": [_as_json(one) for one in mounted], "broken": [_broken_json(one) for one in broken]})
        return
    if not mounted and not broken:
        session.say((tr("cli.no-plugins"), "dim"))
    if mounted:
        _print(session, mounted)
    for one in broken:
        session.say((f"{tr('cli.left-out')}  ", "bold red"), told_broken(one))


def _named(jobs: JobTrail, name: str) -> MountedPlugin:
    from jobtrail.errors import NotFound

    if name in jobs.plugins:
        return jobs.plugins[name]
    left_out = [told_broken(one) for one in jobs.plugins.broken if one.name == name]
    message = Message("cli.plugin-left-out", why=left_out[0]) if left_out else Message("cli.no-plugin", name=name)
    raise NotFound(message)


def _print_one(session: Session, one: MountedPlugin) -> None:
    from jobtrail.cli.rendering.text import clean

    if session.as_json:
        session.json(_as_json(one))
        return
    session.say((one.name, "bold"), f" {one.version or ''} {clean(one.plugin.about or '')}".rstrip())
    for part, names in _parts(one).items():
        for name in names:
            session.say((f"  {tr('names.field', name=part):<12}", "dim"), clean(name))


def _print(session: Session, mounted: list[MountedPlugin]) -> None:
    from rich.text import Text

    from jobtrail.cli.rendering.tables import plain_table
    from jobtrail.cli.rendering.text import clean, short

    table = plain_table("plug_in", "version", "package", "brings", "about", rest="about")
    for one in mounted:
        row = (one.version or "", one.package or tr("cli.handed-in"), _brings(one), short(one.plugin.about or "", 100))
        table.add_row(Text(clean(one.name), "bold"), *(Text(clean(part)) for part in row))
    table.show(session.console)


def _parts(one: MountedPlugin) -> dict[str, list[str]]:
    from jobtrail.plugins.plugin import parts_of

    return parts_of(one.plugin)


def _brings(one: MountedPlugin) -> str:
    counted = [tr("names.part", name=part, count=len(names)) for part, names in _parts(one).items() if names]
    return ", ".join(counted) or tr("cli.nothing")


def _as_json(one: MountedPlugin) -> dict[str, Any]:
    about = {"name": one.name, "version": one.version, "package": one.package, "about": one.plugin.about}
    return {**about, **_parts(one)}


def _broken_json(one: BrokenPlugin) -> dict[str, Any]:
    return {"name": one.name, "package": one.package, "reason": one.reason}


def told_broken(one: BrokenPlugin) -> str:
    """The name of a plug-in that was left out, and the reason, in one line."""
    from jobtrail.cli.rendering.text import clean

    name = tr("cli.plugin-of-package", name=one.name, package=one.package) if one.package else one.name
    return clean(f"{name}: {one.reason}")


# -- the commands of plug-ins ------------------------------------------------------------------------


def installed_names(taken: Iterable[str]) -> list[str]:
    """The names of installed plug-ins, without loading one; not those that are commands of jobtrail already."""
    from jobtrail.plugins.discovery import installed

    return sorted({one.name for one in installed()} - set(taken))


def group_of(name: str, app: str | None) -> Any:
    """The commands of a plug-in as one command, or its command without prefix; None if there is neither.

    Raises:
        UsageError: if it has no commands or was left out.
    """
    from jobtrail.errors import UsageError

    plugins = _plugins(app)
    if name in plugins:
        return _group(plugins[name].plugin)
    for plugin, own in plugins.commands():
        if own.plain and own.name == name:
            return _alone(plugin, own)
    for one in plugins.broken:
        if one.name == name:
            raise UsageError(Message("cli.plugin-left-out", why=told_broken(one)))
    return None


def _plugins(app: str | None) -> Plugins:
    from jobtrail.cli.session import load
    from jobtrail.job.task import Tasks
    from jobtrail.plugins.registry import Plugins

    named = app or os.environ.get("JOBTRAIL_APP")
    return load(named).plugins if named else Plugins(Tasks(), lambda task, _declared: task)


def _group(plugin: Plugin) -> Any:
    from jobtrail.errors import UsageError

    own = [one for one in plugin.commands.values() if not one.plain]
    if not own:
        raise UsageError(Message("cli.plugin-without-commands", name=plugin.name))
    cli = typer.Typer(
        name=plugin.name,
        help=plugin.about or tr("cli.commands-of", name=plugin.name),
        rich_markup_mode=None,
        no_args_is_help=True,
        add_completion=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    cli.callback()(lambda: None)  # else a single command would replace the group
    for one in own:
        command(cli, one.name, plugin.name)(_as_ours(plugin.name, one.function))
    return typer.main.get_command(cli)


def _alone(plugin: str, one: PluginCommand) -> Any:
    """A command without the name of its plug-in before it."""
    cli = typer.Typer(rich_markup_mode=None, add_completion=False)
    command(cli, one.name, plugin)(_as_ours(plugin, one.function))
    return typer.main.get_command(cli)


def _as_ours(plugin: str, function: Callable[..., Any]) -> Callable[..., int | None]:
    """The function in the form of our commands: a session first, then its own options."""
    own = [_evaluated(p, function) for p in list(inspect.signature(function).parameters.values())[1:]]
    wants_json = any(p.name == "as_json" for p in own)

    def run(session: Session, **given: Any) -> int | None:
        jobs = session.open(creates=True)
        _check_mounted(jobs, plugin)
        if jobs.plugins[plugin].plugin.schema is not None:
            jobs.service.make_readable()
        if wants_json:
            given["as_json"] = session.as_json
        answer = function(jobs, **given)
        if inspect.iscoroutine(answer):
            answer = asyncio.run(answer)
        return answer if isinstance(answer, int) else None

    first = inspect.Parameter("session", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    keyword = inspect.Parameter.KEYWORD_ONLY
    shown = [p.replace(kind=keyword) for p in own if p.name != "as_json"]
    run.__doc__ = function.__doc__
    run.__signature__ = inspect.Signature([first, *shown])  # type: ignore[attr-defined]
    return run


def _evaluated(parameter: inspect.Parameter, function: Callable[..., Any]) -> inspect.Parameter:
    """Evaluate an annotation that is a text."""
    if not isinstance(parameter.annotation, str):
        return parameter
    names = getattr(inspect.unwrap(function), "__globals__", {})
    return parameter.replace(annotation=eval(parameter.annotation, names))  # noqa: S307 - as `inspect.signature` does


def _check_mounted(jobs: JobTrail, plugin: str) -> None:
    from jobtrail.errors import UsageError

    if plugin not in jobs.plugins:
        raise UsageError(Message("cli.plugin-not-used", name=plugin))
