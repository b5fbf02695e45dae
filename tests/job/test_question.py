"""A question is refused before it is stored, an answer is told what is wrong with it by field, and a check always ends."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from enum import Enum, IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from jobtrail.errors import AnswerRefused, InvalidOption, TooLarge, UsageError
from jobtrail.job.questions.question import (
    UNSET,
    answer_of,
    check_answer,
    fields_of,
    make_question,
    read_field,
    result_of,
)  # fmt: skip
from jobtrail.job.questions.validation import misfits

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


Colour = Enum("Colour", {"RED": "red", "GREEN": "green"})
Level = IntEnum("Level", {"LOW": 1, "HIGH": 2})


class Address(BaseModel):
    city: str
    zip: str = Field(pattern=r"^\d{5}$")


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    price: float = Field(gt=0, title="Unit price", description="without tax")
    count: int = 1
    day: date
    note: str | None = None
    colour: Colour = Colour.RED
    express: bool = False
    address: Address | None = None
    tags: list[str] = []


def ask(schema, **more):
    return make_question("name", "What is it?", schema, **more)


def wrong(schema, answer):
    return texts(ask(schema), answer)


def texts(question, answer):
    return {path: str(problem) for path, problem in check_answer(question, answer).items()}


# -- what can be asked -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "fits", "not_"),
    [
        (bool, True, 1),
        (str, "", None),
        (int, 3, 3.5),
        (int, 10**30, "3"),
        (float, 3, "3"),
        (float, 0.5, True),
        (date, "2013-02-12", "20130212"),
        (date, "2012-02-29", "2013-02-29"),
        (datetime, "2013-02-12T05:00:00Z", "2013-02-12T05:00:00"),
        (datetime, "2013-02-12 05:00:00.25+01:00", "2013-02-12"),
        (["a", "b"], "a", "c"),
        ((1, 2), 2, True),
        ([None, "x"], None, "None"),
        (Colour, "red", "RED"),
        (Level, 1, True),
        ({"type": "string", "format": "email"}, "a@example.com", "a@b"),
        ({"type": "string", "format": "time"}, "05:00", "25:00"),
        ({"type": "string", "format": "uuid"}, "019a2f0e-0000-7000-8000-000000000000", "x"),
        ({"type": "string", "format": "house-number"}, "anything", 1),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "integer"}, 1, "x"),
        ({"$id": "https://example.com/a.json", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, None, 0),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "integer"}}}, 1, "x"),
        ({"properties": {"$ref": {"type": "string"}, "pattern": {"type": "integer"}}}, {"$ref": "http://x"}, {"pattern": ""}),
        ({"type": "string", "pattern": r"^\p{Lu}\d+$"}, "Ж1", "ж1"),
        ({"type": "array", "uniqueItems": True}, [1, True, "1"], [1, 1.0]),
    ],
)  # fmt: skip
def test_what_fits_and_what_does_not(schema, fits, not_):
    question = ask(schema)
    assert check_answer(question, fits) == {}
    assert check_answer(question, not_) != {}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (object, "a pydantic model class, a JSON schema"),
        ("str", "a pydantic model class, a JSON schema"),
        (True, "a pydantic model class, a JSON schema"),
        ([], "1 to 2,000 choices"),
        (range(3), "a list of choices"),
        (["a", "a"], "listed twice"),
        ([Colour.RED], "a text, a number"),
        ({1: 2}, "keys are text"),
        ({"enum": [float("nan")]}, "nan"),
        ({"type": "strin"}, r"\$.type"),
        ({"properties": {"a": {"minimum": "x"}}}, r"\$.properties.a.minimum"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "draft-07"),
        ({"$schema": {}}, "2020-12"),
        ({"$ref": "https://example.com/a.json"}, "nothing is fetched"),
        ({"properties": {"a": {"items": {"$ref": "file:///etc/passwd"}}}}, "nothing is fetched"),
        ({"$ref": "#/x", "x": {"$ref": "a.json"}}, "nothing is fetched"),
        ({"properties": {"a": {"$id": "https://example.com/", "$ref": "#"}}}, "only its top"),
        ({"properties": {"a": {"$schema": "https://example.com/"}}}, "only its top"),
        ({"$ref": "#/$defs/missing"}, "not in it"),
        ({"$ref": "#/x", "x": {"type": "strin"}}, "#/x"),
        ({"$ref": "#/title", "title": "t"}, "#/title"),
        ({"patternProperties": {"^(a+)+$": {}}}, "patternProperties"),
        ({"not": {"unevaluatedProperties": False}}, "unevaluatedProperties"),
        ({"$dynamicRef": "#a"}, "dynamicRef"),
        ({"pattern": r"(a)\1"}, "backreferences"),
        ({"pattern": "(?=a)"}, "look-around"),
        ({"pattern": "("}, "unclosed"),
        ({"$ref": "#"}, "without end"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, "without end"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_what_is_wrong(schema, told):
    with pytest.raises(InvalidOption, match=told):
        ask(schema)


def test_a_model_that_has_no_json_schema_is_refused():
    class Strange(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        place: subprocess.Popen

    with pytest.raises(InvalidOption, match="Strange has no JSON schema"):
        ask(Strange)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, "a\u202eb", 5])
def test_a_name_is_short_and_printable(name):
    with pytest.raises(InvalidOption, match="the name of a question"):
        make_question(name, "What?", str)


@pytest.mark.parametrize("text", ["", " \n ", "x" * 4_001, None])
def test_a_text_is_there_and_bounded(text):
    with pytest.raises(InvalidOption, match="1 to 4,000 characters"):
        make_question("a", text, str)


def test_a_text_can_be_stored_by_every_database():
    assert make_question("a", "A\x00 \udc80 ж", str).text == "A\\x00 \\udc80 ж"


@pytest.mark.parametrize(("expires", "seconds"), [(None, None), (60, 60.0), (timedelta(days=2), 172_800.0)])
def test_a_deadline_is_in_seconds(expires, seconds):
    assert ask(str, expires=expires).expires == seconds


@pytest.mark.parametrize("expires", [0, -1, timedelta(0), float("nan"), float("inf"), "1h", True])
def test_a_deadline_lies_ahead(expires):
    with pytest.raises(InvalidOption, match="expires"):
        ask(str, expires=expires)


def test_the_kind_is_known_and_columns_are_for_a_mapping():
    for more in ({"kind": "choice"}, {"kind": "mapping"}, {"columns": ["a"]}):
        with pytest.raises(InvalidOption):
            ask(Order, **more)


def test_a_schema_has_a_limit():
    with pytest.raises(TooLarge, match="64 kB.*ask for less"):
        ask({"description": "x" * 70_000})
    with pytest.raises(TooLarge):
        ask({"description": "x" * 1_000}, limit=500)
    wide = {"a": 1}
    for _ in range(60):
        wide = {"a": wide, "b": wide}
    with pytest.raises(TooLarge):
        ask({"default": wide})


# -- the default -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "default", "kept"),
    [
        (int, 5, 5),
        ({"type": ["integer", "null"]}, None, None),
        (Colour, Colour.GREEN, "green"),
        (date, date(2013, 2, 12), "2013-02-12"),
        (datetime, datetime(2013, 2, 12, tzinfo=UTC), "2013-02-12T00:00:00+00:00"),
        (Address, Address(city="x", zip="12345"), {"city": "x", "zip": "12345"}),
    ],
)
def test_a_default_is_kept_as_the_answer_that_it_stands_for(schema, default, kept):
    assert json.loads(ask(schema, default=default).default) == kept
    assert result_of(schema, kept) == (default if default is not None else None)


@pytest.mark.parametrize(("schema", "default"), [(int, None), (int, "5"), (Colour, "blue"), (float, float("nan"))])
def test_a_default_that_does_not_fit_is_refused(schema, default):
    with pytest.raises(InvalidOption, match="the default of the question 'name'"):
        ask(schema, default=default)


def test_no_default_is_none():
    assert ask(int).default is None


# -- the digest --------------------------------------------------------------------------------------


def test_the_digest_is_of_what_is_asked_not_of_how():
    asked = {"type": "object", "properties": {"title": {"type": "string", "title": "T", "description": "D"}}}
    reworded = {
        "description": "new",
        "type": "object",
        "properties": {"title": {"type": "string", "title": "U", "examples": ["a"]}},
    }
    one = make_question("a", "One?", asked, expires=5, default={})
    assert one.digest == make_question("b", "Two?", reworded, remember=True).digest
    for other in (
        {**asked, "required": ["title"]},
        {"type": "object", "properties": {"name": {"type": "string"}}},
        {"type": "object", "properties": {}},
        {"type": "object"},
    ):
        assert one.digest != ask(other).digest


# -- what is wrong with an answer --------------------------------------------------------------------

TABLE = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number"}}}},
    },
}


@pytest.mark.parametrize(
    ("schema", "answer", "errors"),
    [
        (TABLE, {"rows": [{}, {"price": 1}, {"price": "x"}]}, {"$.rows[2].price": "must be a number; it is 'x'"}),
        (int, "x", {"$": "must be a whole number; it is 'x'"}),
        (bool, None, {"$": "must be true or false; it is null"}),
        (str, {"a": 1}, {"$": "must be a text; it is an object"}),
        (str, [1, 2], {"$": "must be a text; it is a list of 2"}),
        (date, 5, {"$": "must be a date such as 2013-02-12; it is 5"}),
        (date, "12.02.2013", {"$": "must be a date such as 2013-02-12; it is '12.02.2013'"}),
        (["a", "b"], "c", {"$": "must be one of 'a', 'b'; it is 'c'"}),
        (list(range(30)), 99, {"$": "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 20 more; it is 99"}),
        ({"const": "yes"}, "no", {"$": "must be 'yes'; it is 'no'"}),
        ({"minimum": 1}, 0, {"$": "must be at least 1; it is 0"}),
        ({"exclusiveMaximum": 5}, 5, {"$": "must be less than 5; it is 5"}),
        ({"multipleOf": 5}, 7, {"$": "must be a multiple of 5; it is 7"}),
        ({"minLength": 2}, "a", {"$": "must have at least 2 characters; it has 1"}),
        ({"maxItems": 1}, [1, 2], {"$": "must have at most 1 members; it has 2"}),
        ({"minProperties": 1}, {}, {"$": "must have at least 1 fields; it has 0"}),
        ({"pattern": "^a$"}, "b", {"$": "must match the pattern ^a$; it is 'b'"}),
        ({"uniqueItems": True}, [1, 1], {"$": "has the same member twice"}),
        ({"not": {}}, 1, {"$": "is one of the values that are not allowed"}),
        ({"properties": {"a": False}}, {"a": 1}, {"$": "has a part that is not allowed"}),
        ({"required": ["a", "b"]}, {}, {"$.a": "is required and missing", "$.b": "is required and missing"}),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"a": 1, "b": 2, "c d": 3},
            {"$.b": "is not asked for; the fields are 'a'", '$["c d"]': "is not asked for; the fields are 'a'"},
        ),
        (str, "x" * 300_000, {"$": "is too large; at most 256 kB are accepted"}),
        (float, float("nan"), {"$": "is the float nan, which is not a JSON value: use None"}),
        ({}, {"a": [1, float("inf")]}, {"$.a[1]": "is the float inf, which is not a JSON value: use None"}),
        ({}, {"a": date(2013, 2, 12)}, {"$.a": "is of type date, which is not a JSON value: use .isoformat()"}),
        ({"multipleOf": 0.5}, 10**400, {"$": "has a number that is too large to be checked"}),
    ],
)  # fmt: skip
def test_c53_an_answer_that_does_not_fit_is_told_so_by_field(schema, answer, errors):
    assert wrong(schema, answer) == errors


def test_c53_every_field_of_a_model_is_told():
    assert wrong(Order, {"price": 0, "day": "x", "note": 5, "colour": "blue", "address": {"zip": "1"}, "size": 3}) == {
        "$.size": "is not asked for; the fields are 'price', 'count', 'day', 'note', 'colour', 'express', 'address', 'tags'",
        "$.price": "must be more than 0; it is 0",
        "$.day": "must be a date such as 2013-02-12; it is 'x'",
        "$.note": "must be a text or null; it is 5",
        "$.colour": "must be one of 'red', 'green'; it is 'blue'",
        "$.address.city": "is required and missing",
        "$.address.zip": r"must match the pattern ^\d{5}$; it is '1'",
    }


def test_of_several_forms_the_one_that_was_meant_is_explained():
    forms = {
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["path"]},
            {"type": "object", "properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["url"]},
        ]
    }  # fmt: skip
    assert wrong(forms, {"kind": "url"}) == {"$.url": "is required and missing"}
    assert wrong(forms, {}) == {"$": "has none of the 2 forms that are allowed; it is an object"}
    assert wrong(forms, {"kind": "ftp"}) == {"$": "must be one of the values that are allowed; it is an object"}
    assert wrong(forms, 5) == {"$": "must be an object; it is 5"}
    assert wrong(forms, {"path": "a", "url": "b"}) == {"$": "fits more than one of the forms that exclude each other"}


def test_errors_are_at_most_fifty_and_short():
    errors = wrong({"type": "array", "items": {"type": "string", "maxLength": 5}}, ["x" * 1_000] * 200)
    assert len(errors) == 50
    assert max(map(len, errors.values())) < 200
    assert len(wrong({"additionalProperties": False}, dict.fromkeys(map(str, range(1_000))))) == 50
    assert len(wrong({"required": list(map(str, range(1_000)))}, {})) == 50


def test_a_value_in_a_sentence_cannot_steer_a_terminal():
    hostile = "\x1b[2J\u202e\x00\x85\n" + "x" * 500
    for errors in (wrong(int, hostile), wrong({"additionalProperties": False}, {hostile: 1}), wrong([hostile], 5)):
        assert all((path + sentence).isprintable() for path, sentence in errors.items())


@given(JSON)
def test_any_answer_fits_or_is_told_why_not(answer):
    errors = texts(ORDER, answer)
    assert all(path.startswith("$") and sentence.isprintable() for path, sentence in errors.items())
    if not errors:
        assert isinstance(result_of(Order, answer), Order)


ORDER = ask(Order)


# -- it ends -----------------------------------------------------------------------------------------


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"x": value}
    return value


BRANCHING = {
    "$ref": "#/$defs/n",
    "$defs": {"n": {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/n"}}, "required": [key]} for key in ("p", "q")]}},
}
SELFISH = {"if": {"type": "object", "required": ["x"]}, "then": {"$ref": "#"}}


@pytest.mark.parametrize(
    ("schema", "answer", "told"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 200_000 + "!", "must match the pattern"),
        ({"pattern": "^(a|a)*b$"}, "a" * 200_000, "must match the pattern"),
        ({"uniqueItems": True}, [[number, str(number)] if number % 2 else str(number) for number in range(12_000)], ""),
        (SELFISH, {"x": 1}, "cannot be checked"),
        (BRANCHING, nested(60), "cannot be checked"),
    ],
    ids=["pattern", "alternatives", "unique", "endless", "branching"],
)
def test_a_check_ends_whatever_is_answered(schema, answer, told):
    question = ask(schema)
    started = time.process_time()
    assert told in texts(question, answer).get("$", "")
    assert time.process_time() - started < 20


def test_an_honest_answer_of_the_largest_size_is_checked():
    rows = {
        "type": "array",
        "items": {"$ref": "#/$defs/row"},
        "$defs": {"row": {"properties": {"a": {"type": "integer"}}}},
    }
    assert wrong(rows, [{"a": 1}] * 25_000) == {}


def test_it_is_imported_without_what_is_heavy():
    code = "import jobtrail.job.questions.question, sys; print([n for n in ('jsonschema', 'pydantic', 'referencing') if n in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert told.strip() == "[]"


# -- what the body gets ------------------------------------------------------------------------------


class Rule(BaseModel):
    even: int = Field(alias="Even number")

    @field_validator("even")
    @classmethod
    def check(cls, value):
        if value % 2:
            raise ValueError("must be even")
        return value


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date


@pytest.mark.parametrize(
    ("schema", "answer", "result"),
    [
        (str, "a", "a"),
        (bool, True, True),
        (int, 3.0, 3),
        (float, 3, 3.0),
        (date, "2013-02-12", date(2013, 2, 12)),
        (datetime, "2013-02-12t05:00:00z", datetime(2013, 2, 12, 5, tzinfo=UTC)),
        (["a", 1], 1.0, 1),
        (Colour, "green", Colour.GREEN),
        (Level, 2.0, Level.HIGH),
        ({"type": "object"}, {"a": 1}, {"a": 1}),
        (Rule, {"Even number": 4}, Rule(**{"Even number": 4})),
        (Strict, {"day": "2013-02-12"}, Strict(day=date(2013, 2, 12))),
    ],
)
def test_the_body_gets_what_it_asked_for(schema, answer, result):
    assert wrong(schema, answer) == {}
    found = result_of(schema, answer)
    assert found == result
    assert type(found) is type(result)


def test_a_rule_that_only_the_model_knows_refuses_by_field():
    assert wrong(Rule, {"Even number": 3}) == {}
    with pytest.raises(AnswerRefused) as told:
        result_of(Rule, {"Even number": 3})
    assert told.value.errors == {'$["Even number"]': "Value error, must be even"}


def test_a_refused_answer_is_one_sentence_and_survives_a_process():
    error = AnswerRefused({f"$.a{number}": "must be a text; it is 5" for number in range(7)})
    assert str(error).startswith("the answer does not fit: $.a0 must be a text; it is 5; $.a1")
    assert str(error).endswith("; and 2 more")
    assert str(AnswerRefused({"$": "must be a text; it is 5"})) == "the answer does not fit: it must be a text; it is 5"
    assert isinstance(error, UsageError)
    assert pickle.loads(pickle.dumps(error)).errors == error.errors


# -- field by field ----------------------------------------------------------------------------------


def fields(schema):
    return fields_of(json.loads(ask(schema).schema))


def test_the_fields_of_a_model():
    assert [
        (field.name, field.title, field.words, field.required, field.choices, field.default) for field in fields(Order)
    ] == [
        ("price", "Unit price", "number", True, (), UNSET),
        ("count", "Count", "whole number", False, (), 1),
        ("day", "Day", "date", True, (), UNSET),
        ("note", "Note", "text", False, (), None),
        ("colour", "Colour", "one of a list", False, ("red", "green"), "red"),
        ("express", "Express", "yes or no", False, (), False),
        ("address", "Address", "object", False, (), None),
        ("tags", "Tags", "list", False, (), []),
    ]
    assert fields(Order)[0].description == "without tax"


@pytest.mark.parametrize("schema", [int, Colour, ["a"], {"type": "array"}, {"type": "object"}, {}])
def test_what_has_no_fields_is_one_field_without_a_name(schema):
    (field,) = fields(schema)
    assert (field.name, field.required) == ("", True)
    assert answer_of([field], ["x"]) == "x"


def prop(schema):
    return fields({"type": "object", "properties": {"a": schema}, "required": ["a"]})[0]


@pytest.mark.parametrize(
    ("schema", "typed", "value"),
    [
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "integer"}, "-3", -3),
        ({"type": "number"}, "12", 12),
        ({"type": "number"}, ".5", 0.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "boolean"}, "yes", True),
        ({"type": "boolean"}, "ДА", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "boolean"}, "нет", False),
        ({"type": "string"}, "12", "12"),
        ({"type": "string", "format": "date"}, "2013-02-12", "2013-02-12"),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "null"]}, "", None),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "five", "five"),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"a": {}}', {"a": {}}),
        ({"enum": ["Red", "Green"]}, "Red", "Red"),
        ({"enum": ["Red", "Green"]}, "green", "Green"),
        ({"enum": ["Red", "Green"]}, "2", "Green"),
        ({"enum": ["2", "Green"]}, "2", "2"),
        ({"enum": [5, True, None]}, "5", 5),
        ({"enum": [5, True, None]}, "true", True),
        ({"enum": [5, True, None]}, "null", None),
        ({"type": "string", "default": "x"}, "", "x"),
    ],
)
def test_what_is_typed_becomes_a_value(schema, typed, value):
    found = read_field(prop(schema), typed)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("schema", "typed", "told"),
    [
        ({"type": "integer"}, "1.5", "must be a whole number such as 12; it is '1.5'"),
        ({"type": "integer"}, "1_000", "must be a whole number such as 12; it is '1_000'"),
        ({"type": "integer"}, "9" * 5_000, "must be a whole number such as 12; it is '" + "9" * 59 + "…'"),
        ({"type": "number"}, "1,5", "must be a number such as 12 or 12.5; it is '1,5'"),
        ({"type": "number"}, "nan", "must be a number such as 12 or 12.5; it is 'nan'"),
        ({"type": "number"}, "1e999", "must be a number such as 12 or 12.5; it is '1e999'"),
        ({"type": "number", "minimum": 5}, "1", "must be at least 5; it is 1"),
        ({"type": "boolean"}, "maybe", "must be yes or no; it is 'maybe'"),
        ({"type": "string"}, "  ", "is required"),
        ({"type": "string", "format": "date"}, "today", "must be a date such as 2013-02-12; it is 'today'"),
        ({"enum": ["Red", "red"]}, "RED", "must be one of 'Red', 'red'; it is 'RED'"),
        ({"enum": ["a", "b"]}, "3", "must be one of 'a', 'b'; it is '3'"),
        ({"enum": ["a", "b"]}, "0", "must be one of 'a', 'b'; it is '0'"),
        ({"type": "array"}, "a, b", """must be JSON, such as ["a", "b"] or {"a": 1}; it is 'a, b'"""),
        ({"type": "array"}, "[NaN]", """must be JSON, such as ["a", "b"] or {"a": 1}; it is '[NaN]'"""),
        ({"type": "array"}, "[" * 100_000, """must be JSON, such as ["a", "b"] or {"a": 1}; it is '""" + "[" * 59 + "…'"),
    ],
)  # fmt: skip
def test_what_is_typed_wrongly_is_told_what_it_must_be(schema, typed, told):
    with pytest.raises(AnswerRefused) as refused:
        read_field(prop(schema), typed)
    assert refused.value.errors == {"$.a": told}


