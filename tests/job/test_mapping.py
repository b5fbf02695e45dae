"""A mapping: what columns there are, which is proposed for which field, and which answer will do."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import time
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, AliasPath, BaseModel, Field

from jobtrail.errors import InvalidOption, TooLarge
from jobtrail.job.questions.mapping import EQUAL, _scores, answer_schema, check_mapping, columns_of, propose, targets_of
from jobtrail.job.questions.question import check_answer, fields_of, make_question, read_field, result_of

PLANES = Path(__file__).parents[2] / "examples" / "flights" / "data" / "planes.csv.gz"


class Plane(BaseModel):
    tailnum: str = Field(json_schema_extra={"x-synonyms": ["Бортовой номер", "Registration"]})
    year: int | None = Field(None, json_schema_extra={"x-synonyms": ["Год выпуска"]})
    type: str = Field(json_schema_extra={"x-synonyms": ["Тип"]})
    manufacturer: str = Field(json_schema_extra={"x-synonyms": ["Производитель", "Maker"]})
    model: str = Field(json_schema_extra={"x-synonyms": ["Модель"]})
    engines: int | None = Field(None, json_schema_extra={"x-synonyms": ["Число двигателей"]})
    seats: int = Field(json_schema_extra={"x-synonyms": ["Места", "Кресел"]})
    speed: float | None = Field(None, json_schema_extra={"x-synonyms": ["Скорость"]})
    engine: str | None = Field(None, json_schema_extra={"x-synonyms": ["Двигатель"]})


FIELDS = list(Plane.model_fields)


def planes(names=None, rows=5):
    """The first rows of the real file under other column names."""
    with gzip.open(PLANES, "rt", encoding="utf-8") as file:
        head = "".join(line for _, line in zip(range(rows + 1), file, strict=False))
    body = head.split("\n", 1)[1]
    return list(csv.DictReader(io.StringIO(",".join(f'"{name}"' for name in names or FIELDS) + "\n" + body)))


def columns(*names):
    return columns_of(list(names))


def targets(*names, **synonyms):
    properties = {name: {"type": "string", "x-synonyms": synonyms.get(name, [])} for name in names}
    return targets_of({"type": "object", "properties": properties})


# -- columns -----------------------------------------------------------------------------------------


def test_columns_of_names_samples_and_rows():
    assert columns_of(["a", "b"]) == [{"name": "a", "samples": []}, {"name": "b", "samples": []}]
    assert columns_of({"a": [1, None, 2.5, 1, 3, 4], "b": "x", "c": None}) == [
        {"name": "a", "samples": ["1", "2.5", "3"]},
        {"name": "b", "samples": ["x"]},
        {"name": "c", "samples": []},
    ]
    found = columns_of(planes())
    assert [column["name"] for column in found] == FIELDS
    assert found[0]["samples"] == ["N10156", "N102UW", "N103US"]
    assert found[5] == {"name": "engines", "samples": ["2"]}
    assert columns_of(planes()[0].keys()) == columns_of(FIELDS)


def test_rows_with_other_columns_and_cells_beyond_the_header():
    rows = [{"a": "1", None: ["x", "y"]}, {"a": "", "b": "2"}, {"a": "3"}]
    assert columns_of(rows) == [{"name": "a", "samples": ["1", "3"]}, {"name": "b", "samples": ["2"]}]


def test_a_column_without_a_name_is_left_out():
    assert [column["name"] for column in columns_of(["a", "", "  ", "b", ""])] == ["a", "b"]


def test_names_stay_as_they_are_and_samples_become_safe():
    hostile = "\ufeffprice\x1b[2J\u202e\x00\n"
    (column,) = columns_of({hostile: ["\x1b[31mred\x00 \n two\u202e", "x" * 5_000]})
    assert column["name"] == hostile
    assert column["samples"] == ["\\x1b[31mred\\x00 two\\u202e", "x" * 59 + "…"]
    question = make_question("m", "?", {"properties": {"price": {}}}, kind="mapping", columns=[hostile])
    assert json.loads(question.detail)["proposal"] == {"price": hostile}
    assert check_answer(question, {"price": hostile}) == {}
    assert str(check_answer(question, {"price": "price"})["$.price"]).isprintable()


def test_a_sample_that_cannot_be_printed_is_its_type():
    class Broken:
        def __str__(self):
            raise RuntimeError

    assert columns_of({"a": [Broken()]}) == [{"name": "a", "samples": ["Broken"]}]


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ([], "no column"),
        ({}, "no column"),
        (["", " "], "no column"),
        (["price", "b", "price"], "columns 1 and 3 are both called 'price'"),
        ([str(number) for number in range(10_000)], "10,000 columns; at most 500"),
        ({number: [] for number in range(501)}, "501 columns"),
        ([dict.fromkeys(map(str, range(501)))], "501 columns"),
        (["x" * 201], "201 characters"),
        ([1, 2], "column 1 must be a text"),
        ({5: ["a"]}, "column 1 must be a text"),
        ("abc", "must be a list of names"),
        (5, "must be a list of names"),
        (iter(["a"]), "an iterator would lose its rows"),
        (csv.DictReader(io.StringIO("a\n1\n")), "an iterator would lose its rows"),
        ([{"a": 1}, "b"], "must all be dicts"),
    ],
)
def test_columns_that_cannot_be_mapped_are_refused(given_, told):
    with pytest.raises(InvalidOption, match=told):
        columns_of(given_)


def test_only_the_first_rows_are_looked_at():
    class Rows(list):
        taken = 0

        def __iter__(self):
            for row in super().__iter__():
                Rows.taken += 1
                yield row

    columns_of(Rows({"a": number} for number in range(100_000)))
    assert Rows.taken < 1_000


# -- targets -----------------------------------------------------------------------------------------


def test_targets_of_a_model():
    class Row(BaseModel):
        """A row."""

        price: float = Field(alias="Preis", title="Unit price", description="without tax")
        day: int | None = Field(None, validation_alias=AliasChoices("Tag", AliasPath("a", 0), "Datum"))
        kind: str = Field("a", json_schema_extra={"x-synonyms": ["Art", "Art"]})

    assert targets_of(Row) == [
        {
            "name": "price",
            "type": "@questions.kind-number",
            "required": True,
            "title": "Unit price",
            "description": "without tax",
            "synonyms": ["Preis"],
        },
        {
            "name": "day",
            "type": "@questions.kind-whole-number",
            "required": False,
            "title": "Day",
            "description": None,
            "synonyms": ["Tag", "Datum"],
        },
        {"name": "kind", "type": "@questions.kind-text", "required": False, "title": "Kind", "description": None, "synonyms": ["Art"]},
    ]


def test_targets_of_a_json_schema_follow_its_references():
    schema = {
        "$ref": "#/$defs/row",
        "$defs": {
            "row": {"properties": {"day": {"$ref": "#/$defs/day", "title": "Day"}, "any": True}, "required": ["day"]},
            "day": {"type": "string", "format": "date"},
        },
    }
    day, anything = targets_of(schema)
    assert (day["name"], day["type"], day["required"], day["title"]) == ("day", "@questions.kind-date", True, "Day")
    assert (anything["type"], anything["required"]) == ("@questions.kind-any", False)


@pytest.mark.parametrize(
    "schema",
    [
        int,
        ["a", "b"],
        {"type": "object"},
        {"properties": {str(number): {} for number in range(201)}},
        {"properties": {"a": {"x-synonyms": "b"}}},
        {"properties": {"a": {"x-synonyms": [5]}}},
    ],
)
def test_a_schema_without_fields_for_columns_is_refused(schema):
    with pytest.raises(InvalidOption, match="properties|x-synonyms"):
        targets_of(schema)


# -- the proposal ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "renamed",
    [
        FIELDS,
        [name.upper() for name in FIELDS],
        ["Tail Num", "Year", "Type", "Manufacturer", "Model", "Engines", "Seats", "Speed", "Engine"],
        ["tail_no", "yr", "type_", "mfr", "model", "engines", "seats", "speed", "engine"],
        ["Tail No.", "Year built", "Aircraft Type", "Manuf.", "Model Name", "No. of Engines", "Seat count", "Speed (kn)", "Engine Type"],
        ["plane.tailnum", "plane.year", "plane.type", "plane.manufacturer", "plane.model", "plane.engines", "plane.seats", "plane.speed", "plane.engine"],
        ["Tailnumber", "Yeear", "Types", "Manufacurer", "Modell", "Engines", "Seets", "Spead", "Engine"],
        ["registration", "YEAR", "type", "maker", "model", "Engine count", "seats", "speed", "Engine type"],
        ["Бортовой номер", "Год выпуска", "Тип", "Производитель", "Модель", "Число двигателей", "Места", "Скорость", "Двигатель"],
        ["БОРТОВОЙ_НОМЕР", "год  выпуска", "тип", "Производитель", "модель самолёта", "Число двигателей (шт.)", "Кресел", "Скорость, км/ч", "двигатель"],
        ["Tàilnum", "Yéar", "TYPE", "Manufacturer", "Modèl", "ENGINES", "seats", "ｓｐｅｅｄ", "engine"],
    ],
)  # fmt: skip
def test_renamed_planes_are_found_again_in_any_order(renamed):
    rows = planes(renamed)
    wanted = dict(zip(FIELDS, renamed, strict=True))
    there = columns_of(rows)
    assert propose(there, targets_of(Plane)) == wanted
    random.Random(5).shuffle(there)
    assert propose(there, targets_of(Plane)) == wanted


def test_what_is_not_alike_is_not_proposed():
    assert set(propose(columns("Alpha", "Beta", "Gamma", "Delta", "№", "x", "1"), targets_of(Plane)).values()) == {None}
    assert propose(columns("id", "or"), targets("in", "on")) == {"in": None, "on": None}


@pytest.mark.parametrize(
    ("column", "target"),
    [
        ("tailNum", "tail_num"),
        ("ProductID", "product id"),
        ("Straße", "STRASSE"),
        ("ёлка", "Елка"),
        ("Qty.", "quantity"),
        ("order no", "OrderNumber"),
        ("Date of birth", "birth_date"),
        ("Größe", "grosse"),
        ("\ufeffname", "name"),
        (" name\n", "name"),
        ("datoPayment", "dato payment"),
        ("ценаТовара", "цена товара"),
    ],
)
def test_names_that_mean_the_same_are_equal(column, target):
    (score,) = _scores(columns(column), targets(target)).values()
    assert score >= EQUAL
    assert propose(columns(column), targets(target)) == {target: column}


def test_an_equal_name_is_never_lost_to_a_likely_one():
    assert propose(columns("price net", "price"), targets("price_net_total", "price")) == {
        "price_net_total": "price net",
        "price": "price",
    }
    assert propose(columns("Price", "price list"), targets("price", "price_gross")) == {
        "price": "Price",
        "price_gross": None,
    }
    assert propose(columns("Price"), targets("price_net", "PRICE")) == {"price_net": None, "PRICE": "Price"}


@pytest.mark.parametrize("equal", ["tailnum", "TailNumber", "number, tail", "TAIL_NO"])
def test_an_equal_name_is_found_among_many_that_are_alike(equal):
    alike = [f"tail number {letter}" for letter in "abcdefghijklmnop"] + [f"tail num{letter}" for letter in "xyz"]
    assert propose(columns(*alike, equal), targets("tail_num")) == {"tail_num": equal}


def test_of_two_that_want_one_column_the_one_without_another_gets_it():
    both = targets("first", "second", first=["a", "b"], second=["a"])
    assert propose(columns("a", "b"), both) == {"first": "b", "second": "a"}
    chain = targets("p", "q", "r", p=["1", "2"], q=["2", "3"], r=["1"])
    assert propose(columns("1", "2", "3"), chain) == {"p": "2", "q": "3", "r": "1"}


def test_samples_decide_between_names_that_are_alike():
    there = columns_of({"Engine Type": ["Turbo-fan"], "Engine Count": ["2", "NA"]})
    wanted = [target for target in targets_of(Plane) if target["name"].startswith("engine")]
    assert propose(there, wanted) == {"engines": "Engine Count", "engine": "Engine Type"}


WORDS = st.sampled_from(["a", "b", "c", "d"])


@given(
    st.lists(WORDS, min_size=1, max_size=4, unique=True),
    st.lists(st.lists(WORDS, max_size=3, unique=True), min_size=1, max_size=4),
)
def test_as_many_equal_names_as_can_be_had_together(names, wishes):
    wanted = targets(*(f"t{index}" for index in range(len(wishes))), **{f"t{i}": wish for i, wish in enumerate(wishes)})
    found = propose(columns(*names), wanted)
    used = [column for column in found.values() if column]
    assert len(used) == len(set(used))
    best = max(
        sum(column in wish for column, wish in zip(order, wishes, strict=True))
        for order in permutations([*names, *[None] * len(wishes)], len(wishes))
    )
    assert len(used) == best


@given(st.lists(st.text(max_size=12), max_size=8), st.lists(st.text(min_size=1, max_size=12), max_size=6))
def test_any_names_give_a_proposal_that_is_a_fair_answer(names, wanted):
    named = list(dict.fromkeys(name for name in names if name.strip()))
    fields = list(dict.fromkeys(wanted))
    if not named or not fields:
        return
    there, asked = columns(*named), targets(*fields)
    found = propose(there, asked)
    assert found == propose(there, asked)
    assert list(found) == fields
    assert check_mapping({"columns": there, "targets": asked}, found) == {}
    assert all(found[name] == name for name in fields if name in named)


def test_the_most_that_is_allowed_is_proposed_in_bounded_time():
    there = columns(*(f"{'xyz' * 60}{number:04}" for number in range(500)))
    wanted = targets(*(f"{'xzy' * 60}{number:04}" for number in range(200)))
    started = time.process_time()
    assert len(propose(there, wanted)) == 200
    assert time.process_time() - started < 20


# -- the answer --------------------------------------------------------------------------------------

DETAIL = {"columns": columns("Tail No.", "Seat count", "Year"), "targets": targets_of(Plane)}


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        ({}, {}),
        ({"year": None}, {}),
        ({"seats": None}, {"$.seats": "is required: name the column that it is in"}),
        ({"seats": "Seats"}, {"$.seats": "there is no column 'Seats'; the columns are 'a', 'b', 'c', 'Seat count', 'Year'"}),
        ({"seats": "Seat Count"}, {"$.seats": "there is no column 'Seat Count'; did you mean 'Seat count'?"}),
        ({"seats": 5}, {"$.seats": "must be the name of a column, or null for none; it is 5"}),
        ({"seats": ""}, {"$.seats": "there is no column ''; the columns are 'a', 'b', 'c', 'Seat count', 'Year'"}),
        ({"year": "a"}, {"$.year": "the column 'a' is used for 'tailnum' already; each can be used once"}),
        ({"wings": "Year"}, {"$.wings": "is not asked for; the fields are 'tailnum', 'year', 'seats', 'type'"}),
    ],
)  # fmt: skip
def test_c53_a_mapping_that_will_not_do_is_told_so_by_field(changes, errors):
    wanted = [
        target
        for name in ("tailnum", "year", "seats", "type")
        for target in DETAIL["targets"]
        if target["name"] == name
    ]
    detail = {"columns": columns("a", "b", "c", "Seat count", "Year"), "targets": wanted}
    answer = {"tailnum": "a", "type": "b", "seats": "Seat count", **changes}
    assert {path: str(problem) for path, problem in check_mapping(detail, answer).items()} == errors


def test_each_required_target_that_is_missing_is_told():
    assert set(check_mapping(DETAIL, {})) == {"$.tailnum", "$.type", "$.manufacturer", "$.model", "$.seats"}
    assert (
        str(check_mapping(DETAIL, ["a"])["$"])
        == "must be an object that names a column for each field; it is a list of 1"
    )
    assert len(check_mapping(DETAIL, dict.fromkeys(map(str, range(1_000))))) == 50


def test_the_schema_of_the_answer_says_the_same_without_the_doubles():
    schema = answer_schema(DETAIL["columns"], DETAIL["targets"])
    assert schema["required"] == ["tailnum", "type", "manufacturer", "model", "seats"]
    asked = {field.name: field for field in fields_of(schema)}
    assert asked["year"].choices == ("Tail No.", "Seat count", "Year")
    assert read_field(asked["year"], "null") is None
    assert read_field(asked["seats"], "2") == "Seat count"


# -- as a question -----------------------------------------------------------------------------------


def test_c53_a_mapping_is_asked_proposed_corrected_and_answered():
    renamed = [
        "Tail No.",
        "Year built",
        "Aircraft Type",
        "Manuf.",
        "Model",
        "No. of Engines",
        "Seat count",
        "Speed",
        "Engine",
    ]
    question = make_question(
        "columns", "Which column is which?", Plane, kind="mapping", columns=planes(renamed), remember=True
    )
    proposal = json.loads(question.detail)["proposal"]
    assert check_answer(question, proposal) == {}
    corrected = {**proposal, "speed": None}
    assert check_answer(question, corrected) == {}
    assert result_of(Plane, corrected, kind="mapping") == corrected
    del corrected["speed"]
    assert check_answer(question, corrected) == {}
    assert result_of(Plane, corrected, kind="mapping") == {**proposal, "speed": None}
    assert check_answer(question, {**proposal, "seats": "Year built"}) != {}


def test_the_digest_is_of_columns_and_fields_not_of_samples_or_order():
    asked = make_question("m", "?", Plane, kind="mapping", columns=planes())
    again = make_question("n", "Other words?", Plane, kind="mapping", columns=FIELDS[::-1], expires=5)
    assert asked.digest == again.digest
    assert asked.digest != make_question("m", "?", Plane, kind="mapping", columns=[*FIELDS, "new"]).digest
    assert asked.digest != make_question("m", "?", Plane, kind="mapping", columns=FIELDS[1:]).digest
    some, turned = ({"properties": {name: {} for name in order}} for order in (["a", "b"], ["b", "a"]))
    digests = {make_question("m", "?", schema, kind="mapping", columns=["x"]).digest for schema in (some, turned)}
    assert len(digests) == 1
    less = {"properties": {name: {} for name in FIELDS}}
    assert asked.digest != make_question("m", "?", less, kind="mapping", columns=FIELDS).digest


def test_a_default_is_a_mapping_that_will_do():
    default = dict(zip(FIELDS, FIELDS, strict=True))
    asked = make_question("m", "?", Plane, kind="mapping", columns=FIELDS, default=default)
    assert json.loads(asked.default) == default
    with pytest.raises(InvalidOption, match="seats is required"):
        make_question("m", "?", Plane, kind="mapping", columns=FIELDS, default={**default, "seats": None})


def test_many_columns_give_up_samples_before_they_are_refused():
    many = {f"Колонка номер {number}": ["проба" * 12, "другая" * 9, "третья" * 9] for number in range(500)}
    schema = {"properties": {"price": {}}}
    detail = json.loads(make_question("m", "?", schema, kind="mapping", columns=many).detail)
    assert len(detail["columns"]) == 500
    assert {len(column["samples"]) for column in detail["columns"]} == {1}
    few = dict(list(many.items())[:50])
    kept = json.loads(make_question("m", "?", schema, kind="mapping", columns=few).detail)
    assert {len(column["samples"]) for column in kept["columns"]} == {3}
    with pytest.raises(TooLarge, match="256 kB.*ask for less"):
        make_question("m", "?", schema, kind="mapping", columns=[f"{'ж' * 190}{number}" for number in range(500)])
