"""Steady load on several workers while something goes wrong; one case after the other, each measured the same way."""

from __future__ import annotations

import contextlib
import random
import statistics
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fleet import Balance, Fleet, balance, until

from jobtrail.database import tables
from jobtrail.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from services import Cluster

RECOVER_WITHIN = 60.0  # seconds, from the end of the fault to the windows that are measured


@dataclass(frozen=True)
class Plan:
    """How big a run is. Rates are jobs a second."""

    workers: int
    rate: float
    slots: int
    body: float
    window: float
    fault: float
    kill_every: float = 5.0
    windows: int = 3  # the median of so many counts
    connections: int = 300


SHORT = Plan(workers=2, rate=40, slots=4, body=0.02, window=0.3, fault=1.0, kill_every=0.5, windows=1, connections=100)
WHOLE = Plan(workers=4, rate=60, slots=4, body=0.02, window=5.0, fault=12.0)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    case: str
    database: str
    balance: Balance
    before: float
    after: float
    recovered_in: float

    @property
    def ratio(self) -> float:
        """Throughput after ÷ before."""
        return self.after / self.before if self.before else 0.0


class Load:
    """Submits at a fixed rate, whatever happens; remembers what was acknowledged."""

    def __init__(self, fleet: Fleet, plan: Plan) -> None:
        self._fleet = fleet
        self._plan = plan
        self.rate = plan.rate
        self.body = plan.body
        self.ids: list[str] = []
        self.refused = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(60)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self.ids.append(self._fleet.submit("quick", seconds=self.body))
            except StoreError:
                self.refused += 1
            due = max(due + 1 / self.rate, time.monotonic() - 0.5)
            self._stop.wait(max(0.0, due - time.monotonic()))


# -- the faults --------------------------------------------------------------------------------------


def worker_killed(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    random.choice(fleet.living()).kill()
    time.sleep(plan.fault / 2)
    fleet.start("-c", str(plan.slots))


def killed_again_and_again(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    for _ in range(max(2, int(plan.fault / plan.kill_every))):
        random.choice(fleet.living()).kill()
        fleet.start("-c", str(plan.slots), wait=False)
        time.sleep(plan.kill_every)


def server_restarted(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    assert server is not None
    server.restart()


def backends_terminated(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    every = min(2.0, plan.fault / 2)
    end = time.monotonic() + plan.fault
    while time.monotonic() < end:
        _execute(
            fleet, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )  # fmt: skip
        time.sleep(every)


def idle_connections(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(plan.connections):
            stack.enter_context(_connection(fleet))
        time.sleep(plan.fault)


def idle_transaction(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    with _connection(fleet, autocommit=False) as conn:
        conn.execute(f"SELECT count(*) FROM {tables.jobs}")
        conn.execute("SELECT pg_current_xact_id()")
        time.sleep(plan.fault)


def long_readers(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            conn = stack.enter_context(_connection(fleet, autocommit=False))
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            conn.execute("SELECT count(*) FROM pg_class")
        time.sleep(plan.fault)


def sqlite_readers(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    import sqlite3

    path = fleet.jobs.store.database.path
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            conn = stack.enter_context(contextlib.closing(sqlite3.connect(str(path), isolation_level=None)))
            conn.execute("BEGIN")
            conn.execute("SELECT count(*) FROM sqlite_master").fetchall()
        time.sleep(plan.fault)


def overload(fleet: Fleet, plan: Plan, load: Load, server: Cluster | None) -> None:
    """Bodies so long that the slots are known to carry less than is submitted; the backlog must show it."""
    slots = plan.workers * plan.slots
    body = slots / (1.2 * plan.rate)  # what the slots carry at most: 1.2 × the usual rate
    usual, load.rate, load.body = (load.rate, load.body), 1.5 * 1.2 * plan.rate, body
    try:
        time.sleep(plan.fault)
        backlog = fleet.unfinished()
        if backlog < 0.25 * plan.fault * 1.2 * plan.rate:
            message = f"no overload: only {backlog} jobs wait after {plan.fault:g} s of it"
            raise AssertionError(message)
    finally:
        load.rate, load.body = usual


ON_POSTGRES: dict[str, Callable[..., None]] = {
    "one worker killed": worker_killed,
    "worker killed every {kill_every:g} s": killed_again_and_again,
    "PostgreSQL restarted": server_restarted,
    "backends terminated every 2 s": backends_terminated,
    "{connections} idle connections": idle_connections,
    "idle transaction held": idle_transaction,
    "4 long REPEATABLE READ readers": long_readers,
    "1.5 × overload": overload,
}
ON_SQLITE: dict[str, Callable[..., None]] = {
    "one worker killed": worker_killed,
    "worker killed every {kill_every:g} s": killed_again_and_again,
    "4 long readers": sqlite_readers,
    "1.5 × overload": overload,
}


# -- the measurement ---------------------------------------------------------------------------------


def run(fleet: Fleet, plan: Plan, cases: dict[str, Callable[..., None]], server: Cluster | None) -> Iterator[Row]:
    """All cases on one set of workers, one row after the other."""
    fleet.start_many(plan.workers, "-c", str(plan.slots))
    for name, fault in cases.items():
        yield measure(fleet, plan, name.format(**asdict(plan)), fault, server)


def measure(fleet: Fleet, plan: Plan, name: str, fault: Callable[..., None], server: Cluster | None) -> Row:
    """Load, a window before, the fault, then windows after; then everything must end."""
    load = Load(fleet, plan)
    begun = _ends(fleet)
    load.start()
    try:
        until("the load runs", lambda: _ends(fleet) > begun)
        before = statistics.median(_window(fleet, plan) for _ in range(plan.windows))
        fault(fleet, plan, load, server)
        ended = time.monotonic()
        after = _after(fleet, plan, before, ended)
        recovered_in = time.monotonic() - ended - plan.windows * plan.window
    finally:
        load.stop()
    fleet.drained(timeout=120)
    kind = "SQLite" if fleet.jobs.store.database.is_sqlite else "PostgreSQL"
    return Row(name, kind, balance(fleet, load.ids), before, after, max(0.0, recovered_in))


def _after(fleet: Fleet, plan: Plan, before: float, ended: float) -> float:
    """The median of the last windows once the load is carried again, at the latest after a minute."""
    windows: list[float] = []
    while True:
        windows.append(_window(fleet, plan))
        after = statistics.median(windows[-plan.windows :])
        caught_up = after >= 0.95 * before and fleet.unfinished() < plan.rate
        if len(windows) >= plan.windows and (caught_up or time.monotonic() - ended > RECOVER_WITHIN):
            return after


def _window(fleet: Fleet, plan: Plan) -> float:
    """Completed jobs a second in the next window."""
    begun, at = _ends(fleet), time.monotonic()
    time.sleep(plan.window)
    return (_ends(fleet) - begun) / (time.monotonic() - at)


def _ends(fleet: Fleet) -> int:
    return fleet.diary_path.read_bytes().count(b'"what": "end"')


@contextlib.contextmanager
def _connection(fleet: Fleet, *, autocommit: bool = True) -> Iterator[Any]:
    import psycopg

    url = fleet.jobs.store.database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with contextlib.closing(psycopg.connect(url, autocommit=autocommit)) as conn:
        yield conn


def _execute(fleet: Fleet, statement: str) -> None:
    with _connection(fleet) as conn:
        conn.execute(statement)
