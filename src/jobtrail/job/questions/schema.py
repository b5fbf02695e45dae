"""A schema as it is handed in (model, JSON schema, plain type, choices) and as it is kept: checked, bounded, closed in itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any

from jobtrail.errors import InvalidArguments, InvalidOption
from jobtrail.job.json_value import ASK_FOR_LESS, _encode_strictly
from jobtrail.messages import Message

from .validation import ENDLESS, Schema, any_of, matcher, misfits, path_of, printable, shown

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MOST_CHOICES = 2_000
PLAIN: dict[type, Schema] = {
    bool: {"type": "boolean"},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
}
_KINDS: dict[str, Message | str] = {
    "boolean": Message("questions.kind-boolean"),
    "string": Message("questions.kind-text"),
    "integer": Message("questions.kind-whole-number"),
    "number": Message("questions.kind-number"),
    "array": Message("questions.kind-list"),
    "object": Message("questions.kind-object"),
}
_FORMAT_KINDS: dict[str, Message | str] = {
    "date": Message("questions.kind-date"),
    "date-time": Message("questions.kind-date-time"),
    "time": Message("questions.kind-time"),
    "email": Message("questions.kind-email"),
    "uuid": "UUID",
}
_REFUSED = {
    "patternProperties": Message("questions.instead-of-pattern-properties"),
    "unevaluatedProperties": Message("questions.instead-use", word="additionalProperties"),
    "unevaluatedItems": Message("questions.instead-use", word="items"),
    "$dynamicRef": Message("questions.instead-use", word="$ref"),
}
_WORDING: dict[str, type] = {"title": str, "description": str, "$comment": str, "examples": list}
_PROBES: tuple[Any, ...] = (None, True, 0, "", [], {})
_STEPS = 20  # references that lead to references


# -- as it is handed in ------------------------------------------------------------------------------


def schema_of(given: Any, limit: int) -> Schema:
    """The JSON schema (draft 2020-12) of what a caller gave: a copy that was checked and can be kept.

    ``given`` is a pydantic model class, a JSON schema as a dict, one of bool, str, int, float, date, datetime, or the
    choices: an Enum class, or a list or tuple of texts, numbers, booleans and None. ``limit`` is in bytes of JSON.

    Raises: InvalidOption saying what in it cannot be used; TooLarge.
    """
    try:
        schema: Schema = json.loads(
            _encode_strictly(_unchecked(given), Message("questions.schema"), limit, ASK_FOR_LESS)
        )
    except InvalidArguments as error:
        raise InvalidOption(Message("questions.schema-not-json", error=error)) from None
    _check(schema)
    return schema


def is_model(given: Any) -> bool:
    """Whether it is a pydantic model class (without importing pydantic)."""
    return isinstance(given, type) and callable(getattr(given, "model_json_schema", None))


def is_enum(given: Any) -> bool:
    """Whether it is an Enum class."""
    return isinstance(given, type) and issubclass(given, Enum)


def schema_of_model(model: Any, *, by_alias: bool = True) -> Schema:
    """What pydantic says of a model class.

    Raises: InvalidOption where a field has no form in JSON.
    """
    try:
        found: Schema = model.model_json_schema(by_alias=by_alias)
    except Exception as error:
        message = Message("questions.model-without-schema", model=model.__name__, error=printable(str(error)[:300]))
        raise InvalidOption(message) from error
    return found


def _unchecked(given: Any) -> Schema:
    if is_model(given):
        return schema_of_model(given)
    if is_enum(given):
        return {"title": given.__name__, "enum": _choices([member.value for member in given])}
    if isinstance(given, type) and given in PLAIN:
        return dict(PLAIN[given])
    if isinstance(given, (list, tuple)):
        return {"enum": _choices(list(given))}
    if isinstance(given, Mapping):
        return dict(given)
    raise InvalidOption(Message("questions.bad-schema", given=printable(repr(given)[:80])))


def _choices(values: list[Any]) -> list[Any]:
    """Scalars, each once; True and 1 are two."""
    if not 1 <= len(values) <= MOST_CHOICES:
        raise InvalidOption(Message("questions.bad-choice-count", most=MOST_CHOICES, count=len(values)))
    for value in values:
        if type(value) not in {str, int, float, bool, type(None)}:
            raise InvalidOption(Message("questions.bad-choice", value=printable(repr(value)[:80])))
    if len({(isinstance(value, bool), value) for value in values}) < len(values):
        raise InvalidOption(Message("questions.choice-twice"))
    return values


# -- whether it can be used --------------------------------------------------------------------------


def _check(schema: Schema) -> None:
    draft = schema.get("$schema", DRAFT)
    if draft not in (DRAFT, f"{DRAFT}#"):
        raise InvalidOption(Message("questions.bad-draft", draft=shown(draft, 100), accepted=DRAFT))
    _check_words(schema)
    refers = False
    for part in _parts(schema):
        _check_part(part, top=part is schema)
        refers = refers or "$ref" in part
    if refers and any(ENDLESS in misfits(schema, probe).values() for probe in _PROBES):
        raise InvalidOption(Message("questions.endless-schema"))


def _check_words(schema: Any, within: str = "") -> None:
    """Patterns are left to `matcher`: their language is not that of Python."""
    from jsonschema import FormatChecker, validators
    from jsonschema.exceptions import SchemaError

    language: Any = validators.Draft202012Validator
    try:
        language.check_schema(schema, format_checker=FormatChecker(()))
    except SchemaError as error:
        place = f"{within} {path_of(error.absolute_path)}".strip()
        message = Message("questions.invalid-schema", place=place, problem=printable(error.message[:200]))
        raise InvalidOption(message) from None


def _parts(schema: Schema) -> Iterator[Schema]:
    """Each schema inside the schema once, also what a reference points at."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resolver: Any = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    waiting: list[Any] = [schema]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting.extend(DRAFT202012.subresources_of(part))
        if "$ref" in part:
            try:
                found = resolver.lookup(part["$ref"]).contents
            except Unresolvable:
                raise InvalidOption(Message("questions.ref-not-found", ref=shown(part["$ref"]))) from None
            _check_words(found, printable(part["$ref"][:100]))
            waiting.append(found)


