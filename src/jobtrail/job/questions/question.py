"""A question of a job to a person: its schema, the check of an answer, and reading it field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from enum import Enum
from math import isfinite
from typing import Any, Final

from jobtrail.errors import AnswerRefused, InvalidArguments, InvalidOption, TooLarge, by_path
from jobtrail.job.json_value import ASK_FOR_LESS, STEP_LIMIT, _encode_strictly, canonical, digest, safe_text, size
from jobtrail.job.task import choice_option, name_option, seconds_option
from jobtrail.messages import Message, render

from . import mapping
from .schema import is_enum, is_model, resolved, schema_of, without_wording, words_of
from .validation import Schema, identity, listed, misfits, path_of, printable, shown

KINDS = ("input", "mapping")
QUESTION_LIMIT = 65_536
MAPPING_ROOM = 4
ANSWER_LIMIT = 262_144
LONGEST_TEXT = 4_000


class Unset(Enum):
    """The absence of a value where None is one."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is stored, with everything that the check of an answer needs.

    ``schema`` is the JSON text of the answer's JSON schema; ``detail``, for a mapping, that of columns, targets and
    proposal; ``default`` that of the answer that is taken at the deadline. ``expires`` is in seconds.
    """

    name: str
    text: str
    kind: str
    schema: str
    detail: str | None = None
    default: str | None = None
    expires: float | None = None
    remember: bool = False

    @property
    def digest(self) -> str:
        """Equal for questions that ask the same: kind and schema, or columns and targets; wording and samples are left out."""
        if self.kind != "mapping":
            return digest(canonical([self.kind, without_wording(json.loads(self.schema))]))
        detail = json.loads(self.detail or "{}")
        columns = sorted(column["name"] for column in detail["columns"])
        targets = sorted([target["name"], target["type"], target["required"]] for target in detail["targets"])
        return digest(canonical([self.kind, columns, targets]))


def make_question(
    name: str,
    text: str,
    schema: Any,
    *,
    kind: str = "input",
    expires: timedelta | float | None = None,
    default: Any = UNSET,
    columns: Any = None,
    remember: bool = False,
    limit: int = QUESTION_LIMIT,
) -> Question:
    """Check a question so that it can be stored.

    ``schema`` is what `jobtrail.job.questions.schema.schema_of` takes; for a mapping its properties are the fields that want a
    column, and ``columns`` is what `jobtrail.job.questions.mapping.columns_of` takes. ``limit`` is in bytes, for the schema and
    the default each; a mapping, which names every column, may take four times as much, and gives up its samples first.

    Raises: InvalidOption naming what cannot be used, also a ``default`` that does not fit; TooLarge.
    """
    name_option(Message("questions.name"), name)
    choice_option("kind", kind, KINDS)
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
        raise InvalidOption(Message("questions.bad-text", name=name, most=LONGEST_TEXT, text=shown(text)))
    if (kind == "mapping") != (columns is not None):
        raise InvalidOption(Message("questions.mapping-without-columns", name=name))
    room = limit if kind == "input" else MAPPING_ROOM * limit
    wanted, detail = (schema_of(schema, limit), None) if kind == "input" else _mapping(columns, schema, limit, room)
    question = Question(
        name=name,
        text=safe_text(text, 6 * LONGEST_TEXT),
        kind=kind,
        schema=_kept(wanted, Message("questions.schema"), room),
        detail=detail,
        expires=seconds_option("expires", expires),
        remember=bool(remember),
    )
    return question if default is UNSET else _with_default(question, default, room)


def _mapping(columns: Any, schema: Any, limit: int, room: int) -> tuple[Schema, str]:
    there, targets = mapping.columns_of(columns), mapping.targets_of(schema, limit)
    detail = {"columns": there, "targets": targets, "proposal": mapping.propose(there, targets)}
    for samples in range(mapping.SAMPLES, -1, -1):
        detail["columns"] = [{**column, "samples": column["samples"][:samples]} for column in there]
        try:
            kept = _kept(detail, Message("questions.columns"), room)
        except TooLarge:
            if samples == 0:
                raise
        else:
            break
    return mapping.answer_schema(there, targets), kept


def _with_default(question: Question, default: Any, limit: int) -> Question:
    value = _json_of(default)
    if problems := check_answer(question, value):
        raise InvalidOption(Message("questions.bad-default", question=question.name, problems=by_path(problems)))
    return replace(question, default=_kept(value, Message("questions.default"), limit))


def _json_of(value: Any) -> Any:
    """The JSON value of an answer that a program gives as a model, an enum member or a date."""
    if callable(getattr(type(value), "model_dump", None)):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Enum):
        return value.value
    return value.isoformat() if isinstance(value, date) else value


def _kept(value: Any, what: Message, limit: int) -> str:
    return _encode_strictly(value, what, limit, ASK_FOR_LESS)


# -- an answer ---------------------------------------------------------------------------------------


def check_answer(question: Question, answer: Any) -> dict[str, Message]:
    """The problems of an answer by field: ``{"$.rows[2].price": "must be a number; it is 'x'"}``; {} when it fits.

    At most 50. The answer is a JSON value (no NaN) of at most 256 kB; fields beyond the schema are refused where the
    schema says so (``additionalProperties: false``; ``extra="forbid"`` in a model).
    """
    try:
        value = json.loads(_encode_strictly(answer, Message("questions.answer"), ANSWER_LIMIT))
    except InvalidArguments as error:
        return {error.path or "$": error.params["problem"]}
    except TooLarge:
        return {"$": Message("questions.answer-too-large", most=size(ANSWER_LIMIT))}
    if question.kind == "mapping":
        return mapping.check_mapping(json.loads(question.detail or "{}"), value)
    return misfits(json.loads(question.schema), value)


def result_of(given: Any, answer: Any, *, kind: str = "input") -> Any:
    """The value that the task function gets for an answer: a model, an enum member or a date, else the JSON value.

    ``given`` is the schema as the body handed it in. A mapping is a dict from every target to its column or None.

    Raises: AnswerRefused where a model has rules of its own that its JSON schema does not tell.
    """
    if kind == "mapping":
        return {target["name"]: answer.get(target["name"]) for target in mapping.targets_of(given, STEP_LIMIT)}
    if is_model(given):
        return _instance(given, answer)
    if is_enum(given):
        return given(answer)
    if isinstance(given, (list, tuple)):
        return next(choice for choice in given if identity(choice) == identity(answer))
    if given is datetime:
        return datetime.fromisoformat(answer.upper())
    if given is date:
        return date.fromisoformat(answer)
    return given(answer) if given is int or given is float else answer


def _instance(model: Any, answer: Any) -> Any:
    from pydantic import ValidationError

    try:
        return model.model_validate_json(json.dumps(answer))
    except ValidationError as error:
        problems = {path_of(one["loc"]): printable(one["msg"]) for one in error.errors(include_url=False)[:50]}
        raise AnswerRefused(problems) from None


# -- field by field ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an answer as a terminal asks for it.

    ``name`` is "" where the answer is no object: then its value is the answer. ``words`` is its type in words,
    ``choices`` the values that it may have, ``default`` what an empty line stands for (UNSET: nothing).
    """

    name: str
    title: str
    description: str
    words: str
    choices: tuple[Any, ...]
    required: bool
    default: Any
    schema: Schema = field(repr=False)
    root: Schema = field(repr=False)


