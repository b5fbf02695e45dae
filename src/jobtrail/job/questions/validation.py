"""Checks an answer against its schema: a sentence for each field that does not fit, and a check that always ends.

Whoever answers may be anybody: nothing is fetched, patterns run in linear time (`matcher`), references are counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from jobtrail.job.json_value import canonical, render, safe_text
from jobtrail.messages import Message

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

Schema = dict[str, Any]

MOST_ERRORS = 50
MOST_REFERENCES = 50_000
ENDLESS = Message("questions.endless")
_SHOWN = 60
_LISTED = 10
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9-]{10}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?")
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@.]{1,63}([.][^\s@.]{1,63}){1,10}")
_TYPES: dict[str, Message | str] = {
    "boolean": Message("questions.a-boolean"),
    "string": Message("questions.a-text"),
    "integer": Message("questions.a-whole-number"),
    "number": Message("questions.a-number"),
    "array": Message("questions.a-list"),
    "object": Message("questions.an-object"),
    "null": "null",
}
_FORMATS = {
    "date": Message("questions.a-date"),
    "date-time": Message("questions.a-date-time"),
    "time": Message("questions.a-time"),
    "email": Message("questions.an-email"),
    "uuid": Message("questions.a-uuid"),
    "ipv4": Message("questions.an-ipv4"),
    "ipv6": Message("questions.an-ipv6"),
}
_LIMITS = {
    "minimum": "questions.limit-minimum",
    "maximum": "questions.limit-maximum",
    "exclusiveMinimum": "questions.limit-exclusive-minimum",
    "exclusiveMaximum": "questions.limit-exclusive-maximum",
    "multipleOf": "questions.limit-multiple-of",
    "const": "questions.limit-const",
    "pattern": "questions.limit-pattern",
    "minLength": "questions.limit-min-length",
    "maxLength": "questions.limit-max-length",
    "minItems": "questions.limit-min-items",
    "maxItems": "questions.limit-max-items",
    "minProperties": "questions.limit-min-properties",
    "maxProperties": "questions.limit-max-properties",
}
_FIXED = {
    "uniqueItems": Message("questions.member-twice"),
    "contains": Message("questions.no-such-member"),
    "minContains": Message("questions.too-few-such-members"),
    "maxContains": Message("questions.too-many-such-members"),
    "dependentRequired": Message("questions.lacks-field"),
    "propertyNames": Message("questions.field-name-not-allowed"),
    "not": Message("questions.value-not-allowed"),
}


def misfits(schema: Schema | bool, value: Any, *, root: Schema | None = None) -> dict[str, Message]:
    """What in a JSON value does not fit, by its path (``$.rows[2].price``), a sentence each, at most 50; {} when it fits.

    ``root`` is the schema that ``schema`` is a part of, where its references lead.
    """
    validator = _validator(schema if root is None else root)
    found: dict[str, Message] = {}
    try:
        for error in validator.evolve(schema=schema).iter_errors(value):
            for path, sentence in islice(_sentences(error), MOST_ERRORS):
                found.setdefault(path, sentence)
            if len(found) >= MOST_ERRORS:
                break
    except (RecursionError, _TooManyStepsError):
        return {"$": ENDLESS}
    except ArithmeticError:
        return {"$": Message("questions.number-too-large")}
    except BaseException as error:
        # The reference resolver is partly Rust: where the stack ends inside of it, it panics, which is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        return {"$": ENDLESS}
    return dict(islice(found.items(), MOST_ERRORS))


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text holds the pattern, in time linear in the text: the engine of pydantic knows no backtracking.

    Raises: ValueError saying what in the pattern that engine does not take (look-around, back references).
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        found = SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except SchemaError as error:
        problem = str(error).strip().splitlines()[-1].strip().removeprefix("error: ")
        raise ValueError(problem) from None
    return lambda text: found(safe_text(text, 10 * len(text)))


def shown(value: Any, length: int = _SHOWN) -> Message | str:
    """A value in a sentence: short, in one line, without characters that steer a terminal or turn a line around."""
    if isinstance(value, str):
        text = value if len(value) <= length else f"{value[: length - 1]}…"
        return f"'{printable(text)}'"
    if isinstance(value, list):
        return Message("questions.a-list-of", count=len(value))
    if isinstance(value, dict):
        return Message("questions.an-object")
    return printable(json.dumps(value)[:length])


def printable(text: str) -> str:
    r"""The text with everything that is not printed spelled out (``\n``, ``\u202e``)."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def listed(values: Iterable[Any], most: int = _LISTED) -> list[Message | str]:
    """The first of several values, and how many more there are."""
    every = list(values)
    found = [shown(value) for value in every[:most]]
    return found if len(every) <= most else [*found, Message("questions.and-more", count=len(every) - most)]


def identity(value: Any) -> str:
    """Equal JSON values, equal texts: 1 and 1.0 are one number, 1 and true are two values."""
    return canonical(_plain_numbers(value))


def path_of(keys: Iterable[str | int]) -> str:
    """``$.rows[2].price``."""
    place: Any = None
    for key in keys:
        place = (place, key)
    return render(place)


# -- the check ---------------------------------------------------------------------------------------


class _TooManyStepsError(Exception):
    """More references were followed than a valid answer needs."""


