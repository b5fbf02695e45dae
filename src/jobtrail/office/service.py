"""What Office offers in an application, as ``jobs.office``: beats, the watch, and what people change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import select

from jobtrail.errors import InvalidOption
from jobtrail.fork_lock import ForkLock
from jobtrail.job.task import seconds_option
from jobtrail.messages import Message

from . import aggregation, rules, views
from .beats import BeatAnswer, ModuleBeats
from .quiet import parse_quiet_hours
from .rules import ERROR, REPORTED, ModuleBeat, ModuleLimits, ModuleStatus, StatusChange, UnknownModule, WatchedModule
from .store import Announce, ModuleStore, Registration
from .tables import module_status

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from jobtrail.store import Store

WATCHES_EVERY = timedelta(seconds=5)
CHECKS_EVERY = 300.0  # seconds between two runs of the schedule
LONGEST_MESSAGE = 2000  # characters
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OfficeSettings:
    """The settings of Office; see `Office`. ``modules`` is None where any module may register by its first beat."""

    default: Registration = Registration()
    modules: Mapping[str, Registration] | None = None
    history: timedelta = timedelta(hours=24)
    figures: timedelta = timedelta(days=90)
    blind_after: float = 30.0


class OfficeService:
    """The modules of one application.

    Args:
        store: The store.
        settings: The settings of Office.
        ready: Called before the first statement: creates the tables where that is automatic.
        announce: Tells of a transition, in the transaction that writes it.
        failed: Called after the commit with the names of modules that turned to error.
    """

    def __init__(
        self, store: Store, settings: OfficeSettings, ready: Callable[[], None], announce: Announce,
        failed: Callable[[list[str]], None],
    ) -> None:  # fmt: skip
        self.store, self.settings = store, settings
        self._failed = failed
        self._watched_at: datetime | None = None
        self.modules = ModuleStore(announce)
        self.beats = ModuleBeats(store, self.modules, self._registration)
        self._ready = ready
        self._synced = False
        self._sync_lock = ForkLock()

    def _registration(self, name: str) -> Registration:
        """How a module is registered by its first beat.

        Raises:
            UnknownModule: If the program names its modules and this is none of them.
        """
        if self.settings.modules is None:
            return self.settings.default
        found = self.settings.modules.get(name)
        if found is None:
            raise UnknownModule(Message("office.not-in-settings", name=name, known=sorted(self.settings.modules)))
        return found

    # -- beats -------------------------------------------------------------------------------------------

    def beat(
        self, module: str, *, status: str | None = None, message: str | None = None, at: datetime | None = None,
        wait: bool = False, numbers: Mapping[str, float] | None = None, **more: float,
    ) -> BeatAnswer:  # fmt: skip
        """Report that a module is alive. It costs microseconds; the beats of all modules are written twice a second.

        Args:
            module: Name of the module.
            status: What the module says of itself: "ok", "warning" or "error"; it stands until the next report with a status.
            message: A text for people, at most 2,000 characters.
            at: When it happened, an aware datetime; default: now. The future counts as now.
            wait: Return when it is stored.
            numbers: Numbers of this beat by name, at most 20.
            **more: The same as keywords: ``rows=120``.

        Returns:
            The status of the module, and whether the beat is stored already.

        Raises:
            InvalidOption: If an argument is not valid.
            UnknownModule: If the modules are listed in the settings and this one is not among them.
            StoreUnavailable: If beats cannot be stored now.

        Example:
            ```python
            jobs.office.beat("parser", rows=120)
            ```
        """
        rules.check_module(module)
        if status is not None and status not in REPORTED:
            raise InvalidOption(Message("office.bad-status", value=repr(status), known=[one.value for one in REPORTED]))
        if message is not None and (not isinstance(message, str) or len(message) > LONGEST_MESSAGE):
            raise InvalidOption(Message("office.bad-message", most=LONGEST_MESSAGE))
        if at is not None and (not isinstance(at, datetime) or at.utcoffset() is None):
            raise InvalidOption(Message("office.bad-time", value=repr(at)))
        checked = rules.check_numbers({**(numbers or {}), **more})
        self._make_ready()
        now = self.store.now()
        said = ModuleBeat(at or now, None if status is None else ModuleStatus(status), message, checked)
        answer = self.beats.beat(module, said, now=now, wait=wait)
        if answer.turned_to_error:
            self._failed([module])
        return answer

    def flush(self) -> int:
        """Write the collected beats now.

        Returns:
            The number of modules that had beats.
        """
        return self.beats.flush()

    # -- the watch ---------------------------------------------------------------------------------------

    def turn(self) -> list[StatusChange]:
        """One turn of the loop: a look if a module is due, and every five seconds in any case.

        Returns:
            What was written.
        """
        now, before = self.store.now(), self._watched_at
        recently = before is not None and timedelta(0) <= now - before < WATCHES_EVERY
        return [] if recently and not self.due() else self.run_once()

    def run_once(self, cadence: float = WATCHES_EVERY.total_seconds()) -> list[StatusChange]:
        """One look: write the changes of the modules that are due.

        Args:
            cadence: Seconds until the next look.

        Returns:
            What was written.
        """
        self._make_ready()
        now = self.store.now()
        self.store.write(lambda conn: self.modules.watch(conn, now, cadence, self.settings.blind_after))
        self.sync()  # after the watch: other limits are judged only by what was observed
        self._watched_at = now
        found: list[StatusChange] = []
        more = True
        while more:
            looked = self.store.write(lambda conn: self.modules.look(conn, now))
            found += looked.transitions
            more = looked.more
        self.beats.forget([one.module.name for one in found])
        failed = [one.module.name for one in found if one.module.status is ERROR]
        if failed:
            self._failed(failed)
        return found

    def check(self) -> list[StatusChange]:
        """A look as the schedule does it: the safety net. It also lets activities of the future count as now."""
        self._make_ready()
        now = self.store.now()
        self.store.write(lambda conn: self.modules.correct_clock(conn, now))
        return self.run_once(cadence=CHECKS_EVERY)

    def due(self) -> bool:
        """Whether a module is due: one look at an index, without a write."""
        self._make_ready()
        now = self.store.now()
        with self.store.read() as conn:
            return conn.execute(select(module_status.c.module).where(module_status.c.due_at <= now).limit(1)).first() is not None

    def sync(self) -> None:
        """Store what the settings say of modules, once in each process.

        Modules that they name are registered, those that they no longer name are removed, and those without limits of their
        own get the limits of the settings.
        """
        with self._sync_lock:
            if self._synced:
                return
            self._make_ready()
            self.store.write(self._sync)
            self._synced = True

    def _sync(self, conn: Connection) -> None:
        now, named = self.store.now(), self.settings.modules or {}
        rows = conn.execute(select(module_status.c.module, module_status.c.own_limits, module_status.c.declared)).all()
        for row in sorted(rows, key=lambda one: str(one.module)):
            module = self.modules.get(conn, row.module)
            if self.settings.modules is not None and row.module not in named:
                self.modules.remove(conn, row.module, Message("office.not-declared"), None, now)
                continue
            how = named.get(row.module, self.settings.default)
            changed = (module.limits, module.quiet_hours) != (how.limits, how.quiet_hours)
            if not row.own_limits and changed:
                self.modules.apply(conn, module, rules.with_settings(module, how.limits, how.quiet_hours, now), now)
        there = {row.module for row in rows}
        for name in sorted(named.keys() - there):
            self.modules.register(conn, name, named[name], now)

    # -- what people change ------------------------------------------------------------------------------

    def register(self, module: str, **limits: Any) -> None:
        """Put a module under watch before it reports.

        Args:
            module: Name of the module.
            **limits: ``warn_after``, ``error_after``, ``recovery_beats``, ``quiet_hours``, as for `set_limits`.

        Raises:
            InvalidOption: If an argument is not valid, or there is a module of this name.
        """
        rules.check_module(module)
        how = replace(registration(self.settings.default, limits), declared=True, own_limits=bool(limits))
        self._make_ready()
        now = self.store.now()
        if not self.store.write(lambda conn: self.modules.register(conn, module, how, now)):
            raise InvalidOption(Message("office.name-taken", name=module))

    def pause(
        self, module: str, *, until: datetime | None = None, reason: str | None = None, actor: str | None = None
    ) -> None:
        """Pause the watch over a module. Its beats are still recorded; no status changes and nobody is told.

        Args:
            module: Name of the module.
            until: End of the pause, an aware datetime; None until somebody resumes it.
            reason: Why, for people.
            actor: Who.

        Raises:
            InvalidOption: If ``until`` is not in the future.
            UnknownModule: If there is no such module.
        """
        self._make_ready()
        if until is not None and (not isinstance(until, datetime) or until.utcoffset() is None or until <= self.store.now()):
            raise InvalidOption(Message("office.bad-until", value=repr(until if until is None else str(until))))
        self._change(
            module, lambda found, now: rules.pause(found, until, now), actor, reason, pause_reason=reason, pause_actor=actor
        )

    def resume(self, module: str, *, actor: str | None = None) -> None:
        """End the pause of a module; its silence counts from now. A module that is not paused stays as it is.

        Args:
            module: Name of the module.
            actor: Who.

        Raises:
            UnknownModule: If there is no such module.
        """

        def decide(found: WatchedModule, now: datetime) -> StatusChange | None:
            if found.status is not ModuleStatus.PAUSED:
                return None
            return rules.resume(found, now, Message("office.resumed"))

        self._change(module, decide, actor, pause_reason=None, pause_actor=None)

    def set_limits(self, module: str, *, actor: str | None = None, **limits: Any) -> None:
        """Give a module limits of its own; its status is judged anew at once.

        Args:
            module: Name of the module.
            actor: Who.
            **limits: ``warn_after`` and ``error_after`` (seconds), ``recovery_beats``, ``quiet_hours``; what is left out
                stays. Without any the module gets the limits of the settings.

        Raises:
            InvalidOption: If a value is not valid.
            UnknownModule: If there is no such module.
        """

        def decide(found: WatchedModule, now: datetime) -> StatusChange:
            current = Registration(found.limits, found.quiet_hours)
            if limits:
                how = registration(current, limits)
            else:
                how = (self.settings.modules or {}).get(module, self.settings.default)
            return rules.with_settings(found, how.limits, how.quiet_hours, now)

        registration(self.settings.default, {name: value for name, value in limits.items() if name == "quiet_hours"})
        self._change(module, decide, actor, own_limits=bool(limits))

    def remove(self, module: str, *, actor: str | None = None) -> None:
        """Forget a module. Its history stays for a day, its figures longer. If it reports again, it is registered again.

        Args:
            module: Name of the module.
            actor: Who.

        Raises:
            UnknownModule: If there is no such module.
        """
        self._make_ready()
        now = self.store.now()
        self.store.write(lambda conn: self.modules.remove(conn, module, Message("office.removed"), actor, now))
        self.beats.forget([module])

    def _change(
        self, module: str, decide: Callable[[WatchedModule, datetime], StatusChange | None], actor: str | None,
        reason: str | None = None, **more: Any,
    ) -> None:  # fmt: skip
        self._make_ready()
        now = self.store.now()

        def write(conn: Connection) -> None:
            found = self.modules.get(conn, module)
            done = decide(found, now)
            if done is not None:
                self.modules.apply(conn, found, done, now, actor=actor, reason=reason, **more)

        self.store.write(write, key=module)
        self.beats.forget([module])

    # -- what people read --------------------------------------------------------------------------------

    def all(self, *, bars: bool = True) -> views.ModulesView:
        """Return all modules, by name.

        Args:
            bars: With the bar of the last 24 hours of each.
        """
        return self._read(lambda conn, now: views.modules_view(conn, now, bars=bars))

    def get(self, module: str, *, history: int = 100) -> views.ModuleDetail:
        """Return one module with its history and hours.

        Args:
            module: Name of the module.
            history: Greatest number of lines of history.

        Raises:
            UnknownModule: If there is no such module.
        """
        found = self._read(lambda conn, now: views.module_detail(conn, module, now, history=history))
        if found is None:
            raise UnknownModule(Message("office.no-module", name=module))
        return found

    def find(self, module: str) -> views.ModuleView | None:
        """Return one module without history, or None.

        Args:
            module: Name of the module.
        """
        return self._read(lambda conn, now: views.module_view(conn, module, now))

    def hours(self, module: str, day: datetime | None = None, zone: str = "UTC") -> list[views.HourView]:
        """Return the figures of the hours of a local day, or of the last 24 hours.

        Args:
            module: Name of the module.
            day: A moment of that day; None for the last 24 hours.
            zone: Time zone of the day.
        """
        return self._read(lambda conn, now: views.day_view(conn, module, day, zone, now))

    def history(self, module: str, *, before: datetime | None = None, limit: int = 100) -> list[views.HistoryLine]:
        """Return the history of a module, newest first.

        Args:
            module: Name of the module.
            before: Time of the last line of the page before.
            limit: Greatest number of lines.
        """
        return self._read(lambda conn, _: views.history_lines(conn, module, limit=limit, before=before))

    def _read(self, query: Callable[[Connection, datetime], T]) -> T:
        self._make_ready()
        now = self.store.now()
        with self.store.read() as conn:
            return query(conn, now)

    # -- figures and clean-up ----------------------------------------------------------------------------

    def aggregate(self) -> list[datetime]:
        """Write the figures of all full hours that have none.

        Returns:
            The hours that were written.
        """
        self._make_ready()
        return aggregation.aggregate(self.store, self.store.now())

    def clean(self, **options: Any) -> int:
        """Remove history that is older than the settings keep, after its figures are written.

        Args:
            **options: ``chunk`` and ``wait`` of `aggregation.clean`.

        Returns:
            The number of removed rows.
        """
        self._make_ready()
        history, figures = self.settings.history, self.settings.figures
        return aggregation.clean(self.store, self.store.now(), history=history, figures_kept=figures, **options)

    def _make_ready(self) -> None:
        self._ready()

    def close(self) -> None:
        """Write the collected beats and end the thread that does it."""
        self.beats.close()


def registration(base: Registration, given: Mapping[str, Any]) -> Registration:
    """Return a registration with some values changed.

    Raises:
        InvalidOption: If a name or a value is not valid.
    """
    known = ("warn_after", "error_after", "recovery_beats", "quiet_hours")
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise InvalidOption(Message("office.unknown-limit", name=unknown[0], known=list(known)))
    quiet = given.get("quiet_hours", base.quiet_hours)
    if not isinstance(quiet, str):
        raise InvalidOption(Message("office.bad-quiet-hours", text=repr(quiet)))
    parse_quiet_hours(quiet)
    limits = {name: given.get(name, getattr(base.limits, name)) for name in known[:3]}
    for name in known[:2]:
        if isinstance(limits[name], int) and not isinstance(limits[name], bool):
            limits[name] = float(limits[name]) if math.isfinite(limits[name]) else limits[name]
    return replace(base, limits=ModuleLimits(**limits), quiet_hours=quiet)


def settings_of(given: Mapping[str, Any]) -> OfficeSettings:
    """Return the settings that the arguments of `Office` say.

    Raises:
        InvalidOption: If a value is not valid.
    """
    limits = {name: given[name] for name in ("warn_after", "error_after", "recovery_beats", "quiet_hours")}
    default, modules = registration(Registration(), limits), given["modules"]
    return OfficeSettings(
        default,
        None if modules is None else _named(modules, default),
        timedelta(hours=_at_least("history_hours", given["history_hours"], 3)),
        timedelta(days=_at_least("metrics_days", given["metrics_days"], 1)),
        _at_least("blind_after", given["blind_after"], 10),
    )


def _named(modules: Iterable[str] | Mapping[str, Mapping[str, Any]], default: Registration) -> dict[str, Registration]:
    listed = dict(modules) if isinstance(modules, Mapping) else {name: {} for name in modules}
    found = {}
    for name, limits in listed.items():
        how = registration(default, limits)
        found[rules.check_module(name)] = Registration(how.limits, how.quiet_hours, declared=True)
    return found


def _at_least(name: str, value: Any, least: float) -> float:
    seconds = seconds_option(name, value)
    if seconds is None or seconds < least:
        raise InvalidOption(Message("office.too-short", name=name, least=least, value=repr(value)))
    return seconds