def fields_of(schema: Schema) -> list[Field]:
    """The fields of an answer, in the order of the schema. A nested value is one field, given as JSON."""
    top = resolved(schema, schema)
    properties = top.get("properties")
    if top.get("type", "object") != "object" or not properties:
        return [_field("", schema, schema, required=True)]
    required = top.get("required", [])
    return [_field(name, part, schema, required=name in required) for name, part in properties.items()]


def _field(name: str, part: Any, root: Schema, *, required: bool) -> Field:
    found = resolved(part, root)
    choices = found.get("enum", [found["const"]] if "const" in found else [])
    return Field(
        name=name,
        title=found.get("title") or name,
        description=found.get("description", ""),
        words=render(words_of(found)),
        choices=tuple(choices),
        required=required,
        default=found.get("default", UNSET),
        schema=part,
        root=root,
    )


def read_field(field: Field, text: str) -> Any:
    """The value of a field from what a person typed: ``12``, ``yes`` or ``да``, a date, JSON for what is nested.

    An empty line is the default, else None where that fits, else UNSET for a field that may be left out. Among choices
    of text the place in the list (from 1) will do, too.

    Raises: AnswerRefused with what it must be.
    """
    place = path_of([field.name] if field.name else [])
    typed = text.strip()
    try:
        value = _read(field, typed) if typed else _left_out(field)
    except ValueError as error:
        problem = Message("questions.problem-of-typed", typed=shown(typed), problem=error) if typed else error.args[0]
        raise AnswerRefused({place: problem}) from None
    problems = {} if value is UNSET else misfits(field.schema, value, root=field.root)
    if problems:
        raise AnswerRefused({place + path[1:]: problem for path, problem in problems.items()})
    return value


