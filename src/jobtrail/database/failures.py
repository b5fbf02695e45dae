"""What a driver's error means: one table of SQLSTATEs and one of SQLite's result codes, read in one place.

A caller must know one of four things: the database is away or too slow (wait and write again), a row with this key
exists (read it back), a value cannot be stored (leave it out, keep the truth), or it is a fault of ours (keep what was
to be written, and say so). Codes: PostgreSQL manual, appendix A; sqlite.org/rescode.html.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from jobtrail.errors import DuplicateRow, StoreError, StoreUnavailable, ValueNotStorable
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping


class Meaning(StrEnum):
    """What a caller can do about it."""

    AWAY = "away"  # not reachable, shutting down, full, read-only, not permitted: wait and write again
    LOCKED = "locked"  # somebody's open transaction holds a row: write again beside the others
    DUPLICATE = "duplicate"  # a row with this key exists
    VALUE = "value"  # the value cannot be stored as it is
    BUG = "bug"  # the statement itself is refused


@dataclass(frozen=True, slots=True)
class DriverFailure:
    """A driver's error, understood: its code (SQLSTATE or SQLite's), its meaning and the driver's first line."""

    meaning: Meaning
    code: str
    text: str

    @property
    def loses_connection(self) -> bool:
        """The connection cannot be used any more."""
        if self.code.startswith("SQLITE_") or self.code == "SQLITE":
            return self.meaning is Meaning.AWAY
        ended = (
            self.code[:2] in {"08", "28"}
            or self.code[:3] == "57P"
            or self.code in {"25P03", "25P04", "25006", "26000", "40003", "42P05"}
        )
        return ended or (self.meaning is Meaning.AWAY and not self.code)


BUSY = "SQLITE_BUSY"
BUSY_HERE = "SQLITE_BUSY here"  # not SQLite's: the lock is held by this process
# The longest prefix decides.
POSTGRESQL: Mapping[str, Meaning] = {
    "08": Meaning.AWAY,  # connection exceptions
    "0A000": Meaning.AWAY,  # on a standby: "cannot set transaction read-write mode during recovery"
    "22": Meaning.VALUE,  # data exceptions: NUL in a text, a number out of range
    "23": Meaning.BUG,  # integrity: a check, a foreign key
    "23505": Meaning.DUPLICATE,
    "25006": Meaning.AWAY,  # read_only_sql_transaction
    "25P02": Meaning.BUG,  # a statement after a failed one
    "25P03": Meaning.AWAY,  # idle_in_transaction_session_timeout
    "25P04": Meaning.AWAY,  # transaction_timeout
    "26000": Meaning.AWAY,  # a prepared statement is missing: a pooler gave its session to somebody else
    "28": Meaning.AWAY,  # the login is refused
    "3D000": Meaning.AWAY,  # there is no such database
    "40": Meaning.LOCKED,  # serialization failure, deadlock
    "40003": Meaning.AWAY,  # statement_completion_unknown
    "42": Meaning.BUG,  # syntax, an unknown column
    "42P05": Meaning.AWAY,  # a prepared statement exists: a pooler gave us somebody's session
    "42501": Meaning.AWAY,  # insufficient_privilege: an administrator can mend it
    "42P01": Meaning.AWAY,  # undefined_table: not migrated yet, or another search_path
    "3F000": Meaning.AWAY,  # undefined schema: another search_path
    "53": Meaning.AWAY,  # too many connections, out of memory, disk full
    "54": Meaning.VALUE,  # program limits: a row or an index entry that is too large
    "55": Meaning.AWAY,  # an object in use
    "55P03": Meaning.LOCKED,  # lock_not_available
    "57": Meaning.AWAY,  # terminated, shutting down, starting up, idle session
    "57014": Meaning.AWAY,  # query_canceled: statement_timeout
    "58": Meaning.AWAY,  # input or output of the server
    "XX": Meaning.BUG,
    "XX001": Meaning.AWAY,  # data_corrupted
    "XX002": Meaning.AWAY,  # index_corrupted
}

SQLITE: Mapping[str, Meaning] = {
    "SQLITE_AUTH": Meaning.AWAY,
    BUSY: Meaning.AWAY,
    "SQLITE_CANTOPEN": Meaning.AWAY,
    "SQLITE_CONSTRAINT": Meaning.BUG,
    "SQLITE_CONSTRAINT_PRIMARYKEY": Meaning.DUPLICATE,
    "SQLITE_CONSTRAINT_ROWID": Meaning.DUPLICATE,
    "SQLITE_CONSTRAINT_UNIQUE": Meaning.DUPLICATE,
    "SQLITE_CORRUPT": Meaning.AWAY,
    "SQLITE_FULL": Meaning.AWAY,
    "SQLITE_INTERRUPT": Meaning.AWAY,
    "SQLITE_IOERR": Meaning.AWAY,
    "SQLITE_LOCKED": Meaning.AWAY,
    "SQLITE_MISMATCH": Meaning.VALUE,
    "SQLITE_NOMEM": Meaning.AWAY,
    "SQLITE_NOTADB": Meaning.AWAY,
    "SQLITE_PERM": Meaning.AWAY,
    "SQLITE_PROTOCOL": Meaning.AWAY,
    "SQLITE_READONLY": Meaning.AWAY,
    "SQLITE_SCHEMA": Meaning.AWAY,
    "SQLITE_TOOBIG": Meaning.VALUE,
}
_NO_OPTIONS = "unsupported startup parameter"  # pgbouncer's words; it has no SQLSTATE for them
_NO_TABLE = "no such table"  # SQLITE_ERROR: the file is new, or another one lies in its place


