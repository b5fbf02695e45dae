"""Schemas as forms need them: what may be left out is a plain field, and what a task takes, from its signature."""

from __future__ import annotations

import contextlib
import inspect
import json
import typing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jobtrail.job.masking import is_secret

if TYPE_CHECKING:
    from jobtrail.job.task import Task

Schema = dict[str, Any]

NULLABLE = "x-nullable"  # an empty field means null here
_NULL = {"type": "null"}
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_LISTED = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})


def folded(schema: Any) -> Any:
    """A copy in which ``X or null`` is X, marked ``x-nullable``: a form would offer a choice of two there.

    What is checked stays the schema that was asked with; this one is for showing.
    """
    if not isinstance(schema, dict):
        return schema
    found: Schema = {key: _within(key, value) for key, value in schema.items()}
    kinds = found.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) > 1:
        rest = [kind for kind in kinds if kind != "null"]
        found |= {"type": rest[0] if len(rest) == 1 else rest, NULLABLE: True}
    for word in ("anyOf", "oneOf"):
        forms = found.get(word)
        if isinstance(forms, list) and _NULL in forms:
            found = _without_null(found, word, [form for form in forms if form != _NULL])
    if found.get(NULLABLE) and found.get("default", ...) is None:
        del found["default"]
    return found


def _within(key: str, value: Any) -> Any:
    if key in _NAMED and isinstance(value, dict):
        return {name: folded(part) for name, part in value.items()}
    if key in _LISTED and isinstance(value, list):
        return [folded(part) for part in value]
    return folded(value) if key in _SINGLE else value


def _without_null(found: Schema, word: str, forms: list[Any]) -> Schema:
    beside = {key: value for key, value in found.items() if key != word} | {NULLABLE: True}
    if len(forms) == 1 and isinstance(forms[0], dict):
        return {**forms[0], **beside}
    return beside | ({word: forms} if forms else {})


# -- what a task takes -------------------------------------------------------------------------------


def of_arguments(task: Task) -> Schema:
    """The JSON schema of a task's arguments, folded; where an annotation says nothing in JSON, anything may stand."""
    signature, marked = task.signature, task.secret
    hints = _hints(task.function)
    definitions: Schema = {}
    properties: Schema = {}
    for parameter in inspect.signature(task.function).parameters.values():
        if parameter.name not in signature.names:
            continue
        part = _part(hints.get(parameter.name, parameter.annotation), definitions)
        part.setdefault("title", parameter.name)
        if is_secret(parameter.name, marked):
            part |= {"format": "password", "writeOnly": True}
        elif parameter.default is not parameter.empty and _is_json(parameter.default):
            part["default"] = parameter.default
        properties[parameter.name] = part
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name in signature.required],
        "additionalProperties": signature.open_ended,
    }
    result: Schema = folded(schema | ({"$defs": definitions} if definitions else {}))
    return result


def _hints(function: Any) -> Schema:
    """Its annotations, each by itself: one may name what is there for a type checker only."""
    named = getattr(inspect.unwrap(function), "__globals__", {})
    found: Schema = {}
    for name, annotation in getattr(function, "__annotations__", {}).items():
        one = SimpleNamespace(__annotations__={name: annotation})
        with contextlib.suppress(Exception):
            found |= typing.get_type_hints(one, named, include_extras=True)
    return found


def _part(annotation: Any, definitions: Schema) -> Schema:
    from pydantic import TypeAdapter

    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return {}
    try:
        found = TypeAdapter(annotation).json_schema()
    except Exception:
        return {}
    definitions |= found.pop("$defs", {})
    return found


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
