"""What every command is given: where the jobs are, how to print, and the application once it is loaded."""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from jobtrail import JobTrail

WIDE = 1000  # columns where no terminal sets a limit: nothing is cut for a file or a pipe


@dataclass
class Session:
    """One call of the command."""

    app: str | None = None
    database: str | None = None
    as_json: bool = False
    command_names: frozenset[str] = frozenset()  # of the program's own commands
    _opened: JobTrail | None = None
    _named_config: bool = False
    _consoles: dict[str, Console] = field(default_factory=dict)

    # -- printing ------------------------------------------------------------------------------------

    @property
    def console(self) -> Console:
        """Standard output."""
        return self._console("out")

    @property
    def errors(self) -> Console:
        """Standard error, for what is not the answer."""
        return self._console("err")

    def _console(self, name: str) -> Console:
        from rich.console import Console

        if name not in self._consoles:
            stream = sys.stdout if name == "out" else sys.stderr
            width = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
            self._consoles[name] = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
        return self._consoles[name]

    def say(self, *parts: str | Text | tuple[str, str]) -> None:
        """One line for people; a pair is a text and its style. Nothing with ``--json``."""
        from rich.text import Text

        if not self.as_json:
            self.console.print(Text.assemble(*parts), soft_wrap=True)

    def hint(self, *parts: str | Text | tuple[str, str]) -> None:
        """One line beside the answer, on standard error."""
        from rich.text import Text

        self.errors.print(Text.assemble(*parts), soft_wrap=True)

    def json(self, value: Any) -> None:
        """Print the answer for programs: one line of plain ASCII, so that it can be printed anywhere.

        Args:
            value: what JSON can hold, or the model that a query returned: it is printed as the API answers it.
        """
        if hasattr(value, "model_dump"):
            value = value.model_dump(mode="json")
        sys.stdout.write(json.dumps(value, default=str) + "\n")

    # -- the application -----------------------------------------------------------------------------

    def open(self, *, tasks: bool = False, creates: bool = False) -> JobTrail:
        """The application; ``tasks`` where the command needs its functions, ``creates`` where the database may be new.

        Raises: UsageError where it is not said, or there is none; NotFound where the database file is missing.
        """
        if self._opened is None:
            self._opened = self._load(tasks=tasks)
            if not creates:
                _check_there(self._opened)
        return self._opened

    @property
    def has_app(self) -> bool:
        """Are the tasks known, or only the database?"""
        return bool(self.app or os.environ.get("JOBTRAIL_APP"))

    def _load(self, *, tasks: bool) -> JobTrail:
        from jobtrail import JobTrail
        from jobtrail.errors import UsageError
        from jobtrail.store import Store

        self._name_config()
        named = self.app or os.environ.get("JOBTRAIL_APP")
        url = self.database or os.environ.get("JOBTRAIL_URL")
        if named and not (self.database and not self.app and not tasks):
            jobs = load(named)
            if self.database:
                jobs.store.close()
                jobs.store = jobs.service.store = Store(self.database, pooler=jobs.settings.pooler)
            return jobs
        if tasks:
            message = "this command needs the tasks: say --app module:object, or set JOBTRAIL_APP"
            raise UsageError(message)
        if not url and not Path("jobs.db").exists():
            message = "say where the jobs are: --app module:object or --database URL (or JOBTRAIL_APP, JOBTRAIL_URL)"
            raise UsageError(message)
        return JobTrail(url)

    def _name_config(self) -> None:
        """A `jobtrail.toml` in the working directory counts for a command, for the program that it loads and for its processes."""
        from jobtrail.overrides import FILE, VARIABLE

        if VARIABLE not in os.environ and Path(FILE).is_file():
            os.environ[VARIABLE] = str(Path(FILE).resolve())
            self._named_config = True

    def close(self) -> None:
        """Close what was opened, and leave the environment as it was."""
        if self._opened is not None:
            self._opened.close()
        if self._named_config:
            os.environ.pop("JOBTRAIL_CONFIG", None)


def load(named: str) -> JobTrail:
    """The JobTrail that ``module:object`` names; the object may be a function without arguments that returns one.

    Raises: UsageError, with what is wrong.
    """
    from jobtrail import JobTrail
    from jobtrail.errors import UsageError

    module_name, colon, path = named.partition(":")
    if not colon or not module_name or not path:
        message = f"'{named}' is not of the form module:object, as in myproject.jobs:jobs"
        raise UsageError(message)
    found: Any = _module(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            message = f"the module '{module_name}' has no '{path}'"
            raise UsageError(message)
        found = getattr(found, name)
    if not isinstance(found, JobTrail) and callable(found):
        found = _called(found, named)
    if not isinstance(found, JobTrail):
        message = (
            f"'{named}' is a {type(found).__name__}, not a JobTrail (nor a function without arguments that returns one)"
        )
        raise UsageError(message)
    return found


def _module(name: str) -> Any:
    from jobtrail.errors import JobTrailError, UsageError

    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        own = name == missing or name.startswith(f"{missing}.")
        message = f"there is no module '{missing}'" + ("" if own else f", which '{name}' imports")
        raise UsageError(message) from error
    except JobTrailError:
        raise
    except (Exception, SystemExit) as error:
        message = f"importing '{name}' failed: {type(error).__name__}: {error} (run with --debug for the traceback)"
        raise UsageError(message) from error


def _called(factory: Any, named: str) -> Any:
    from jobtrail.errors import JobTrailError, UsageError

    try:
        return factory()
    except JobTrailError:
        raise
    except (Exception, SystemExit) as error:
        message = f"calling '{named}' failed: {type(error).__name__}: {error} (run with --debug for the traceback)"
        raise UsageError(message) from error


def _check_there(jobs: JobTrail) -> None:
    from jobtrail.errors import NotFound

    path = jobs.store.database.path
    if path is not None and not str(path).startswith("file:") and not path.exists():
        message = f"there is no database file {path}"
        raise NotFound(message)
