"""An ended job as one JSON object: what `export` writes and `import` reads, and what is wrong with one that cannot be read.

Times are ISO texts with an offset (or aware datetimes). ``id`` is a UUIDv7; a job of another system has a ``key`` instead,
from which an id is made that begins with the job's own time, so that the same record is the same job each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from json import dumps
from typing import Any
from uuid import UUID

from jobtrail.errors import InvalidPeriod
from jobtrail.job.failure import Failure, fingerprint
from jobtrail.job.items import ItemOutcome
from jobtrail.job.json_value import safe_text
from jobtrail.job.model import DEFAULT_PRIORITY, DEFAULT_QUEUE, FINAL, OUTCOME_OF, Mode, Status
from jobtrail.job.period import Period
from jobtrail.job.task import labels_option
from jobtrail.job.unit import Unit, unit_of
from jobtrail.messages import Message

Kind = Callable[[Any], Any]
LONGEST_TEXT = 4_000_000  # bytes
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS = range(1970, 3000)


class BadRecord(Exception):
    """A record that cannot be read; ``problems`` are (field, what is wrong)."""

    def __init__(self, problems: list[tuple[str, Message]]) -> None:
        super().__init__(problems)
        self.problems = problems


class _Wrong(Exception):
    def __init__(self, why: Message) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class EndedJob:
    """An ended job as it is stored: values of columns by name, and the rows that belong to it.

    Attributes:
        row: Columns of the job.
        labels: Its labels.
        unit: The identity of its work, if it has one.
        parts: Rows of items, item_history, steps, questions, trail and log, by these names.
    """

    row: dict[str, Any]
    labels: dict[str, str]
    unit: Unit | None
    parts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def ledger(self) -> str:
        """Id under which its items and steps are kept."""
        ledger: str = self.row.get("generation") or self.row["id"]
        return ledger


# -- kinds of values ---------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong(Message("job.record-not-text", type=type(value).__name__))
    return safe_text(value, LONGEST_TEXT)


def _name(value: Any) -> str:
    text = _text(value)
    if not text.strip() or len(text) > 500 or not text.isprintable():
        raise _Wrong(Message("job.record-not-name", value=repr(text[:60])))
    return text


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise _Wrong(Message("job.record-not-number", value=repr(value)[:60]))
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise _Wrong(Message("job.record-not-number", value=repr(value)[:60]))
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(Message("job.record-not-flag", value=repr(value)[:60]))
    return value


def _moment(value: Any) -> datetime:
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _Wrong(Message("job.record-not-time", value=repr(value)[:60])) from None
    if at.tzinfo is None:
        raise _Wrong(Message("job.record-naive-time", value=str(value)[:60]))
    if at.year not in _YEARS:
        raise _Wrong(Message("job.record-not-time", value=repr(value)[:60]))
    return at if at.tzinfo is UTC else at.astimezone(UTC)


def _id(value: Any) -> str:
    try:
        found = UUID(value)
    except (TypeError, ValueError, AttributeError):
        raise _Wrong(Message("job.record-not-id", value=repr(value)[:60])) from None
    if found.version != 7:
        raise _Wrong(Message("job.record-not-id", value=str(found)))
    return str(found)


def _object(value: Any) -> str:
    if not isinstance(value, Mapping):
        raise _Wrong(Message("job.record-not-object", type=type(value).__name__))
    return _json(value)


def _json(value: Any) -> str:
    try:
        return dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _Wrong(Message("job.record-not-json", error=error)) from None


def _limits(value: Any) -> str:
    """The keys of limits, in the same text as a submission stores them, for re-runs have it too."""
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in value.values()):
        raise _Wrong(Message("job.record-not-object", type=type(value).__name__))
    return dumps(dict(value), ensure_ascii=False)


def _choice(*allowed: str) -> Kind:
    def read(value: Any) -> str:
        if value not in allowed:
            raise _Wrong(Message("job.record-not-choice", value=repr(value)[:60], allowed=", ".join(allowed)))
        return str(value)

    return read


def _failure(value: Any) -> str:
    """An error: its text, or an object with ``type``, ``message``, ``traceback``, ``origin``, ``fingerprint``."""
    given = {"message": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for one in given.values()):
        raise _Wrong(Message("job.record-not-error"))
    known = {name: safe_text(str(given.get(name) or ""), LONGEST_TEXT) for name in Failure.__slots__}
    known["fingerprint"] = known["fingerprint"] or fingerprint(known["type"], known["message"], known["origin"])
    return Failure(**known).to_json()


def _input(value: Any) -> str:
    """An input file: an object with ``path``, ``size``, ``sha256`` and ``uploaded``."""
    if not isinstance(value, Mapping) or not all(isinstance(value.get(name), str) for name in ("path", "sha256")):
        raise _Wrong(Message("job.record-not-file"))
    size = value.get("size", 0)
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise _Wrong(Message("job.record-not-file"))
    return dumps({"path": value["path"], "size": size, "sha256": value["sha256"], "uploaded": bool(value.get("uploaded"))})


@lru_cache(maxsize=4096)
def _period(value: Any) -> str:
    try:
        return Period.parse(value).text
    except InvalidPeriod as error:
        raise _Wrong(Message("job.record-not-period", error=error)) from None


_ACTOR = {"actor": _text, "reason": _text}
JOB: dict[str, Kind] = {
    "id": _id, "key": _name, "task": _name, "kind": _name, "status": _choice(*sorted(FINAL)), "outcome": _text,
    "queue": _name, "priority": _number, "attempt": _number, "max_attempts": _number, "run_no": _number,
    "source": _name, "period": _period, "file": _input, "mode": _choice(*Mode), "generation": _id, "continues": _text,
    "rerun_of": _id, "parent": _id, "root": _id, **_ACTOR, "context": _object, "labels": _object, "args": _object,
    "options": _object, "limits": _limits, "created_at": _moment, "run_at": _moment, "started_at": _moment, "finished_at": _moment,
    "result": _json, "note": _text, "error": _failure, "retry_reason": _text,
    "items_ok": _number, "items_failed": _number, "items_skipped": _number,
}  # fmt: skip
NUMBERS = frozenset(name for name, kind in JOB.items() if kind is _number)
OBJECTS = frozenset(name for name, kind in JOB.items() if kind in {_object, _json, _failure, _input, _limits})
_ITEM: dict[str, Kind] = {
    "loop": _text, "key": _text, "position": _number, "outcome": _choice(*ItemOutcome), "reason": _text,
    "error_type": _text, "run_no": _number, "tries": _number, "at": _moment,
}  # fmt: skip
PARTS: dict[str, dict[str, Kind]] = {
    "items": _ITEM,
    "item_history": {**_ITEM, "last_of_job": _flag},
    "steps": {"name": _text, "digest": _text, "run_no": _number, "result": _json, "seconds": _seconds, "at": _moment},
    "questions": {
        "id": _id, "run_no": _number, "name": _text, "text": _text, "kind": _text, "schema": _json, "detail": _json,
        "digest": _text, "default": _json, "remember": _flag, "state": _text, "asked_at": _moment, "expires_at": _moment,
        "answer": _json, "closed_at": _moment, **_ACTOR,
    },
    "trail": {
        "at": _moment, "name": _name, "from_status": _text, "to_status": _text, "run_no": _number, **_ACTOR, "detail": _object,
    },
    "log": {"seq": _number, "run_no": _number, "at": _moment, "lines": _number, "bytes": _number, "dropped": _number, "text": _text},
}  # fmt: skip
_NEEDED = {
    "job": ("task", "status", "finished_at"),
    "items": ("key", "outcome"),
    "item_history": ("key", "outcome"),
    "steps": ("name", "digest", "at"),
    "questions": ("id", "name", "text", "kind", "schema", "digest", "state", "asked_at"),
    "trail": ("at", "name"),
    "log": ("text",),
}
_MOST_PRIORITY = 9


# -- a record ----------------------------------------------------------------------------------------


def read(record: Any) -> EndedJob:
    """Read one record.

    Raises:
        BadRecord: With every field that is wrong.
    """
    if not isinstance(record, Mapping):
        raise BadRecord([("", Message("job.record-not-object", type=type(record).__name__))])
    problems: list[tuple[str, Message]] = []
    given = {name: value for name, value in record.items() if name not in PARTS}
    row = _values(given, JOB, _NEEDED["job"], "", problems)
    parts = {
        name: _rows(record[name], name, problems) for name in PARTS if record.get(name) is not None
    }
    if not problems:
        problems += _against(row)
    labels: dict[str, str] = {}
    if record.get("labels") and not problems:
        try:
            labels = labels_option(record["labels"])
        except ValueError as error:
            problems.append(("labels", Message("job.record-refused", error=error)))
    if problems:
        raise BadRecord(problems)
    return _ended(record, row, labels, parts)


def _values(
    given: Mapping[str, Any], kinds: Mapping[str, Kind], needed: tuple[str, ...], path: str, problems: list[tuple[str, Message]]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items():
        kind = kinds.get(name)
        if kind is None:
            problems.append((f"{path}{name}", Message("job.record-unknown-field", known=", ".join(kinds))))
        elif value is not None:
            try:
                found[name] = kind(value)
            except _Wrong as wrong:
                problems.append((f"{path}{name}", wrong.why))
    problems += [(f"{path}{name}", Message("job.record-missing")) for name in needed if given.get(name) is None]
    return found


def _rows(given: Any, name: str, problems: list[tuple[str, Message]]) -> list[dict[str, Any]]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(one, Mapping) for one in given):
        problems.append((name, Message("job.record-not-rows")))
        return []
    return [_values(one, PARTS[name], _NEEDED[name], f"{name}[{place}].", problems) for place, one in enumerate(given)]


def _against(row: Mapping[str, Any]) -> list[tuple[str, Message]]:
    """What does not fit together."""
    found = []
    expected = OUTCOME_OF.get(Status(row["status"]))
    if row.get("outcome") not in {None, expected}:
        found.append(("outcome", Message("job.record-other-outcome", status=row["status"])))
    late = [name for name in ("created_at", "started_at") if name in row and row[name] > row["finished_at"]]
    found += [(name, Message("job.record-after-end")) for name in late]
    if row.get("priority", 0) > _MOST_PRIORITY:
        found.append(("priority", Message("job.record-not-choice", value=row["priority"], allowed="0 – 9")))
    if "period" in row and "file" in row:
        found.append(("period", Message("job.record-period-or-file")))
    return found


def _ended(
    record: Mapping[str, Any], row: dict[str, Any], labels: dict[str, str], parts: dict[str, list[dict[str, Any]]]
) -> EndedJob:
    key = row.pop("key", None)
    row["created_at"] = row.get("created_at") or row.get("started_at") or row["finished_at"]
    if "id" not in row:
        row["id"] = id_at(row["created_at"], key if key is not None else dumps(record, sort_keys=True, default=str))
    outcome = OUTCOME_OF.get(Status(row["status"]))
    row["outcome"] = outcome.value if outcome is not None else None
    row["queue"], row["priority"] = row.get("queue", DEFAULT_QUEUE), row.get("priority", DEFAULT_PRIORITY)
    row["args"] = row.get("args", "{}")
    ran = int(row.get("started_at") is not None)
    row["attempt"], row["run_no"] = row.get("attempt", ran), row.get("run_no", ran)
    row["labels"] = dumps(labels) if labels else None
    if "error" in row:
        row["fingerprint"] = Failure.from_json(row["error"]).fingerprint
    _complete(row, parts)
    return EndedJob(row, labels, _unit(record, row), parts)


def _complete(row: dict[str, Any], parts: dict[str, list[dict[str, Any]]]) -> None:
    """Fill what simple records leave out: numbers and times of items and lines, and the counts of the items."""
    end, run = row["finished_at"], row["run_no"]
    item = {"loop": "items", "reason": None, "error_type": None, "run_no": run, "tries": 1, "at": end}
    _default(parts, "items", lambda place, _: {**item, "position": place})
    _default(parts, "item_history", lambda place, _: {**item, "position": place, "last_of_job": True})
    _default(parts, "steps", lambda _, __: {"run_no": run, "seconds": 0.0})
    _default(parts, "questions", lambda _, __: {"run_no": run, "remember": False})
    _default(parts, "log", lambda place, text: {
        "seq": place, "run_no": run, "at": end, "lines": text.count("\n") + 1, "bytes": len(text.encode()), "dropped": 0,
    })  # fmt: skip
    if parts.get("items") and not any(f"items_{outcome}" in row for outcome in ItemOutcome):
        for outcome in ItemOutcome:
            row[f"items_{outcome}"] = sum(one["outcome"] == outcome for one in parts["items"])


def _default(
    parts: dict[str, list[dict[str, Any]]], name: str, values: Callable[[int, str], dict[str, Any]]
) -> None:
    """Give the rows of a part what they leave out."""
    if name in parts:
        parts[name] = [{**values(place, one.get("text", "")), **one} for place, one in enumerate(parts[name])]


def _unit(record: Mapping[str, Any], row: Mapping[str, Any]) -> Unit | None:
    file, options = record.get("file") or {}, record.get("options") or {}
    period = _parsed(row["period"]) if "period" in row else None
    name = file["path"].replace("\\", "/").rsplit("/", 1)[-1] if file else None
    return unit_of(row["task"], row.get("source"), period, file.get("sha256"), name, options.get("unit"))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Period:
    return Period.parse(text)


def id_at(moment: datetime, key: str) -> str:
    """An id that begins with a moment, as those of jobs do, and is the same for the same key."""
    millis = max((moment - _EPOCH).total_seconds() * 1000, 0)
    rest = int.from_bytes(blake2b(key.encode("utf-8", "backslashreplace"), digest_size=10).digest())
    high, low = rest >> 68, rest & (1 << 62) - 1
    return str(UUID(int=int(millis) << 80 | 7 << 76 | high << 64 | 2 << 62 | low))
