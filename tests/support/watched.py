"""Modules on a movable clock: beats, looks, what was written and what was announced."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobtrail.messages import read
from jobtrail.office import rules
from jobtrail.office.rules import ModuleBeat, ModuleLimits, ModuleStatus
from jobtrail.office.store import ModuleStore, Registration, history_of

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
        return self.store.write(lambda conn: self.modules.beat(conn, name, said, self.now, self.how))

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