def _check_part(part: Schema, *, top: bool) -> None:
    for word, instead in _REFUSED.items():
        if word in part:
            raise InvalidOption(Message("questions.unsupported-word", word=word, instead=instead))
    if not top and ("$id" in part or "$schema" in part):
        raise InvalidOption(Message("questions.inner-id"))
    if not part.get("$ref", "#").startswith("#"):
        raise InvalidOption(Message("questions.ref-outside", ref=shown(part["$ref"])))
    if "pattern" in part:
        try:
            matcher(part["pattern"])
        except ValueError as error:
            message = Message(
                "questions.bad-pattern", pattern=shown(part["pattern"]), error=printable(str(error)[:200])
            )
            raise InvalidOption(message) from None


# -- looked into -------------------------------------------------------------------------------------


def resolved(part: Any, root: Schema) -> Schema:
    """A part with the references at its top followed, and ``X or null`` as X; what stands beside a reference wins."""
    found = dict(part) if isinstance(part, dict) else {}
    for _ in range(_STEPS):
        forms = [form for form in found.get("anyOf", ()) if form != {"type": "null"}]
        if len(forms) == 1 and isinstance(forms[0], dict):
            beside = {key: value for key, value in found.items() if key != "anyOf"}
            found = {**forms[0], **beside}
        elif isinstance(found.get("$ref"), str):
            beside = {key: value for key, value in found.items() if key != "$ref"}
            target = _at(root, found["$ref"])
            found = {**target, **beside}
        else:
            break
    return found


def _at(root: Schema, reference: str) -> Schema:
    """What a local reference points at; {} where it is nothing of use."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resolver: Any = Registry().resolver_with_root(DRAFT202012.create_resource(root))
    try:
        found = resolver.lookup(reference).contents
    except Unresolvable:
        return {}
    return found if isinstance(found, dict) else {}


def words_of(part: Schema) -> Message | str:
    """The type of a resolved part in words: ``whole number``, ``date``, ``one of a list``."""
    if "enum" in part:
        return Message("questions.kind-choice")
    kind = part.get("type")
    kinds = [str(one) for one in (kind if isinstance(kind, list) else [kind])]
    formatted = _FORMAT_KINDS.get(part.get("format", ""))
    found = [formatted if one == "string" and formatted else _KINDS[one] for one in kinds if one in _KINDS]
    return any_of(found) if found else Message("questions.kind-any")


def without_wording(schema: Any) -> Any:
    """The schema without its titles, descriptions, comments and examples: what is asked, not how."""
    if isinstance(schema, dict):
        return {
            key: without_wording(value)
            for key, value in schema.items()
            if not (key in _WORDING and isinstance(value, _WORDING[key]))
        }
    return [without_wording(member) for member in schema] if isinstance(schema, list) else schema
