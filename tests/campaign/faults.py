"""What goes wrong, each thing by its name: begun at random, healed some moments later, several at a time."""

from __future__ import annotations

import contextlib
import heapq
import signal
import sqlite3
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from jobtrail.errors import StoreError
from jobtrail.store import retention

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from deployment import Deployment

VERSIONS = ("old", "new", "both")
Heal = tuple[float, "Callable[[], None]"]  # seconds until then, and what is done then
EVERYWHERE = {
    "kill": 5, "kill all": 1, "stop and continue": 3, "deploy": 3, "two signals": 1, "lock": 2, "retention": 2, "full disk": 1,
}  # fmt: skip
ON_POSTGRES = {"pooler restart": 2, "database crash": 2, "database restart": 1, "backends terminated": 2}


class Faults:
    """Begins faults and heals them; ``began`` counts them by kind.

    Args:
        deployment: what is attacked.
        rng: decides what, whom and for how long.
        workers: how many are kept alive.
        keep: seconds for which retention keeps ended jobs.
    """

    def __init__(self, deployment: Deployment, rng: random.Random, *, workers: int, keep: float) -> None:
        self.began: Counter[str] = Counter()
        self._one = deployment
        self._rng = rng
        self._workers = workers
        self._keep = retention.Retention(*[keep / 86_400] * 4)
        self._healing: list[tuple[float, int, Callable[[], None]]] = []
        self._database_is_whole = True
        self.kinds = {**EVERYWHERE, **(ON_POSTGRES if deployment.server else {})}
        if deployment.disk is None:
            del self.kinds["full disk"]

    def begin_one(self) -> None:
        """One fault, unless it cannot be had now, or no worker is left whom it could meet."""
        if not self._one.living():
            return
        name = self._rng.choices(list(self.kinds), list(self.kinds.values()))[0]
        healing = getattr(self, f"_{name.replace(' ', '_')}")()
        if healing is None:
            return
        self.began[name] += 1
        seconds, heal = healing
        heapq.heappush(self._healing, (time.monotonic() + seconds, self.began.total(), heal))

    def heal(self, *, everything: bool = False) -> None:
        """What is due, and workers where there are too few, as a service manager starts them."""
        while self._healing and (everything or self._healing[0][0] <= time.monotonic()):
            heapq.heappop(self._healing)[2]()
        while self._database_is_whole and len(self._one.living()) < self._workers:
            self._start()  # without a database it would only end again

    def _start(self) -> None:
        self._one.begin(self._rng.choice(VERSIONS))

    # -- workers -------------------------------------------------------------------------------------

    def _kill(self) -> Heal:
        self._rng.choice(self._one.living()).kill()
        return 0.0, _nothing

    def _kill_all(self) -> Heal:
        for process in self._one.living():
            process.kill()
        return 0.0, _nothing

    def _stop_and_continue(self) -> Heal:
        """Half of the times so long that it is taken for dead and goes on as somebody else."""
        process = self._rng.choice(self._one.living())
        process.signal(signal.SIGSTOP)
        return self._rng.choice((1.0, 5.0)), lambda: process.signal(signal.SIGCONT)

    def _deploy(self) -> Heal:
        """One worker leaves in order, one of another version comes."""
        self._rng.choice(self._one.living()).signal(signal.SIGTERM)
        self._start()
        return 0.0, _nothing

    def _two_signals(self) -> Heal:
        process = self._rng.choice(self._one.living())
        process.signal(signal.SIGTERM)
        return 0.2, lambda: process.signal(signal.SIGTERM)

    # -- the database --------------------------------------------------------------------------------

    def _attack(self, seconds: float, heal: Callable[[], None]) -> Heal:
        self._database_is_whole = False

        def whole() -> None:
            heal()
            self._database_is_whole = True

        return seconds, whole

    def _lock(self) -> Heal | None:
        if not self._database_is_whole:
            return None
        conn: Any
        if self._one.server is None:
            conn = sqlite3.connect(self._one.jobs.store.database.path, isolation_level=None, timeout=10)
            statements = ("BEGIN IMMEDIATE",)
        else:
            import psycopg

            conn = psycopg.connect(self._one.direct, autocommit=True)
            statements = ("BEGIN", "SET LOCAL lock_timeout = '10s'", "LOCK TABLE jobtrail_jobs IN ACCESS EXCLUSIVE MODE")
        try:
            for statement in statements:
                conn.execute(statement)
        except Exception:
            conn.close()
            return None
        return self._attack(self._rng.uniform(0.5, 3.0), conn.close)

    def _retention(self) -> Heal | None:
        """It is no fault, but it removes what the others look at."""
        if not self._database_is_whole:
            return None
        store = self._one.jobs.store
        try:
            retention.run_once(store, self._keep, store.now(), wait=lambda _: False)
        except StoreError:
            return None
        return 0.0, _nothing

    def _full_disk(self) -> Heal | None:
        if not self._database_is_whole:
            return None
        filler = self._one.fill_disk()

        def room() -> None:
            filler.unlink()
            server = self._one.server
            if server is not None and not _answers(self._one):
                server.restart(signal.SIGQUIT)

        return self._attack(self._rng.uniform(0.5, 3.0), room)

    def _pooler_restart(self) -> Heal | None:
        if not self._database_is_whole:
            return None
        assert self._one.pooler is not None
        self._one.pooler.stop()
        return self._attack(self._rng.uniform(0.0, 2.0), self._one.pooler.start)

    def _database_crash(self) -> Heal | None:
        return self._away(signal.SIGQUIT)

    def _database_restart(self) -> Heal | None:
        return self._away(signal.SIGINT)

    def _away(self, how: signal.Signals) -> Heal | None:
        if not self._database_is_whole:
            return None
        assert self._one.server is not None
        self._one.server.stop(how)
        return self._attack(self._rng.uniform(0.0, 4.0), self._one.server.start)

    def _backends_terminated(self) -> Heal | None:
        import psycopg

        if not self._database_is_whole:
            return None
        with contextlib.suppress(psycopg.Error), psycopg.connect(self._one.direct, autocommit=True) as conn:
            conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        return 0.0, _nothing


def _answers(one: Deployment) -> bool:
    """Whether PostgreSQL takes a write; it crashes where its log finds no room."""
    import psycopg

    end = time.monotonic() + 5
    while time.monotonic() < end:
        with contextlib.suppress(psycopg.Error), psycopg.connect(one.direct, autocommit=True, connect_timeout=2) as conn:
            conn.execute("CREATE TABLE IF NOT EXISTS campaign_room (n INTEGER)")
            conn.execute("DROP TABLE campaign_room")
            return True
        time.sleep(0.2)
    return False


def _nothing() -> None:
    """There is nothing to heal."""
