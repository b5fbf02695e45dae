"""Reads what Celery has kept of ended tasks in a database, as records for the import: django-celery-results, and Celery's own backend.

The tables are reflected, so neither Celery nor Django has to be installed, and columns that an older version lacks are left out.
"""

from __future__ import annotations

import ast
import json
import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import LargeBinary, MetaData, Table, create_engine, select, type_coerce
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, NoSuchTableError, SQLAlchemyError

from jobtrail.errors import UsageError
from jobtrail.job.json_value import encode_result
from jobtrail.messages import Message, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

DJANGO, BACKEND = "django-celery-results", "celery"
_TABLES = {DJANGO: "django_celery_results_taskresult", BACKEND: "celery_taskmeta"}
_STATUS = {"SUCCESS": "completed", "FAILURE": "failed", "REVOKED": "cancelled"}  # the others have not ended
_AT_ONCE = 1_000
UNNAMED = "celery.unnamed"  # Celery keeps names with result_extended only


@dataclass(frozen=True, slots=True)
class CeleryResults:
    """The ended tasks in a table of Celery, oldest first; it can be read again and again.

    Args:
        url: SQLAlchemy's URL of the database; ``postgresql://`` takes psycopg.
        kind: "django-celery-results", or "celery" for the database backend.
        unpickle: Load pickled results. A pickle can run any program, so whoever can write to that table could do it here.

    Raises:
        UsageError: If the kind is not known; at the first record, if the database or the table is not there.
    """

    url: str
    kind: str
    unpickle: bool = False

    def __post_init__(self) -> None:
        """Check the kind."""
        if self.kind not in _TABLES:
            raise UsageError(Message("integrations.results-kind", kind=self.kind, known=", ".join(_TABLES)))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each task that has ended, as a record."""
        engine = _engine(self.url)
        try:
            table = _table(engine, _TABLES[self.kind])
            columns = [type_coerce(one, LargeBinary).label(one.name) if self._is_bytes(one.name) else one for one in table.c]
            query = select(*columns).where(table.c.status.in_(sorted(_STATUS))).order_by(table.c.id)
            with engine.connect() as conn:
                for row in conn.execution_options(yield_per=_AT_ONCE).execute(query):
                    yield self._record(row)
        finally:
            engine.dispose()

    def _is_bytes(self, column: str) -> bool:
        return self.kind == BACKEND and column in {"result", "args", "kwargs"}

    def _record(self, row: Any) -> dict[str, Any]:
        found = row._mapping
        status = _STATUS[found["status"]]
        done = _utc(found.get("date_done")) or _utc(found.get("date_created"))
        result, note = self._result(found)
        record: dict[str, Any] = {
            "key": found["task_id"], "task": found.get("task_name") or found.get("name") or UNNAMED, "status": status, "kind": "celery",
            "queue": found.get("queue") or "celery", "finished_at": done, "created_at": _before(found.get("date_created"), done),
            "started_at": _before(found.get("date_started"), done), "labels": {"celery": found["task_id"]},
            "args": _arguments(found.get("task_args", found.get("args")), found.get("task_kwargs", found.get("kwargs"))),
            "attempt": (found.get("retries") or 0) + 1, "note": note,
        }  # fmt: skip
        if found.get("worker"):
            record["context"] = {"celery_worker": found["worker"]}
        if status == "failed":
            record["error"] = _error(result, found.get("traceback"))
        elif status == "completed":
            record["result"] = result
        return record

    def _result(self, found: Any) -> tuple[Any, str | None]:
        """The result as JSON, and a note where it was left as it is."""
        raw = found.get("result")
        if raw is None:
            return None, None
        pickled = self.kind == BACKEND or "python-serialize" in (found.get("content_type") or "")
        if not pickled:
            return _parsed(raw), None
        if not self.unpickle:
            return None, render(Message("integrations.results-pickled"))
        try:
            text, note = encode_result(pickle.loads(_bytes(raw)))  # noqa: S301 - asked for, with its danger
        except Exception as error:
            return None, render(Message("integrations.results-not-unpickled", error=error))
        return json.loads(text) if text is not None else None, note


def _engine(url: str) -> Engine:
    given = url.replace("postgres://", "postgresql://", 1)
    try:
        return create_engine(given.replace("postgresql://", "postgresql+psycopg://", 1))
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        raise UsageError(Message("integrations.results-database", error=error)) from None


def _table(engine: Engine, name: str) -> Table:
    try:
        return Table(name, MetaData(), autoload_with=engine)
    except NoSuchTableError:
        raise UsageError(Message("integrations.results-table", table=name)) from None
    except SQLAlchemyError as error:
        raise UsageError(Message("integrations.results-database", error=error)) from None


def _utc(value: Any) -> datetime | None:
    """A time of Celery: with its zone where the database keeps one, else UTC, as Celery and Django write it."""
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(at, datetime):
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _before(value: Any, done: datetime | None) -> datetime | None:
    at = _utc(value)
    return min(at, done) if at is not None and done is not None else at


def _arguments(args: Any, kwargs: Any) -> dict[str, Any]:
    """Keywords as arguments by name; what stands before them, or is no JSON, under names of its own."""
    positional, named = _loaded(args), _loaded(kwargs)
    found = {str(key): value for key, value in named.items()} if isinstance(named, dict) else {}
    if named and not isinstance(named, dict):
        found["kwargs"] = named
    if positional:
        found["args"] = positional
    return found


def _loaded(value: Any) -> Any:
    """A value that Celery has kept as JSON, as the text that Python prints, or as both one in the other."""
    if value is None:
        return None
    found = _parsed(_bytes(value).decode("utf-8", "replace"))
    if not isinstance(found, str):
        return found
    try:
        return json.loads(json.dumps(ast.literal_eval(found)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return found


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value)
    except (ValueError, TypeError):
        return value


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _error(result: Any, traceback: str | None) -> dict[str, str]:
    """Why it failed, from the result that Celery keeps of an exception, else from the last line of the traceback."""
    last = (traceback or "").strip().rsplit("\n", 1)[-1]
    kind, _, message = last.partition(": ")
    if isinstance(result, dict) and result.get("exc_type"):
        said = result.get("exc_message")
        kind = str(result["exc_type"])
        message = "; ".join(map(str, said)) if isinstance(said, (list, tuple)) else str(said or "")
    elif isinstance(result, str):
        message = result
    return {"type": kind or "Exception", "message": message, "traceback": traceback or ""}
