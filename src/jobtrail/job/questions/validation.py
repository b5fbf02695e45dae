"""What in an answer does not fit its schema: a sentence for each field, and a check that always ends.

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

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

Schema = dict[str, Any]

MOST_ERRORS = 50
MOST_REFERENCES = 50_000
ENDLESS = "cannot be checked: the schema refers to itself without end, or too often"
_SHOWN = 60
_LISTED = 10
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9-]{10}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?")
_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@.]{1,63}([.][^\s@.]{1,63}){1,10}")
_TYPES = {
    "boolean": "true or false",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_FORMATS = {
    "date": "a date such as 2013-02-12",
    "date-time": "a date and time with its offset from UTC, such as 2013-02-12T05:00:00Z",
    "time": "a time such as 05:00",
    "email": "an e-mail address",
    "uuid": "a UUID",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
}
_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "const": "must be {}",
    "pattern": "must match the pattern {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} members",
    "maxItems": "must have at most {} members",
    "minProperties": "must have at least {} fields",
    "maxProperties": "must have at most {} fields",
}
_FIXED = {
    "uniqueItems": "has the same member twice",
    "contains": "has no member of the kind that is asked for",
    "minContains": "has too few members of the kind that is asked for",
    "maxContains": "has too many members of the kind that is asked for",
    "dependentRequired": "lacks a field that another one needs",
    "propertyNames": "has a field whose name is not allowed",
    "not": "is one of the values that are not allowed",
}


def misfits(schema: Schema | bool, value: Any, *, root: Schema | None = None) -> dict[str, str]:
    """What in a JSON value does not fit, by its path (``$.rows[2].price``), a sentence each, at most 50; {} when it fits.

    ``root`` is the schema that ``schema`` is a part of, where its references lead.
    """
    validator = _validator(schema if root is None else root)
    found: dict[str, str] = {}
    try:
        for error in validator.evolve(schema=schema).iter_errors(value):
            for path, sentence in islice(_sentences(error), MOST_ERRORS):
                found.setdefault(path, sentence)
            if len(found) >= MOST_ERRORS:
                break
    except (RecursionError, _TooMuchError):
        return {"$": ENDLESS}
    except ArithmeticError:
        return {"$": "has a number that is too large to be checked"}
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


def shown(value: Any, length: int = _SHOWN) -> str:
    """A value in a sentence: short, in one line, without characters that steer a terminal or turn a line around."""
    if isinstance(value, str):
        text = value if len(value) <= length else f"{value[: length - 1]}…"
        return f"'{printable(text)}'"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        return "an object"
    return printable(json.dumps(value)[:length])


def printable(text: str) -> str:
    r"""The text with everything that is not printed spelled out (``\n``, ``\u202e``)."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def listed(values: Iterable[Any], most: int = _LISTED) -> str:
    """The first of several values, and how many more there are."""
    every = list(values)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(shown(value) for value in every[:most]) + more


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


class _TooMuchError(Exception):
    """More references were followed than any honest answer needs."""


def _validator(root: Schema | bool) -> Any:
    """Made anew for each check, because it counts what this check follows."""
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
                raise _TooMuchError
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


def _sentences(error: ValidationError) -> Iterator[tuple[str, str]]:
    """What an error means, by path. One error may stand for several fields that are missing or too many."""
    place = list(error.absolute_path)
    if error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield path_of([*place, name]), "is required and missing"
    elif error.validator == "additionalProperties":
        schema: Any = error.schema
        names: Schema = schema.get("properties", {})
        told = f"; the fields are {listed(names)}" if names else ""
        for name in error.instance:
            if name not in names:
                yield path_of([*place, name]), f"is not asked for{told}"
    elif error.validator in {"anyOf", "oneOf"}:
        yield from _of_forms(error)
    else:
        yield path_of(place), _sentence(error)


def _sentence(error: ValidationError) -> str:
    word, wanted, value = error.validator, error.validator_value, shown(error.instance)
    if word == "type":
        return f"must be {_kinds(error)}; it is {value}"
    if word == "enum":
        return f"must be one of {listed(wanted)}; it is {value}"
    if word == "format":
        return f"must be {_FORMATS.get(wanted, wanted)}; it is {value}"
    if word in _LIMITS:
        told = printable(wanted[:200]) if word == "pattern" else shown(wanted)
        return f"{_LIMITS[word].format(told)}; it {_has(word, error.instance)}"
    return _FIXED.get(str(word), "has a part that is not allowed")


def _has(word: str, value: Any) -> str:
    return f"has {len(value):,}" if word.startswith(("min", "max")) and word[3:] != "imum" else f"is {shown(value)}"


def _kinds(error: ValidationError) -> str:
    """The types that are allowed, in words: ``a whole number or null``."""
    types = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    form = error.schema.get("format") if isinstance(error.schema, dict) else None
    return " or ".join(
        _FORMATS.get(str(form), "a text") if kind == "string" else _TYPES.get(str(kind), "") for kind in types
    )


def _of_forms(error: ValidationError) -> Iterator[tuple[str, str]]:
    """A value that fits none of several forms: the mistakes in the form that was meant, where that is plain."""
    forms: dict[Any, list[ValidationError]] = {}
    for inner in error.context or ():
        forms.setdefault(inner.relative_schema_path[0], []).append(inner)
    meant = [inner for inner in forms.values() if not any(map(_other_form, inner))]
    place = path_of(error.absolute_path)
    if len(meant) == 1:
        for inner in meant[0]:
            yield from _sentences(inner)
    elif not forms:
        yield place, "fits more than one of the forms that exclude each other"
    elif meant:
        yield place, f"has none of the {len(forms)} forms that are allowed; it is {shown(error.instance)}"
    else:
        kinds = {_kinds(inner): None for form in forms.values() for inner in form if inner.validator == "type"}
        told = " or ".join(kinds) if kinds else "one of the values that are allowed"
        yield place, f"must be {told}; it is {shown(error.instance)}"


def _other_form(error: ValidationError) -> bool:
    """Wrong in its type, or in the constant that tells forms apart: so it was not meant to be this form."""
    return (error.validator == "type" and not error.relative_path) or (
        error.validator == "const" and len(error.relative_path) <= 1
    )
