"""Facts about the database server and the work in it that `jobtrail doctor` judges."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from jobtrail.database.tables import jobs

if TYPE_CHECKING:
    from sqlalchemy import Connection


def ping(conn: Connection) -> None:
    """Read something, to see that the database answers."""
    conn.exec_driver_sql("SELECT 1")


def server_version(conn: Connection) -> str:
    """The version of the database, such as ``3.45.1`` or ``16.4``."""
    sqlite = conn.dialect.name == "sqlite"
    return str(conn.exec_driver_sql("SELECT sqlite_version()" if sqlite else "SHOW server_version").scalar())


def autovacuum_is_off(conn: Connection) -> bool:
    """Whether the PostgreSQL server never cleans up by itself."""
    return conn.exec_driver_sql("SHOW autovacuum").scalar() == "off"


def oldest_transaction(conn: Connection) -> float | None:
    """Seconds since the oldest other transaction began that keeps rows from being cleaned up; PostgreSQL only."""
    age: float | None = conn.exec_driver_sql(
        "SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::float FROM pg_stat_activity "
        "WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()"
    ).scalar()
    return age


def waiting_tasks(conn: Connection) -> set[str]:
    """The tasks of pending jobs that do not wait for another job."""
    query = select(jobs.c.task).where(jobs.c.status == "pending", jobs.c.run_at.is_not(None)).distinct()
    return set(conn.execute(query).scalars())


def held_by_worker(conn: Connection) -> dict[str, int]:
    """How many jobs are recorded as running, by worker."""
    held = (
        select(jobs.c.worker, func.count()).where(jobs.c.status.in_(("running", "cancelling"))).group_by(jobs.c.worker)
    )
    return {str(worker): int(number) for worker, number in conn.execute(held)}


def last_run_on(conn: Connection, worker: str) -> Counter[str]:
    """How many jobs ran last on a worker, by their status now."""
    query = select(jobs.c.status, func.count()).where(jobs.c.worker == worker).group_by(jobs.c.status)
    return Counter({str(status): int(number) for status, number in conn.execute(query)})