def test_a_mistake_inside_a_nested_field_has_its_place():
    with pytest.raises(AnswerRefused) as refused:
        read_field(fields(Order)[6], '{"city": 5}')
    assert refused.value.errors == {
        "$.address.city": "must be a text; it is 5",
        "$.address.zip": "is required and missing",
    }


def test_what_is_left_out_is_not_in_the_answer():
    asked = fields(
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]}
    )
    values = [read_field(field, typed) for field, typed in zip(asked, ["", "5"], strict=True)]
    assert values == [UNSET, 5]
    assert answer_of(asked, values) == {"b": 5}


def test_a_form_filled_in_line_by_line_is_an_answer():
    lines = ["12.5", "", "2013-02-12", "hello", "GREEN", "yes", '{"city": "x", "zip": "12345"}', '["a"]']
    asked = fields(Order)
    answer = answer_of(asked, [read_field(field, line) for field, line in zip(asked, lines, strict=True)])
    assert check_answer(ORDER, answer) == {}
    assert result_of(Order, answer).colour is Colour.GREEN


@given(st.text(max_size=50))
def test_any_line_is_read_or_refused(line):
    for field in fields_of(ORDER_SCHEMA):
        try:
            value = read_field(field, line)
        except AnswerRefused as refused:
            assert refused.errors
        else:
            assert value is UNSET or misfits(field.schema, value, root=field.root) == {}


ORDER_SCHEMA = json.loads(ORDER.schema)