def answer_of(fields: list[Field], values: list[Any]) -> Any:
    """The answer with these values of the fields; UNSET ones are left out."""
    if [field.name for field in fields] == [""]:
        return values[0]
    return {field.name: value for field, value in zip(fields, values, strict=True) if value is not UNSET}


def _left_out(field: Field) -> Any:
    if field.default is not UNSET or not field.required:
        return field.default
    if misfits(field.schema, None, root=field.root):
        raise ValueError(Message("questions.required"))
    return None


def _read(field: Field, typed: str) -> Any:
    found = resolved(field.schema, field.root)
    if typed == "null" and not misfits(field.schema, None, root=field.root):
        return None
    if field.choices:
        return _choice(field.choices, typed)
    types = found.get("type")
    kinds = [kind for kind in (types if isinstance(types, list) else [types]) if kind != "null"]
    reader = _READERS.get(kinds[0] or "", _anything) if len(kinds) == 1 else _anything
    return reader(typed)


def _choice(choices: tuple[Any, ...], typed: str) -> Any:
    told = {choice if isinstance(choice, str) else json.dumps(choice): choice for choice in choices}
    if typed in told:
        return told[typed]
    near = [choice for text, choice in told.items() if text.casefold() == typed.casefold()]
    if len(near) == 1:
        return near[0]
    if (
        _WHOLE.fullmatch(typed)
        and all(isinstance(choice, str) for choice in choices)
        and 1 <= int(typed) <= len(choices)
    ):
        return choices[int(typed) - 1]
    raise ValueError(Message("questions.not-a-choice", choices=listed(choices)))


def _boolean(typed: str) -> bool:
    word = typed.casefold()
    if word not in _YES | _NO:
        raise ValueError(Message("questions.not-yes-or-no"))
    return word in _YES


def _integer(typed: str) -> int:
    if not _WHOLE.fullmatch(typed):
        raise ValueError(Message("questions.not-whole"))
    return int(typed)


def _number(typed: str) -> int | float:
    if _WHOLE.fullmatch(typed):
        return int(typed)
    if not _DECIMAL.fullmatch(typed) or not isfinite(float(typed)):
        raise ValueError(Message("questions.not-number"))
    return float(typed)


def _nested(typed: str) -> Any:
    try:
        return json.loads(typed, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise ValueError(Message("questions.not-json", example='["a", "b"] or {"a": 1}')) from None


def _no_number(word: str) -> Any:
    raise ValueError(word)


def _anything(typed: str) -> Any:
    """The JSON value of a text, else the text itself."""
    try:
        return _nested(typed)
    except ValueError:
        return typed


_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,300}[.]?[0-9]{0,300}|[.][0-9]{1,300})([eE][+-]?[0-9]{1,3})?")
_YES = frozenset({"yes", "y", "true", "1", "on", "да", "д"})
_NO = frozenset({"no", "n", "false", "0", "off", "нет", "н"})
_READERS: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "string": str,
    "array": _nested,
    "object": _nested,
}
