"""Jobs as JSON objects and as words and colours, the same in every command."""

from __future__ import annotations

from json import loads
from typing import TYPE_CHECKING, Any

from jobtrail.job.failure import mask_urls
from jobtrail.job.masking import MASK, is_secret, masked
from jobtrail.job.model import JobRow

from .text import clean, iso, short, tail

if TYPE_CHECKING:
    from datetime import datetime

    from jobtrail.store.events import Event
    from jobtrail.store.items import ItemRow
    from jobtrail.store.questions import QuestionRow
    from jobtrail.store.search.search import ListRow

COLOURS = {
    "pending": "cyan",
    "running": "bold blue",
    "awaiting_input": "magenta",
    "awaiting_mapping": "magenta",
    "cancelling": "yellow",
    "interrupted": "bold yellow",
    "completed": "green",
    "partial": "yellow",
    "failed": "bold red",
    "cancelled": "dim",
    "success": "green",
    "error": "bold red",
}
_JSON = ("args", "options", "file", "context", "labels", "result", "error")
_TIMES = ("run_at", "created_at", "started_at", "finished_at", "stop_at")
_INTERNAL = ("unit_lock", "submitter", "deadline_run")


def parsed(text: str | None) -> Any:
    """Stored JSON, or the text itself where it is none."""
    if text is None:
        return None
    try:
        return loads(text)
    except ValueError:
        return text


def job_json(row: JobRow | ListRow, marked: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A job for programs: stored JSON unfolded, times in UTC, secrets masked."""
    values: dict[str, Any] = {name: getattr(row, name) for name in row.__slots__ if name not in _INTERNAL}
    for name in _JSON:
        if name in values:
            # A list reads only the beginning of an error, so what it has is a sentence and no object.
            values[name] = masked(parsed(values[name]), marked)
    for name in _TIMES:
        if name in values:
            values[name] = iso(values[name])
    if isinstance(row, JobRow):
        values["deadline_at"] = iso(row.deadline)
        values["deadline_cause"] = row.deadline_cause if row.deadline else None
    for name in ("status", "outcome"):
        values[name] = str(values[name]) if values[name] is not None else None
    for name in ("note", "retry_reason", "reason"):
        if values.get(name):
            values[name] = mask_urls(values[name])
    values["items"] = {"ok": row.items_ok, "failed": row.items_failed, "skipped": row.items_skipped}
    for name in ("items_ok", "items_failed", "items_skipped"):
        del values[name]
    return values


def item_json(item: ItemRow) -> dict[str, Any]:
    """An item for programs."""
    return {
        "key": item.key,
        "outcome": item.outcome.value,
        "reason": mask_urls(item.reason) if item.reason else None,
        "error_type": item.error_type,
        "loop": item.loop,
        "position": item.position,
        "tries": item.tries,
        "job": item.job_id,
        "at": iso(item.at),
    }


def event_json(event: Event) -> dict[str, Any]:
    """A line of the trail for programs."""
    return {
        "at": iso(event.at),
        "name": event.name,
        "from": event.from_status,
        "to": event.to_status,
        "run_no": event.run_no,
        "actor": event.actor,
        "reason": mask_urls(event.reason) if event.reason else None,
        "detail": masked({key: parsed(value) if key == "error" else value for key, value in event.detail.items()}),
    }


def question_json(row: QuestionRow, marked: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A question for programs: as it was asked, and what became of it."""
    return {
        "id": row.id,
        "job": row.job_id,
        "name": row.name,
        "text": mask_urls(row.text),
        "kind": row.kind,
        "state": row.state,
        "schema": parsed(row.schema),
        "mapping": mapping_json(row, marked),
        "asked_at": iso(row.asked_at),
        "expires_at": iso(row.expires_at),
        "has_default": row.default is not None,
        "default": answer_json(row, row.default, marked),
        "remember": row.remember,
        "answer": answer_json(row, row.answer, marked),
        "closed_at": iso(row.closed_at),
        "actor": row.actor,
        "reason": mask_urls(row.reason) if row.reason else None,
    }


def mapping_json(row: QuestionRow, marked: frozenset[str] = frozenset()) -> dict[str, Any] | None:
    """Columns, targets and proposal of a mapping; None for another question. Samples of secrets are masked."""
    detail: dict[str, Any] | None = parsed(row.detail)
    for column in detail["columns"] if detail else ():
        hidden = is_secret(column["name"], marked)
        column["samples"] = [MASK if hidden else mask_urls(sample) for sample in column["samples"]]
    return detail


def answer_json(row: QuestionRow, text: str | None, marked: frozenset[str] = frozenset()) -> Any:
    """An answer without its secrets; that of a mapping has only names of columns."""
    value = parsed(text)
    return value if row.kind == "mapping" else masked(value, marked)


def file_name(text: str | None) -> str | None:
    """The name of the input file, from what is stored of it or the name itself."""
    found = parsed(text)
    path = found.get("path") if isinstance(found, dict) else found
    return str(path).replace("\\", "/").rsplit("/", 1)[-1] if path else None


def what(row: JobRow | ListRow) -> str:
    """Period or file."""
    return row.period or file_name(row.file) or ""


def tries(attempt: int, most: int | None) -> str:
    """``2/5``; without a limit ``2/∞``."""
    if attempt == 0:
        return ""
    return f"{attempt}/{'∞' if most is None else most}"


def told(row: JobRow | ListRow, now: datetime, length: int = 90) -> str:
    """The sentence that says most about where a job stands."""
    status = row.status.value
    if status == "pending":
        return _pending(row, now, length)
    if status.startswith("awaiting_"):
        return f"asks a person: jobtrail answer {tail(row.id)}"
    if status in {"failed", "interrupted", "cancelling"} and row.error:
        return short(mask_urls(error_sentence(row.error)), length)
    if row.note:
        return short(mask_urls(row.note), length)
    if row.error and status != "completed":
        return short(mask_urls(error_sentence(row.error)), length)
    return ""


def _pending(row: JobRow | ListRow, now: datetime, length: int) -> str:
    from .text import span

    if row.run_at is None:
        return "waits for another job"
    why = f": {row.retry_reason}" if row.retry_reason else ""
    if row.run_at > now:
        return short(f"in {span(row.run_at - now)}{mask_urls(why)}", length)
    return short(f"due{mask_urls(why)}", length) if why else ""


def error_sentence(text: str | None) -> str:
    """Type and message of a stored error."""
    found = parsed(text)
    if not isinstance(found, dict):
        return str(found or "")
    kind, message = found.get("type"), found.get("message")
    return ": ".join(str(part) for part in (kind, message) if part)


def status_text(status: str) -> tuple[str, str]:
    """A status and its colour, as `Text.assemble` takes them."""
    return status, COLOURS.get(status, "")


def named(row: JobRow | ListRow) -> str:
    """A job in a sentence: ``sync_weather weather/EWR 2013-02 (…1f0c2d3e)``."""
    parts = [row.task, row.source or "", what(row)]
    return clean(f"{' '.join(part for part in parts if part)} (…{tail(row.id)})")
