"""Print the description of the API (OpenAPI) with an example of every request and answer, for the documentation.

The examples are put together from those of the fields: the weather of EWR in February 2013. The server answers
``/api/openapi.json`` without them.
"""

from __future__ import annotations

import json
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail import JobTrail
from jobtrail.api import create_api
from jobtrail.api.problems import MEDIA_TYPE, Problem
from jobtrail.queries.base import ID

if TYPE_CHECKING:
    from collections.abc import Mapping

AT = "2013-03-01T04:12:09Z"
_KEY = "8c5e1c0b6a1f4d7e9b2a3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7081"
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict, "null": type(None),
}  # fmt: skip
# A field that has no example of its own is shown with the one of its name: a name means the same everywhere.
WORDS: Mapping[str, Any] = {
    # what a job is
    "job_id": ID, "id": ID, "job": ID, "question": ID, "upload": ID, "worker": ID, "generation": ID, "task": "sync_weather",
    "name": "sync_weather", "schedule": "sync_weather", "source": "weather/EWR", "period": "2013-02", "first": "2013-01",
    "last": "2013-12", "last_task": "sync_weather", "last_source": "weather/EWR", "last_period": "2013-02", "kind": "sync",
    "queue": "default", "queues": ["default"], "tasks": ["sync_weather"], "unit": _KEY, "sha256": _KEY, "zone": "UTC", "tz": "UTC",
    "zoom": "month", "priority": 5, "labels": {"tenant": "acme"}, "arguments": {"airport": "EWR"},
    # how it stands
    "status": "partial", "from_status": "running", "to_status": "partial", "to": "partial", "last_status": "partial",
    "outcome": "partial", "state": "active", "attempt": 1, "run_no": 1, "percent": 42.5, "done": 12, "total": 28, "ok": 27,
    "failed": 1, "skipped": 0, "result": {"rows": 671}, "counts": {"complete": 11, "partial": 1}, "login": ["token"],
    # what went wrong
    "type": "ValueError", "error_type": "ValueError", "message": "the row has no temperature", "fingerprint": "9b1f0c6c2a34d5e8",
    "error": "ValueError: the row has no temperature", "origin": "weather.py:41 in check", "errors": {},
    "traceback": "Traceback (most recent call last): …", "level": "WARNING",
    # who, why, where
    "actor": "person:ann", "by": "person:ann", "reason": "the provider has sent the month again", "host": "worker-1",
    "program": "weather", "user": "weather", "version": "0.1.0", "role": "operator", "how": "token", "pid": 4711,
    # what is inside
    "key": "2013-02-12T05", "loop": "items", "path": "incoming/planes.csv", "file": "planes.csv", "filter": "status:failed",
    "search": "temperature", "text": "2013-03-01T04:12:09.000Z WARNING the row has no temperature",
    "words": "Runs the one failed item again, as a new job.", "samples": ["2013-02-12"], "on": ["success"],
    "form": {"type": "object", "properties": {"date": {"type": "string"}}}, "proposal": {"date": "Flight Date"},
    "answer": {"date": "Flight Date"}, "station": "EWR", "size": 48_213, "slots": 20, "seconds": 12.4,
    # what is so
    "known": True, "task_known": True, "allowed": True, "created": True, "ready": True, "over": True, "required": True,
    # what is asked
    "action": "retry", "order": "newest", "step": "month", "digest": "5d41402abc4b2a76b9719d911017c592", "before": ID,
    "after": ID, "idempotency-key": "weather-2013-02", "if-none-match": '"5d41402abc4b2a76b9719d911017c592"', "last-event-id": "41",
}  # fmt: skip
# What is no JSON, by the operation.
_TEXTS = {
    "healthz": "ok",
    "metrics": 'jobtrail_jobs{status="failed"} 2\n',
    "itemsAsCsv": f"key,outcome,reason,error_type,loop,position,tries,job,at\r\n2013-02-12T05,ok,,,items,0,1,{ID},{AT}\r\n",
    "logAsText": "2013-03-01T04:12:09.000Z WARNING the row has no temperature\n",
    "followEvents": 'id: 41\nevent: event\ndata: {"id": 41, "name": "retried"}\n\n',
    "uploadFile": "tailnum,year\nN10156,2004\n",
}
_REFUSED = {
    401: ("login-needed", "say who you are: log in, or send a token as Bearer"),
    403: ("role-needed", "this needs the role operator; yours is viewer"),
    404: ("not-found", f"there is no job '{ID}'"),
    409: ("already-active", f"the unit of job {ID} has an active job"),
    410: ("question-closed", "nobody waits for this answer any more"),
    413: ("too-large", "a request may have 8,388,608 bytes; files go to /api/files"),
    421: ("unknown-host", "this server is not called 'example.org'; its names are set by allowed_hosts"),
    422: ("invalid-request", "the request does not fit: $.task: Field required"),
    429: ("too-many-failures", "too many logins have failed from here; try again in 240 s"),
    503: ("store-unavailable", "the database is locked by another program"),
    507: ("not-kept", "the file could not be kept: No space left on device"),
}


