"""Arguments come back as they went in, results never undo work, texts fit every database."""

from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from jobtrail.errors import InvalidArguments, TooLarge
from jobtrail.job.json_value import (
    canonical,
    decode,
    digest,
    encode_arguments,
    encode_result,
    encode_step,
    safe_text,
    size,
)
from jobtrail.messages import render


def strict(text):
    """Parse as a browser does: no NaN, no Infinity."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


@dataclass
class Point:
    x: float
    tags: set[str]


class Model(BaseModel):
    at: datetime
    price: Decimal


Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - the untyped kind is what people have


class Hostile:
    """Raises whatever it is asked."""

    def __getattribute__(self, name):
        raise SystemExit(name)

    def __str__(self):
        raise RuntimeError

    __repr__ = __hash__ = __str__


class NumpyLike:
    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


# -- arguments ---------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_arguments_come_back_as_they_went_in(args):
    text = encode_arguments(args)
    assert text.isascii()
    assert decode(text) == args


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (2**70, 2**70),
        ((1, (2,)), [1, [2]]),
        (Pair(1, 2), [1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        ("nul\x00 and \udc80", "nul\x00 and \udc80"),
        ([[1], [1]], [[1], [1]]),
    ],
)
def test_accepted(value, back):
    assert decode(encode_arguments({"x": value})) == {"x": back}
    assert decode(encode_arguments({"deep": [value]})) == {"deep": [back]}


LOOP: list = []
LOOP.append({"again": LOOP})
DEEP: list = []
for _ in range(70):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        (float("nan"), "$.x", "nan"),
        (float("-inf"), "$.x", "inf"),
        ([1, {"price": float("inf")}], "$.x[1].price", "use None"),
        (b"raw", "$.x", "bytes"),
        ({1, 2}, "$.x", "set"),
        ({3: "x"}, "$.x", "key of type int"),
        ({"odd key": object()}, '$.x["odd key"]', "object"),
        (LOOP, "$.x[0].again", "contains itself"),
        (DEEP, None, "64 levels"),
        (datetime(2026, 1, 1, tzinfo=UTC), "$.x", ".isoformat()"),
        (date(2026, 1, 1), "$.x", ".isoformat()"),
        (UUID(int=1), "$.x", "str()"),
        (Decimal("1.10"), "$.x", "str()"),
        (PurePosixPath("/a"), "$.x", "str()"),
        (Colour.RED, "$.x", ".value"),
        (Level.LOW, "$.x", ".value"),
        (Point(1.0, set()), "$.x", "asdict"),
        (Model(at=datetime(2026, 1, 1, tzinfo=UTC), price=Decimal(1)), "$.x", "model_dump"),
        (lambda: None, "$.x", "function"),
    ],
)
def test_refused_with_path_and_hint(value, path, words):
    with pytest.raises(InvalidArguments) as caught:
        encode_arguments({"x": value})
    assert words in str(caught.value)
    if path is not None:
        assert caught.value.path == path
        assert str(caught.value).startswith(path)


def test_a_key_of_the_arguments_must_be_text():
    with pytest.raises(InvalidArguments, match="key of type int"):
        encode_arguments({1: 2})  # type: ignore[dict-item]


def test_arguments_too_large_tell_both_sizes():
    with pytest.raises(TooLarge, match=r"5\.2 MB .*allowed 256 kB"):
        encode_arguments({"x": "a" * int(5.2 * 1024 * 1024)})
    at_limit = {"x": "a" * 92}
    assert len(encode_arguments(at_limit, 100)) == 100
    with pytest.raises(TooLarge):
        encode_arguments(at_limit, 99)
    with pytest.raises(TooLarge):
        encode_arguments({"x": ["a" * 92]}, 100)


def shared(levels):
    """A small object that stands for 2**levels values."""
    value = [1]
    for _ in range(levels):
        value = [value, value]
    return value


def test_a_small_object_that_unfolds_without_end_is_refused_soon():
    with pytest.raises(TooLarge):
        encode_arguments({"x": shared(60)}, 1000)
    text, note = encode_result(shared(60), 1000)
    assert text is None
    assert "larger than 1000 bytes" in render(note)


def test_a_number_that_could_not_be_read_back():
    with pytest.raises(InvalidArguments, match="digits"):
        encode_arguments({"x": 10**5000})
    for value, stored in ((10**5000, "null"), ([10**5000], "[null]")):
        text, note = encode_result(value)
        assert text == stored
        assert "digits" in render(note)


def test_steps_are_strict():
    assert decode(encode_step([1, (2,)])) == [1, [2]]
    with pytest.raises(InvalidArguments) as caught:
        encode_step({"rows": [{1}]})
    assert caught.value.path == "$.rows[0]"
    with pytest.raises(TooLarge):
        encode_step("a" * 100, 50)


# -- results -----------------------------------------------------------------------------------------


@given(json_values.filter(lambda value: value is not None))
def test_results_that_are_json_need_no_note(value):
    text, note = encode_result(value)
    assert note is None
    assert strict(text) == value


def test_no_result_has_no_text():
    assert encode_result(None) == (None, None)
    assert decode(None) is None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a"), "/a"),
        (Colour.RED, "red"),
        (Level.LOW, 1),
        (Pair(1, 2), [1, 2]),
        ({5: 1, (2, 3): 2, None: 3, True: 4, Level.LOW: 5}, {"5": 1, "(2, 3)": 2, "null": 3, "true": 5}),
        (2**70, 2**70),
        (NumpyLike(3), 3),
        (
            Model(at=datetime(2026, 1, 1, tzinfo=UTC), price=Decimal("1.5")),
            {"at": "2026-01-01T00:00:00+00:00", "price": "1.5"},
        ),
    ],
)
def test_kept_whole(value, stored):
    text, note = encode_result(value)
    assert strict(text) == stored
    assert note is None


@pytest.mark.parametrize(
    ("value", "stored", "words"),
    [
        (float("nan"), None, "$: nan"),
        (
            {"a": [1, 2, 3, {5, 4}]},
            {"a": [1, 2, 3, [4, 5]]},
            "result is not JSON at $.a[3]: set; stored as far as it is",
        ),
        ([float("inf"), 1], [None, 1], "$[0]: inf"),
        (b"text", "text", "bytes"),
        (b"\xff", "/w==", "bytes"),
        (object(), None, "object"),
        (LOOP, [{"again": None}], "contains itself"),
        (Point(1.0, {"a"}), {"x": 1.0, "tags": ["a"]}, "$.tags: set"),
        ({1: "a", "1": "b"}, {"1": "b"}, "same text"),
        ([{1}, {2}, {3}], [[1], [2], [3]], "(and 2 more)"),
    ],
)
def test_kept_as_far_as_it_is(value, stored, words):
    text, note = encode_result(value)
    assert strict(text) == stored
    assert words in render(note)


def test_a_hostile_object_costs_its_own_place_only():
    text, note = encode_result([Hostile(), 1])
    assert text == "[null,1]"
    assert "$[0]: Hostile" in render(note)
    assert encode_result(Hostile())[0] == "null"


def test_a_deep_result_is_cut():
    text, note = encode_result(DEEP)
    assert text == "[" * 64 + "null" + "]" * 64
    assert "deeper than 64" in render(note)


def test_a_large_result_is_dropped_with_its_size():
    text, note = encode_result("a" * int(5.2 * 1024 * 1024))
    assert text is None
    assert render(note) == "result of 5.2 MB is larger than 1 MB and was not stored"
    assert encode_result("a" * 8, 10) == ('"aaaaaaaa"', None)
    assert encode_result("a" * 9, 10)[0] is None


# -- canonical, digest, sizes ------------------------------------------------------------------------


def test_equal_values_have_one_canonical_text():
    assert canonical({"b": 1, "a": [{"d": 1, "c": 2}]}) == canonical({"a": [{"c": 2, "d": 1}], "b": 1})
    with pytest.raises(InvalidArguments):
        canonical({"x": float("nan")})
    assert digest("a") == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    assert len(digest("\udc80")) == 64


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 bytes"), (262_144, "256 kB"), (1_048_576, "1 MB"), (5_452_595, "5.2 MB"), (3 * 1024**4, "3072 GB")],
)
def test_sizes_are_readable(count, text):
    assert size(count) == text


# -- texts -------------------------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=400), st.integers(0, 300))
def test_safe_text_fits_and_can_be_stored(text, limit):
    safe = safe_text(text, limit)
    assert len(safe.encode("utf-8")) <= limit
    assert "\x00" not in safe


@given(st.text(max_size=100))
def test_a_text_with_room_is_left_alone(text):
    assert safe_text(text, 10_000) == text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()


def test_nul_and_surrogates_are_spelled_out():
    assert safe_text("a\x00b\udc80c", 100) == "a\\x00b\\udc80c"


def test_a_long_text_keeps_both_ends_and_counts_the_rest():
    safe = safe_text("start" + "é" * 50_000_000 + "end", 200)
    assert safe.startswith("starté")
    assert safe.endswith("éend")
    kept = safe.replace("\n", "").split("…")
    left_out = int(kept[1].split()[0].replace(",", ""))
    assert len(kept[0]) + len(kept[2]) + left_out == 50_000_008
