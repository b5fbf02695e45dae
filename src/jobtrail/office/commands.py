"""``jobtrail office …`` and ``jobtrail beat``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.job.masking import mask_text, masked
from jobtrail.messages import Message, tr

from . import sql as sql_text

if TYPE_CHECKING:
    from jobtrail.plugins.plugin import Plugin

    from .views import ModuleView

ASLEEP = "💤"
BY_COMMAND = "person:command-line"


def add_to(plugin: Plugin) -> None:
    """Declare the commands."""
    plugin.command("beat", plain=True)(beat)
    plugin.command("list")(list_modules)
    plugin.command("show")(show)
    plugin.command("register")(register)
    plugin.command("pause")(pause)
    plugin.command("resume")(resume)
    plugin.command("limits")(limits)
    plugin.command("remove")(remove)
    plugin.command("sql")(sql)


def beat(
    jobs: Any, name: str, status: str | None = None, message: str | None = None, number: list[str] | None = None,
    *, as_json: bool = False,
) -> None:  # fmt: skip
    """Report that a module is alive; returns when that is stored. --number rows=120 may be given several times."""
    answer = jobs.office.beat(name, status=status, message=message, numbers=_numbers(number or ()), wait=True)
    if as_json:
        _say_json({"module": answer.module, "status": answer.status, "stored": answer.stored})
    else:
        _say(tr("office.beat-stored", name=answer.module, status=answer.status))


def _numbers(given: Iterable[str]) -> dict[str, float]:
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise InvalidOption(Message("office.bad-number-option", text=repr(text))) from None
    return found


def list_modules(jobs: Any, *, as_json: bool = False) -> None:
    """List the modules with status, age of the last activity and message."""
    found = jobs.office.all(bars=as_json)
    if as_json:
        _say_json(found.model_dump(mode="json", by_alias=True))
        return
    if not found.modules:
        _say(tr("office.none"))
        return
    rows = [
        (_clean(one.module), one.status + (f" {ASLEEP}" if one.stale else ""), _age(one), _clean(one.message or "")[:80])
        for one in found.modules
    ]
    _table([tr("office.column", name=name) for name in ("module", "status", "age", "message")], rows)


def show(jobs: Any, name: str, *, as_json: bool = False) -> None:
    """Show a module with its limits, its last day and its history."""
    found = jobs.office.get(name, history=20)
    if as_json:
        _say_json(found.model_dump(mode="json", by_alias=True))
        return
    one: ModuleView = found.module
    _say(f"{_clean(one.module)}  {one.status}{f' {ASLEEP}' if one.stale else ''}  {_age(one)}")
    _say(tr("office.shown-limits", warn=one.warn_after, error=one.error_after, beats=one.recovery_beats))
    if one.quiet_hours:
        _say(tr("office.shown-quiet", hours=one.quiet_hours))
    if one.status == "paused":
        _say(tr("office.shown-pause", until=one.paused_until, reason=_clean(one.pause_reason or "")))
    if one.message:
        _say(_clean(one.message))
    for key, value in one.numbers.items():
        _say(f"  {key} = {value:g}")
    _say(one.bar)
    lines = [(f"{line.at:%Y-%m-%d %H:%M:%S}", f"{line.was or ''} → {line.to}", _clean(line.reason or "")) for line in found.history]
    _table([tr("office.column", name=name) for name in ("time", "change", "reason")], lines)


def register(
    jobs: Any, name: str, warn_after: float | None = None, error_after: float | None = None,
    recovery_beats: int | None = None, quiet_hours: str | None = None,
) -> None:  # fmt: skip
    """Put a module under watch before it reports. Limits are seconds."""
    given = {"warn_after": warn_after, "error_after": error_after, "recovery_beats": recovery_beats, "quiet_hours": quiet_hours}
    jobs.office.register(name, **{key: value for key, value in given.items() if value is not None})
    _say(tr("office.is-registered", name=name))


def pause(jobs: Any, name: str, minutes: float | None = None, until: str | None = None, reason: str | None = None) -> None:
    """Pause the watch over a module: for some minutes, until a moment (2026-12-01T18:00+01:00), or until it is resumed."""
    end = None
    if minutes is not None and until is not None:
        raise InvalidOption(Message("office.two-ends"))
    if minutes is not None:
        end = jobs.store.now() + timedelta(minutes=minutes)
    if until is not None:
        try:
            end = datetime.fromisoformat(until)
        except ValueError:
            raise InvalidOption(Message("office.bad-until", value=repr(until))) from None
    jobs.office.pause(name, until=end, reason=reason, actor=BY_COMMAND)
    _say(tr("office.is-paused", name=name))


def resume(jobs: Any, name: str) -> None:
    """End the pause of a module; its silence counts from now."""
    jobs.office.resume(name, actor=BY_COMMAND)
    _say(tr("office.is-resumed", name=name))


def limits(
    jobs: Any, name: str, warn_after: float | None = None, error_after: float | None = None,
    recovery_beats: int | None = None, quiet_hours: str | None = None,
) -> None:  # fmt: skip
    """Give a module limits of its own, in seconds; without options it gets those of the settings."""
    given = {"warn_after": warn_after, "error_after": error_after, "recovery_beats": recovery_beats, "quiet_hours": quiet_hours}
    jobs.office.set_limits(name, actor=BY_COMMAND, **{key: value for key, value in given.items() if value is not None})
    _say(tr("office.has-limits", name=name))


def remove(jobs: Any, name: str) -> None:
    """Forget a module; its history stays for a day."""
    jobs.office.remove(name, actor=BY_COMMAND)
    _say(tr("office.is-removed", name=name))


def sql(jobs: Any, what: str = "all", every: float = 300.0) -> None:
    """Print the check and the clean-up as SQL, to be run by pg_cron or cron: --what check, clean or all."""
    parts = {"check": sql_text.check, "clean": sql_text.clean}
    if what not in {*parts, "all"}:
        raise InvalidOption(Message("office.bad-sql", value=repr(what), known=[*parts, "all"]))
    hours = jobs.office.settings.history.total_seconds() / 3600
    dialect = jobs.store.dialect.name
    texts = []
    if what in {"check", "all"}:
        texts.append(sql_text.check(dialect, every=every, tolerance=jobs.office.settings.blind_after))
    if what in {"clean", "all"}:
        texts.append(sql_text.clean(dialect, hours=hours))
    _say("\n".join(texts))


def _age(one: ModuleView) -> str:
    if one.age is None:
        return tr("office.never")
    seconds = int(one.age)
    for size, letter in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {letter}"
    return f"{seconds} s"


def _clean(text: str) -> str:
    """What a module said, without secrets and without what moves the cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in mask_text(text))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _say_json(value: Any) -> None:
    _say(json.dumps(masked(value), ensure_ascii=False, indent=2))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    for row in [heads, *rows]:
        _say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