def failure_of(error: BaseException | None) -> DriverFailure | None:
    """Understand a driver's error, wrapped by SQLAlchemy or bare; None if it is no driver's error."""
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    original = error.orig if isinstance(error, DBAPIError) else error
    if original is None:
        return None
    text = next(iter(str(original).strip().splitlines()), "") or type(original).__name__
    if isinstance(original, (UnicodeEncodeError, OverflowError)):
        return DriverFailure(Meaning.VALUE, type(original).__name__, text)
    if isinstance(original, sqlite3.Error):
        return _of_sqlite(original, text)
    if type(original).__module__.partition(".")[0] == "psycopg":
        return _of_postgresql(original, text, lost=lost)
    return DriverFailure(Meaning.AWAY if lost else Meaning.BUG, "", text) if isinstance(error, DBAPIError) else None


def _of_postgresql(error: BaseException, text: str, *, lost: bool) -> DriverFailure:
    state: str | None = getattr(error, "sqlstate", None)
    if state is not None:
        found = (POSTGRESQL[state[:length]] for length in (5, 3, 2) if state[:length] in POSTGRESQL)
        return DriverFailure(next(found, Meaning.BUG), state, text)
    kind = type(error).__name__
    if lost or kind == "OperationalError" or "closed" in text:
        return DriverFailure(Meaning.AWAY, "", text)
    # The driver itself refuses a value before it is sent: NUL in a text, a number that no type takes.
    return DriverFailure(Meaning.VALUE if kind == "DataError" else Meaning.BUG, kind, text)


def _of_sqlite(error: sqlite3.Error, text: str) -> DriverFailure:
    name: str = getattr(error, "sqlite_errorname", None) or ""
    short = "_".join(name.split("_")[:2])
    if name in SQLITE or short in SQLITE:
        return DriverFailure(SQLITE.get(name) or SQLITE[short], name if name in SQLITE else short, text)
    if _NO_TABLE in text or "closed" in text:
        return DriverFailure(Meaning.AWAY, name, text)
    refused = isinstance(error, (sqlite3.DataError, sqlite3.InterfaceError)) or "binding parameter" in text
    return DriverFailure(Meaning.VALUE if refused else Meaning.BUG, name, text)


def translated(failure: DriverFailure, where: Message) -> StoreError:
    """Return the error that a caller is given.

    Args:
        failure: What happened.
        where: The database in words, for the sentence.

    """
    match failure.meaning:
        case Meaning.AWAY | Meaning.LOCKED:
            return StoreUnavailable(_away(failure, where))
        case Meaning.DUPLICATE:
            return DuplicateRow(Message("database.duplicate-row", where=where, text=failure.text))
        case Meaning.VALUE:
            return ValueNotStorable(Message("database.value-not-storable", where=where, text=failure.text))
        case Meaning.BUG:
            code = failure.code or "-"
            return StoreError(Message("database.statement-refused", where=where, error=code, text=failure.text))


def _away(failure: DriverFailure, where: Message) -> Message:
    if _NO_OPTIONS in failure.text:
        return Message("database.pooler-refuses-options", where=where, error=failure.text)
    code = _SENTENCES.get(failure.code, "database.unavailable" if failure.code else "database.unreachable")
    return Message("database.no-table" if _NO_TABLE in failure.text else code, where=where, text=failure.text)


_SENTENCES = {
    "25006": "database.read-only-now",
    "0A000": "database.standby",
    "55P03": "database.row-locked",
    "40001": "database.transactions-collided",
    "40P01": "database.transactions-collided",
    "57014": "database.statement-timeout",
    "42501": "database.no-rights",
    BUSY: "database.locked",
    BUSY_HERE: "database.locked-by-process",
    "SQLITE_LOCKED": "database.locked",
    "SQLITE_READONLY": "database.read-only",
    "SQLITE_NOTADB": "database.not-sqlite",
    "SQLITE_CORRUPT": "database.damaged",
    "SQLITE_FULL": "database.disk-full",
    "SQLITE_IOERR": "database.disk-failed",
    "SQLITE_CANTOPEN": "database.cannot-open",
}
