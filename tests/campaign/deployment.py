"""What is deployed: a database (with a pooler before PostgreSQL) on a small file system of its own, and workers of two versions."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import campaign_app
import evidence
from fleet import Fleet, Process
from pgbouncer import Pooler, start_pooler
from services import Cluster, fresh_database, on_server, start_postgres

from jobtrail.database import migration
from jobtrail.database.connection import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

DISK = {"sqlite": "256m", "postgresql": "1g"}
# Short, so that everything happens often: recovery after 3 s of silence, spool files after half a second.
SETTINGS = {
    "poll_interval": 0.2, "beat_interval": 0.5, "silent_after": 3.0, "sweep_interval": 0.5, "scheduler_lease": 3.0,
    "spool_after": 0.5, "graceful_shutdown_timeout": 2.0, "cancel_timeout": 0.5, "put_back_delay": 0.3,
    "put_back_limit": 100_000,
}  # fmt: skip
# A commit is written before it is acknowledged: what is left in memory dies with a server that crashes.
POSTGRES = {"max_wal_size": "64MB", "max_connections": "200", "synchronous_commit": "on"}


@dataclass
class Deployment(Fleet):
    """Workers over one database that can be attacked; ``direct`` is its address past the pooler."""

    app: str = "campaign_app:jobs"
    direct: str = ""
    server: Cluster | None = None
    pooler: Pooler | None = None
    disk: Path | None = None
    version: str = "both"
    children: bool = False

    def __post_init__(self) -> None:
        self.direct = self.direct or self.url
        self.diary_path = self.folder / "diary"
        self.diary_path.touch()
        with contextlib.closing(Database(self.direct)) as database:
            migration.upgrade(database)
        evidence.prepare(self.direct)
        self.jobs = campaign_app.application("both", self.url, submit_retry_seconds=2.0, migrate=False)
        self.jobs.service.make_ready()

    def environment(self) -> dict[str, str]:
        return {
            **super().environment(), "CAMPAIGN_VERSION": self.version, "XDG_STATE_HOME": str(self.folder / "state"),
            campaign_app.CHILDREN: "yes" if self.children else "",
        }  # fmt: skip

    def begin(self, version: str) -> Process:
        """Start a worker of this version; it need not be registered when this returns."""
        self.version = version
        return self.start("-c", "4", "-q", f"default,{campaign_app.BULK}", wait=False)

    def spool(self) -> list[Path]:
        """Files with ends that were not written."""
        database = self.jobs.store.database
        folders = [database.path.with_name(f"{database.path.name}-spool")] if database.path else [self.folder / "state"]
        return [path for folder in folders for path in folder.rglob("*") if path.is_file()]

    def fill_disk(self) -> Path:
        """Take all that is free on the database's file system."""
        assert self.disk is not None
        filler = self.disk / "filler"
        with filler.open("wb") as file, contextlib.suppress(OSError):
            while free := shutil.disk_usage(self.disk).free:
                os.posix_fallocate(file.fileno(), file.tell(), free)
                file.seek(0, os.SEEK_END)
        return filler


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path | None]:
    """A file system in memory of this size; None where it may not be mounted."""
    with tempfile.TemporaryDirectory(prefix="jobtrail-disk-", ignore_cleanup_errors=True) as name:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", name]
        mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
        try:
            yield Path(name) if mounted else None
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", name], check=True)


@contextlib.contextmanager
def deploy(kind: str, folder: Path, *, children: bool) -> Iterator[Deployment]:
    """A deployment on "sqlite" or "postgresql", with everything that this machine allows; what was started is stopped.

    Raises: Unavailable where there is no PostgreSQL.
    """
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(small_disk(DISK[kind]))
        if kind == "sqlite":
            one = Deployment(f"sqlite:///{disk or folder}/jobs.db", folder, dict(SETTINGS), disk=disk, children=children)
        else:
            server = stack.enter_context(start_postgres(folder=disk, **POSTGRES))
            direct = stack.enter_context(fresh_database(server.address))
            with evidence.transaction(direct) as conn:
                conn.exec_driver_sql(f"ALTER DATABASE {direct.rpartition('/')[2]} RESET synchronous_commit")
            pooler = stack.enter_context(start_pooler(server.address, default_pool_size="20", query_wait_timeout="10"))
            url = on_server(pooler.address, direct.rpartition("/")[2])
            one = Deployment(
                url, folder, dict(SETTINGS), direct=direct, server=server, pooler=pooler, disk=disk, children=children
            )
        try:
            yield one
        finally:
            for process in one.living():
                process.signal(signal.SIGCONT)
            one.stop()