def add(made: dict[str, Any]) -> None:
    """Give every parameter, request and answer of a description an example."""
    schemas = made["components"]["schemas"]
    for operation in (one for by_method in made["paths"].values() for one in by_method.values()):
        text = _TEXTS.get(operation["operationId"])
        for parameter in operation.get("parameters", ()):
            parameter["example"] = _of(parameter["schema"], schemas, parameter["name"])
        for media in operation.get("requestBody", {}).get("content", {}).values():
            media["example"] = text or _request(media["schema"], schemas)
        for status, found in operation["responses"].items():
            answer = made["components"]["responses"][found["$ref"].rpartition("/")[2]] if "$ref" in found else found
            for kind, media in answer.get("content", {}).items():
                refusal = refused(int(status)) if kind == MEDIA_TYPE else None
                media["example"] = refusal or (_of(media["schema"], schemas) if kind == "application/json" else text)


def refused(status: int) -> dict[str, Any]:
    """A problem of this status."""
    code, sentence = _REFUSED.get(status, ("refused", HTTPStatus(status).phrase))
    more: dict[int, dict[str, Any]] = {409: {"job": ID}, 422: {"errors": [{"path": "$.task", "detail": "Field required"}]}}
    return Problem(status, code, sentence, **more.get(status, {})).body()


def _request(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """What has to be said, and what says by itself how it is said; the rest is as by default."""
    found = _resolved(schema, schemas)
    wanted = found.get("required", ())
    fields = {name: one for name, one in found.get("properties", {}).items() if name in wanted or "examples" in one}
    return _of({**found, "properties": fields}, schemas)


def _of(schema: dict[str, Any], schemas: dict[str, Any], name: str = "", above: tuple[str, ...] = ()) -> Any:
    """Of a schema that is called so; ``above`` are those that it is inside of."""
    above = (*above, schema["$ref"]) if "$ref" in schema else above
    schema = _resolved(schema, schemas)
    if given := schema.get("examples") or schema.get("enum"):
        return given[0]
    if "properties" in schema:
        return {field: _of(one, schemas, field, above) for field, one in schema["properties"].items()}
    if name in WORDS and _fits(WORDS[name], schema):
        return WORDS[name]
    if "anyOf" in schema:  # or null: a text that nothing is known of is none
        first = schema["anyOf"][0]
        return None if _is_text(first) else _of(first, schemas, name, above)
    if schema.get("type") == "array":
        items = schema["items"]
        return [] if items.get("$ref") in above or _is_text(items) else [_of(items, schemas, name, above)]
    return schema.get("default", AT if schema.get("format") else _PLAIN.get(schema.get("type", "")))


_PLAIN = {"integer": 1, "number": 1.5, "boolean": False, "object": {}}


def _is_text(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "string" and not {"examples", "enum", "format"} & schema.keys()


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    if "$ref" in schema or value not in schema.get("enum", [value]):
        return False
    if "type" in schema and not isinstance(value, _TYPES[schema["type"]]):
        return False
    return not isinstance(value, list) or all(_fits(one, schema.get("items", {})) for one in value)


def described(jobs: JobTrail) -> dict[str, Any]:
    """The description of an application's API with examples."""
    made: dict[str, Any] = create_api(jobs).openapi()
    add(made)
    return made


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(described(JobTrail(f"sqlite:///{Path(folder) / 'jobs.db'}", plugins=[])), indent=1))
