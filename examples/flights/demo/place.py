"""The place of a demonstration: its folder, its input data and the database of its jobs."""

from __future__ import annotations

import csv
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobtrail.errors import UsageError

from ..source import open_text
from ..tasks import COLUMNS, make_app
from .on_celery import celery_executor

if TYPE_CHECKING:
    from jobtrail.app import JobTrail

FOLDER_VARIABLE = "JOBTRAIL_DEMO_DIR"
SETTINGS = "demo.json"


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a demonstration, its input data, and the address of its database.

    Attributes:
        broker: The broker of the Celery workers that run its jobs; None where workers of jobtrail do.
    """

    folder: Path
    data: Path
    database: str
    broker: str | None = None

    @classmethod
    def prepared(
        cls, folder: Path | None, data: Path | None, database: str | None, broker: str | None = None
    ) -> Place:
        """Create the folder and store the place in it, for the commands typed afterwards.

        Raises:
            UsageError: if the folder cannot be created, or the input data is not valid.
        """
        where = (folder or default_folder()).absolute()
        source = (data or shipped_data()).absolute()
        check_data(source)
        place = cls(where, source, database or f"sqlite:///{where.as_posix()}/jobs.db", broker)
        try:
            where.mkdir(parents=True, exist_ok=True)
            place._remember()
        except OSError as error:
            message = f"the folder {where} cannot be used: {error.strerror or error}"
            raise UsageError(message) from None
        return place

    @classmethod
    def remembered(cls, folder: Path) -> Place:
        """Return the place that an earlier ``jobtrail demo`` stored.

        Raises:
            UsageError: if there was none.
        """
        try:
            kept = json.loads((folder / SETTINGS).read_text("utf-8"))
            return cls(folder, Path(kept["data"]), kept["database"], kept.get("broker"))
        except (OSError, ValueError, KeyError, TypeError):
            message = f"there is no demonstration in {folder}; run 'jobtrail demo' first, or set {FOLDER_VARIABLE}"
            raise UsageError(message) from None

    def _remember(self) -> None:
        # The addresses may hold passwords, so the file is readable by its owner only.
        kept = json.dumps({"data": str(self.data), "database": self.database, "broker": self.broker})
        handle = os.open(self.folder / SETTINGS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(kept)

    def app(self) -> JobTrail:
        """Return the application of this place."""
        executor = "local" if self.broker is None else celery_executor(self.broker, self.folder)
        return make_app(self.database, self.folder / "warehouse.db", self.data, executor)


def last_app() -> JobTrail:
    """Return the application of the last demonstration, or of the one in the folder that JOBTRAIL_DEMO_DIR names.

    Raises:
        UsageError: if there was none.
    """
    return Place.remembered(Path(os.environ.get(FOLDER_VARIABLE) or default_folder()).absolute()).app()


def shipped_data() -> Path:
    """Return the folder of the data that comes with the example."""
    return Path(__file__).resolve().parents[1] / "data"


def default_folder() -> Path:
    """Return the demonstration's folder in the user's cache."""
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "jobtrail" / "demo"


def check_data(data: Path) -> None:
    """Check that the four files exist and have the columns that are read.

    Raises:
        UsageError: naming the first file that does not fit.
    """
    for name, columns in COLUMNS.items():
        try:
            with open_text(data / name) as file:
                header = next(csv.reader(file), [])
        except FileNotFoundError:
            message = f"there is no {name} in {data}; the folder must hold {', '.join(COLUMNS)}"
            raise UsageError(message) from None
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
            message = f"{data / name} cannot be read: {getattr(error, 'strerror', None) or error}"
            raise UsageError(message) from None
        missing = [column for column in columns if column not in header]
        if missing:
            message = f"{data / name} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
            raise UsageError(message)