def _validator(root: Schema | bool) -> Any:
    """Make a validator for one check; it counts the references that this check follows."""
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import ValidationError
    from referencing import Registry

    followed = 0

    def reference(validator: Any, ref: str, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
        """Counts what is followed and what comes back, because a mistake far below costs something at each level."""
        nonlocal followed
        for error in chain([None], validator._validate_reference(ref=ref, instance=instance)):
            followed += 1
            if followed > MOST_REFERENCES:
                raise _TooManyStepsError
            if error is not None:
                yield error

    def pattern(_validator: Any, wanted: str, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not matcher(wanted)(instance):
            yield ValidationError("does not match")

    def unique(_validator: Any, wanted: bool, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
        if wanted and isinstance(instance, list) and len(set(map(identity, instance))) < len(instance):
            yield ValidationError("has doubles")

    extend: Any = validators.extend
    ours = extend(Draft202012Validator, {"$ref": reference, "pattern": pattern, "uniqueItems": unique})
    return ours(root, registry=Registry(), format_checker=_formats())


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain_numbers(member) for member in value]
    if isinstance(value, dict):
        return {key: _plain_numbers(member) for key, member in value.items()}
    return value


def _formats() -> Any:
    """The formats that are checked; a format of another name is a remark, as the standard has it."""
    from jsonschema import FormatChecker

    def full(pattern: re.Pattern[str]) -> Callable[[object], bool]:
        return lambda text: not isinstance(text, str) or pattern.fullmatch(text) is not None

    checker = FormatChecker(("ipv4", "ipv6", "uuid"))
    checker.checks("date", ValueError)(_is_date)
    checker.checks("date-time", ValueError)(_is_moment)
    checker.checks("time")(full(_TIME))
    checker.checks("email")(full(_EMAIL))
    return checker


def _is_date(text: object) -> bool:
    return not isinstance(text, str) or (_DATE.fullmatch(text) is not None and bool(date.fromisoformat(text)))


def _is_moment(text: object) -> bool:
    if not isinstance(text, str):
        return True
    return _MOMENT.fullmatch(text) is not None and bool(datetime.fromisoformat(text.upper()))


# -- in words ----------------------------------------------------------------------------------------


def _sentences(error: ValidationError) -> Iterator[tuple[str, Message]]:
    """The sentences of an error by path. One error may mean several fields that are missing or unknown."""
    place = list(error.absolute_path)
    if error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield path_of([*place, name]), Message("questions.missing")
    elif error.validator == "additionalProperties":
        schema: Any = error.schema
        names: Schema = schema.get("properties", {})
        told = Message("questions.fields-are", names=listed(names)) if names else ""
        for name in error.instance:
            if name not in names:
                yield path_of([*place, name]), Message("questions.not-asked", more=told)
    elif error.validator in {"anyOf", "oneOf"}:
        yield from _of_forms(error)
    else:
        yield path_of(place), _sentence(error)


def _sentence(error: ValidationError) -> Message:
    word, wanted, value = error.validator, error.validator_value, shown(error.instance)
    if word == "type":
        return Message("questions.must-be", kinds=_kinds(error), value=value)
    if word == "enum":
        return Message("questions.must-be-one-of", wanted=listed(wanted), value=value)
    if word == "format":
        return Message("questions.must-be", value=value, kinds=_FORMATS.get(wanted, wanted))
    if word in _LIMITS:
        told = printable(wanted[:200]) if word == "pattern" else shown(wanted)
        return Message(_LIMITS[word], limit=told, has=_has(word, error.instance))
    return _FIXED.get(str(word), Message("questions.part-not-allowed"))


def _has(word: str, value: Any) -> Message:
    return (
        Message("questions.has-count", count=len(value))
        if word.startswith(("min", "max")) and word[3:] != "imum"
        else Message("questions.is-value", value=shown(value))
    )


def _kinds(error: ValidationError) -> Message | str:
    """The types that are allowed, in words: ``a whole number or null``."""
    types = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    form = error.schema.get("format") if isinstance(error.schema, dict) else None
    return any_of(
        _FORMATS.get(str(form), Message("questions.a-text")) if kind == "string" else _TYPES.get(str(kind), Message("questions.a-text"))
        for kind in types
    )


def any_of(kinds: Iterable[Message | str]) -> Message | str:
    """``a whole number or null``."""
    first, *rest = kinds
    for one in rest:
        first = Message("questions.or", first=first, second=one)
    return first


def _of_forms(error: ValidationError) -> Iterator[tuple[str, Message]]:
    """The sentences of a value that fits none of several forms: the problems of the intended form, if that is clear."""
    forms: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        forms.setdefault(inner.relative_schema_path[0], []).append(inner)
    meant = [inner for inner in forms.values() if not any(map(_other_form, inner))]
    place = path_of(error.absolute_path)
    if len(meant) == 1:
        for inner in meant[0]:
            yield from _sentences(inner)
    elif not forms:
        yield place, Message("questions.fits-several")
    elif meant:
        yield place, Message("questions.fits-none", forms=len(forms), value=shown(error.instance))
    else:
        kinds = {_kinds(inner): None for form in forms.values() for inner in form if inner.validator == "type"}
        told = any_of(kinds) if kinds else Message("questions.an-allowed-value")
        yield place, Message("questions.must-be", kinds=told, value=shown(error.instance))


def _other_form(error: ValidationError) -> bool:
    """Whether the type, or the constant that distinguishes the forms, is wrong: then the value is not meant as this form."""
    return (error.validator == "type" and not error.relative_path) or (
        error.validator == "const" and len(error.relative_path) <= 1
    )
