"""What every command receives: where the jobs are, how to print, and the application once it is loaded."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from jobtrail.messages import Message, current_language

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from jobtrail import JobTrail

WIDE = 1000  # columns of a file or a pipe: nothing is cut there


@dataclass
class Session:
    """One call of the command."""

    app: str | None = None
    database: str | None = None
    as_json: bool = False
    command_names: frozenset[str] = frozenset()  # of the program's own commands
    language: str = field(default_factory=current_language)  # of the person at the terminal
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
        """Standard error, for everything but the answer."""
        return self._console("err")

    def _console(self, name: str) -> Console:
        from rich.console import Console

        if name not in self._consoles:
            stream = sys.stdout if name == "out" else sys.stderr
            width = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
            console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
            console.on_broken_pipe = _raise_again  # type: ignore[method-assign] # else Rich redirects standard output and exits
            self._consoles[name] = console
        return self._consoles[name]

    def say(self, *parts: str | Text | tuple[str, str]) -> None:
        """Print a line for people; a pair is a text and its style. Prints nothing with ``--json``."""
        from rich.text import Text

        if not self.as_json:
            self.console.print(Text.assemble(*parts), soft_wrap=True)

    def hint(self, *parts: str | Text | tuple[str, str]) -> None:
        """Print a line on standard error; where its reader has left, the command goes on without it."""
        from rich.text import Text

        try:
            self.errors.print(Text.assemble(*parts), soft_wrap=True)
        except BrokenPipeError:
            silence(sys.stderr)

    def json(self, value: Any) -> None:
        """Print the answer for programs: one line of plain ASCII, so that it can be printed anywhere.

        Args:
            value: A JSON value, or the model that a query returned: it is printed as the API returns it.
        """
        if hasattr(value, "model_dump"):
            value = value.model_dump(mode="json")
        sys.stdout.write(json.dumps(value, default=str) + "\n")

    # -- the application -----------------------------------------------------------------------------

    def open(self, *, tasks: bool = False, creates: bool = False) -> JobTrail:
        """Return the application, loaded once.

        Args:
            tasks: The command needs the task functions, not only the database.
            creates: The database may not exist yet.

        Raises:
            UsageError: if no application or database is named, or it cannot be loaded.
            NotFound: if the database file does not exist.
        """
        if self._opened is None:
            self._opened = self._load(tasks=tasks)
            if not creates:
                _check_there(self._opened)
        return self._opened

    @property
    def has_app(self) -> bool:
        """Whether the tasks are known, and not only the database."""
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
            raise UsageError(Message("cli.no-application"))
        if not url and not Path("jobs.db").exists():
            raise UsageError(Message("cli.no-place"))
        return JobTrail(url)

    def _name_config(self) -> None:
        """Use a `jobtrail.toml` of the working directory, also for the program that is loaded and its processes."""
        from jobtrail.overrides import FILE, VARIABLE

        if VARIABLE not in os.environ and Path(FILE).is_file():
            os.environ[VARIABLE] = str(Path(FILE).resolve())
            self._named_config = True

    def close(self) -> None:
        """Close the application and restore the environment."""
        if self._opened is not None:
            self._opened.close()
        if self._named_config:
            os.environ.pop("JOBTRAIL_CONFIG", None)


def silence(stream: TextIO) -> None:
    """Print nothing more on a stream whose reader has left."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _raise_again() -> None:
    """Raise the error that is being handled, for `Console.on_broken_pipe`."""
    raise  # noqa: PLE0704 - it is called where the error is handled


def load(named: str) -> JobTrail:
    """Return the JobTrail that ``module:object`` names; the object may be a function without arguments that returns one.

    Raises:
        UsageError: if there is no such object, or it is not a JobTrail.
    """
    from jobtrail import JobTrail
    from jobtrail.errors import UsageError

    module_name, colon, path = named.partition(":")
    if not colon or not module_name or not path:
        raise UsageError(Message("cli.not-module-object", named=named))
    found: Any = _module(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise UsageError(Message("cli.module-without", module=module_name, name=path))
        found = getattr(found, name)
    if not isinstance(found, JobTrail) and callable(found):
        found = _called(found, named)
    if not isinstance(found, JobTrail):
        raise UsageError(Message("cli.not-a-jobtrail", named=named, type=type(found).__name__))
    return found


def _module(name: str) -> Any:
    from jobtrail.errors import JobTrailError, UsageError

    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        message = Message("cli.no-module", module=missing)
        if name != missing and not name.startswith(f"{missing}."):
            message = Message("cli.no-module-for", module=missing, importer=name)
        raise UsageError(message) from error
    except JobTrailError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(Message("cli.import-failed", module=name, type=type(error).__name__, error=error)) from error


def _called(factory: Any, named: str) -> Any:
    from jobtrail.errors import JobTrailError, UsageError

    try:
        return factory()
    except JobTrailError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(Message("cli.call-failed", named=named, type=type(error).__name__, error=error)) from error


def _check_there(jobs: JobTrail) -> None:
    from jobtrail.errors import NotFound

    path = jobs.store.database.path
    if path is not None and not str(path).startswith("file:") and not path.exists():
        raise NotFound(Message("cli.no-database-file", path=jobs.store.database.url.database))
