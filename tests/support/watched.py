"""Modules on a movable clock: beats, looks, what was written and what was announced."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from jobtrail.messages import Message, read
from jobtrail.office import rules
from jobtrail.office.beats import ModuleBeats
from jobtrail.office.rules import ModuleBeat, ModuleLimits, ModuleStatus, UnknownModule
from jobtrail.office.store import ModuleStore, Registration, history_of
from jobtrail.office.tables import module_samples, module_status

if TYPE_CHECKING:
    from jobtrail.store import Store

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday


class Watched:
    """A store of modules, its clock, and the list of what it announced: (seconds, kind, module, facts)."""

    def __init__(self, store: Store, **limits: Any) -> None:
        self.store, self.now, self.announced = store, NOON, []
        self.how = Registration(ModuleLimits(**limits))
        self.modules = ModuleStore(self._announce)

    def _announce(self, conn, kind, subject, facts, at):
        assert conn.in_transaction() or conn.dialect.name == "sqlite"
        self.announced.append(((at - NOON).total_seconds(), kind, subject, facts))

    def at(self, seconds: float) -> Watched:
        """Set the clock, in seconds since noon."""
        self.now = NOON + timedelta(seconds=seconds)
        return self

    def limits(self, **limits: Any) -> Watched:
        """The limits of modules that are registered from now on."""
        self.how = Registration(ModuleLimits(**limits))
        return self

    def register(self, name: str = "parser", **how: Any) -> bool:
        given = Registration(self.how.limits, **how)
        return self.store.write(lambda conn: self.modules.register(conn, name, given, self.now))

    def beat(self, name: str = "parser", status: str | None = None, message: str | None = None, at: Any = None, **numbers: float):
        said = ModuleBeat(at or self.now, ModuleStatus(status) if status else None, message, numbers)
        return self.store.write(lambda conn: self.modules.beat(conn, name, said, self.now, lambda: self.how))

    def look(self, *, watch: bool = False):
        def turn(conn):
            if watch:
                self.modules.watch(conn, self.now, 1.0, 30.0)
            return self.modules.look(conn, self.now)

        return self.store.write(turn).transitions

    def change(self, decide: Any, name: str = "parser", **more: Any) -> None:
        """Write what a rule makes of a module: ``decide(module, now)``."""

        def turn(conn):
            module = self.modules.get(conn, name)
            assert self.modules.apply(conn, module, decide(module, self.now), self.now, **more)

        self.store.write(turn)

    def pause(self, until: datetime | None = None, name: str = "parser") -> None:
        self.change(lambda module, now: rules.pause(module, until, now), name)

    def get(self, name: str = "parser"):
        with self.store.read() as conn:
            return self.modules.find(conn, name)

    def status(self, name: str = "parser") -> str:
        return self.get(name).status.value

    def history(self, name: str = "parser") -> list[tuple[float, str | None, str, str]]:
        """(seconds, from, to, code of the reason), oldest first."""
        with self.store.read() as conn:
            rows = history_of(conn, name)
        return [
            ((row.recorded_at - NOON).total_seconds(), row._mapping["from"], row.to, getattr(read(row.reason), "code", row.reason))
            for row in reversed(rows)
        ]

    def moves(self, name: str = "parser") -> list[str]:
        """ "300 ok>warning" for each change, oldest first."""
        return [f"{at:g} {was}>{to}" for at, was, to, _ in self.history(name) if was != to]

    def told(self, name: str = "parser") -> list[str]:
        """ "900 module.error" for each announcement, in order."""
        return [f"{at:g} {kind}" for at, kind, subject, _ in self.announced if subject == name]


class Beating:
    """The beats of one process, on the clock of `watched`; written by hand."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        watched.store.database.clock = SimpleNamespace(now=lambda: watched.now)  # what is written at a turn must not ask the real one
        self.beats = ModuleBeats(watched.store, watched.modules, self.register, background=False)
        self.refused: set[str] = set()

    def register(self, name):
        if name in self.refused:
            raise UnknownModule(Message("office.no-module", name=name))
        return self.watched.how

    def beat(self, second, name="parser", status=None, message=None, wait=False, **numbers):
        said = ModuleBeat(self.watched.at(second).now, ModuleStatus(status) if status else None, message, numbers)
        return self.beats.beat(name, said, now=self.watched.now, wait=wait)

    def row(self, name="parser"):
        with self.watched.store.read() as conn:
            return conn.execute(module_status.select().where(module_status.c.module == name)).one()

    def samples(self, name="parser"):
        with self.watched.store.read() as conn:
            rows = conn.execute(select(module_samples).where(module_samples.c.module == name)).all()
        return {row.measure: row for row in rows}
