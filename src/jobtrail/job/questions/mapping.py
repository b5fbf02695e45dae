"""The mapping of source columns to fields: columns, targets, the proposal, and the check of an answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from itertools import islice, pairwise
from typing import Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message, stored

from .schema import is_model, resolved, schema_of, schema_of_model, words_of
from .validation import Schema, listed, path_of, printable, shown

_TEXT, _NUMBER = Message("questions.kind-text").stored, "number"  # also a whole number, or a number or text
MOST_COLUMNS = 500
MOST_TARGETS = 200
LONGEST_NAME = 200
SAMPLES = 3
SAMPLE_LENGTH = 60
ROWS_READ = 20
SCHEMA_LIMIT = 65_536

Column = dict[str, Any]
Target = dict[str, Any]

EQUAL, LIKELY, POSSIBLE = 0.9, 0.75, 0.6
_COMPARED = 60  # characters of a name that are compared
_CANDIDATES = 8  # columns for each target that are compared letter by letter
_HUMP = re.compile(r"(?<=[a-z0-9а-яё])(?=[A-ZА-ЯЁ])")
_NUMERIC = re.compile(r"\s*[-+]?[0-9][0-9\s.,']*[%€$]?\s*")
_NOTHING = frozenset({"na", "n/a", "nan", "null", "none", "nil", "-", "—", "?"})
_SHORT_FORMS = {
    "acct": "account",
    "addr": "address",
    "amt": "amount",
    "arr": "arrival",
    "avg": "average",
    "cat": "category",
    "cnt": "count",
    "curr": "currency",
    "dep": "departure",
    "desc": "description",
    "dest": "destination",
    "dt": "date",
    "img": "image",
    "lat": "latitude",
    "lng": "longitude",
    "lon": "longitude",
    "max": "maximum",
    "mfg": "manufacturer",
    "mfr": "manufacturer",
    "min": "minimum",
    "msg": "message",
    "mth": "month",
    "nbr": "number",
    "no": "number",
    "nr": "number",
    "num": "number",
    "org": "organization",
    "pct": "percent",
    "phone": "telephone",
    "pos": "position",
    "qty": "quantity",
    "ref": "reference",
    "src": "source",
    "tel": "telephone",
    "temp": "temperature",
    "ts": "timestamp",
    "usr": "user",
    "val": "value",
    "wt": "weight",
    "yr": "year",
}
_FILLERS = frozenset({"of", "the"})


# -- what is there -----------------------------------------------------------------------------------


def columns_of(columns: Any) -> list[Column]:
    """The columns of a source as ``{"name", "samples"}``, with up to three short samples each.

    ``columns`` is a list of names, a dict from name to samples, or a list of rows (dicts, as ``csv.DictReader`` gives
    them; the first 20 are looked at). Names stay as they are, because the job looks its columns up by them. Columns
    without a name are left out: nothing could be said about them.

    Raises: InvalidOption where there is no column, more than 500, a name twice, or one above 200 characters.
    """
    pairs = list(_pairs(columns))
    seen: dict[str, int] = {}
    found: list[Column] = []
    for index, (name, samples) in enumerate(pairs, start=1):
        if not isinstance(name, str):
            raise InvalidOption(Message("questions.column-name-not-text", index=index, name=printable(repr(name)[:80])))
        if not name.strip():
            continue
        if len(name) > LONGEST_NAME:
            message = Message(
                "questions.column-name-too-long", index=index, length=len(name), most=LONGEST_NAME, name=shown(name)
            )
            raise InvalidOption(message)
        if name in seen:
            raise InvalidOption(Message("questions.column-twice", first=seen[name], index=index, name=shown(name)))
        seen[name] = index
        found.append({"name": name, "samples": _samples(samples)})
    if not found:
        raise InvalidOption(Message("questions.no-columns"))
    return found


def _pairs(columns: Any) -> Iterator[tuple[Any, list[Any]]]:
    if isinstance(columns, Mapping):
        _check_count(len(columns))
        for name, samples in columns.items():
            one = isinstance(samples, (str, bytes)) or not isinstance(samples, Iterable)
            yield name, [samples] if one else list(islice(samples, ROWS_READ))
        return
    if isinstance(columns, (str, bytes, Iterator)) or not isinstance(columns, Iterable):
        raise InvalidOption(Message("questions.bad-columns", columns=printable(repr(columns)[:80])))
    members = list(islice(columns, MOST_COLUMNS + 1))
    if members and isinstance(members[0], Mapping):
        yield from _pairs(_turned(members[:ROWS_READ]))
        return
    _check_count(len(columns) if isinstance(columns, Sized) else len(members))
    for name in members:
        yield name, []


def _turned(rows: list[Any]) -> dict[str, list[Any]]:
    """Rows as columns. Cells beyond the header, which ``csv.DictReader`` puts under None, have no name."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise InvalidOption(Message("questions.row-not-dict", row=printable(repr(row)[:80])))
        _check_count(len(row))
        for name, value in row.items():
            if name is not None:
                found.setdefault(name, []).append(value)
    return found


def _check_count(count: int) -> None:
    if count > MOST_COLUMNS:
        raise InvalidOption(Message("questions.too-many-columns", count=count, most=MOST_COLUMNS))


def _samples(values: list[Any]) -> list[str]:
    found: list[str] = []
    for value in values:
        text = _sample(value)
        if text and text not in found:
            found.append(text)
        if len(found) == SAMPLES:
            break
    return found


def _sample(value: Any) -> str:
    """A value as one short line."""
    if value is None:
        return ""
    try:
        text = str(value)[: 4 * SAMPLE_LENGTH].strip()
    except Exception:
        return type(value).__name__
    text = printable(" ".join(text.split()))
    return text if len(text) <= SAMPLE_LENGTH else f"{text[: SAMPLE_LENGTH - 1]}…"


# -- what is wanted ----------------------------------------------------------------------------------


def targets_of(given: Any, limit: int = SCHEMA_LIMIT) -> list[Target]:
    """The fields that need a column: ``{"name", "type", "required", "title", "description", "synonyms"}``.

    ``given`` is a pydantic model class or a JSON schema whose properties are the fields. Other names of a field are
    declared by ``"x-synonyms": [...]`` in the schema (``json_schema_extra`` in a model) or by an alias of the model.

    Raises: InvalidOption where there are no properties, or more than 200; TooLarge above ``limit`` bytes.
    """
    schema = schema_of(schema_of_model(given, by_alias=False) if is_model(given) else given, limit)
    aliases = _aliases(given) if is_model(given) else {}
    properties = resolved(schema, schema).get("properties") or {}
    if not 1 <= len(properties) <= MOST_TARGETS:
        raise InvalidOption(Message("questions.bad-target-count", most=MOST_TARGETS, count=len(properties)))
    required = resolved(schema, schema).get("required", [])
    return [
        _target(name, resolved(part, schema), name in required, aliases.get(name, []))
        for name, part in properties.items()
    ]


def _target(name: str, part: Schema, required: bool, aliases: list[str]) -> Target:
    synonyms = part.get("x-synonyms", [])
    if not isinstance(synonyms, list) or not all(isinstance(one, str) for one in synonyms):
        message = Message("questions.bad-synonyms", name=shown(name), synonyms=printable(repr(synonyms)[:80]))
        raise InvalidOption(message)
    return {
        "name": name,
        "type": stored(words_of(part)),
        "required": required,
        "title": part.get("title"),
        "description": part.get("description"),
        "synonyms": list(dict.fromkeys([*synonyms, *aliases])),
    }


def _aliases(model: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, field in model.model_fields.items():
        validation = field.validation_alias
        every = [field.alias, *getattr(validation, "choices", [validation])]
        found[name] = [one for one in every if isinstance(one, str) and one != name]
    return found


# -- what is proposed --------------------------------------------------------------------------------


def propose(columns: list[Column], targets: list[Target]) -> dict[str, str | None]:
    """For each target the column whose name is most like one of its names, or None where none is like it.

    Each column at most once. Equal names come first, and of those as many as can be had together; then what is
    likely, then what is possible. The same input gives the same proposal.
    """
    names = [column["name"] for column in columns]
    places = {name: index for index, name in enumerate(names)}
    taken = {index: places[target["name"]] for index, target in enumerate(targets) if target["name"] in places}
    scores = sorted(_scores(columns, targets).items(), key=lambda pair: (-pair[1], pair[0]))
    for least in (EQUAL, LIKELY, POSSIBLE):
        used = set(taken.values())
        taken |= _matched(
            [
                (target, column)
                for (target, column), score in scores
                if score >= least and target not in taken and column not in used
            ]
        )
    return {target["name"]: names[taken[index]] if index in taken else None for index, target in enumerate(targets)}


def _matched(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """Assign columns to as many targets as possible: the best pairs first, then pairs are moved if one more target gets a column."""
    wishes: dict[int, list[int]] = {}
    owners: dict[int, int] = {}
    for target, column in pairs:
        wishes.setdefault(target, []).append(column)
        if column not in owners and target not in owners.values():
            owners[column] = target

    def give(target: int, tried: set[int]) -> bool:
        for column in wishes[target]:
            if column not in tried:
                tried.add(column)
                if column not in owners or give(owners[column], tried):
                    owners[column] = target
                    return True
        return False

    for target in wishes:
        if target not in owners.values():
            give(target, set())
    return {target: column for column, target in owners.items()}


def _scores(columns: list[Column], targets: list[Target]) -> dict[tuple[int, int], float]:
    """The similarity of the promising pairs of target and column. A later synonym counts a little less."""
    names = [_name_of(column["name"]) for column in columns]
    found: dict[tuple[int, int], float] = {}
    for row, target in enumerate(targets):
        every = [target["name"], *target.get("synonyms", []), target.get("title") or ""]
        for rank, name in enumerate(_name_of(text) for text in dict.fromkeys(every) if text):
            for index in _nearest(name, names):
                score = _likeness(name, names[index]) - min(rank, 9) / 1_000
                if score < EQUAL:
                    score -= _doubt(columns[index], target)
                found[row, index] = max(score, found.get((row, index), 0.0))
    return found


@dataclass(frozen=True, slots=True)
class _Name:
    """A name split into words: ``tailNum`` and ``TAIL_NO.`` have the same words."""

    text: str
    words: tuple[str, ...]
    joined: str
    whole: str  # joined, with its short forms written out
    letters: frozenset[str]  # two at a time


def _name_of(text: str) -> _Name:
    split = _HUMP.sub(" ", text[:LONGEST_NAME])
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", split) if not unicodedata.combining(sign))
    words = re.findall(r"[^\W_]+", plain.casefold())
    joined = "".join(words)
    whole = [_SHORT_FORMS.get(word, word) for word in words]
    kept = tuple(word for word in whole if word not in _FILLERS) or tuple(whole)
    return _Name(text, kept, joined, "".join(kept)[:LONGEST_NAME], frozenset(map("".join, pairwise(joined))))


def _nearest(name: _Name, names: list[_Name]) -> list[int]:
    """The few promising columns: equal names, then the same words, then the same letters."""
    words = set(name.words)

    def rough(other: _Name) -> tuple[float, float]:
        alike = 2 * len(name.letters & other.letters) / (len(name.letters) + len(other.letters) or 1)
        return _equality(name, other), alike + len(words.intersection(other.words))

    return sorted(range(len(names)), key=lambda index: rough(names[index]), reverse=True)[:_CANDIDATES]


def _equality(one: _Name, other: _Name) -> float:
    """1 for the same name, from 0.9 for one that differs in case, signs, accents, short forms or order; else 0."""
    if one.text == other.text:
        return 1.0
    if not one.words or not other.words:
        return 0.0
    if one.joined == other.joined:
        return 0.99
    if one.whole == other.whole:
        return 0.97
    return 0.93 if sorted(one.words) == sorted(other.words) else 0.0


def _likeness(one: _Name, other: _Name) -> float:
    """The similarity of two names, from 0 to 1; only equal ones reach 0.9."""
    if (equal := _equality(one, other)) or not one.words or not other.words:
        return equal
    held = max(_held(set(one.words), set(other.words)), _held(_stems(one), _stems(other)) - 0.03)
    return max(held, 0.88 * _spelling(one.whole[:_COMPARED], other.whole[:_COMPARED]))


def _held(one: set[str], other: set[str]) -> float:
    """Whether all words of one name are in the other: ``engine`` in ``Engine Type``."""
    shared = one & other
    return 0.6 + 0.25 * len(shared) / len(one | other) if shared and shared in (one, other) else 0.0


def _stems(name: _Name) -> set[str]:
    return {word.removesuffix("s") if len(word) > 3 else word for word in name.words}


def _spelling(one: str, other: str) -> float:
    """The share of equal letters; the beginning of a word counts as the word. Names below four letters have none."""
    if min(len(one), len(other)) < 4:
        return 0.0
    if one.startswith(other) or other.startswith(one):
        return 0.9
    return SequenceMatcher(None, min(one, other), max(one, other), autojunk=False).ratio()


def _doubt(column: Column, target: Target) -> float:
    """What the samples say against a pair: much if none is a number for a number, a little if all are numbers for a text."""
    samples = [sample for sample in column.get("samples", ()) if sample.casefold() not in _NOTHING]
    numbers = sum(_NUMERIC.fullmatch(sample) is not None for sample in samples)
    if samples and not numbers and _NUMBER in target["type"]:
        return 0.2
    return 0.02 if samples and numbers == len(samples) and target["type"] == _TEXT else 0.0


# -- whether an answer will do -----------------------------------------------------------------------


def answer_schema(columns: list[Column], targets: list[Target]) -> Schema:
    """The JSON schema of a mapping's answer: for each target the name of a column, or null where it is not required."""
    column = {"$ref": "#/$defs/column"}
    properties: Schema = {}
    for target in targets:
        wording = {key: target[key] for key in ("title", "description") if target.get(key)}
        form = column if target["required"] else {"anyOf": [column, {"type": "null"}]}
        properties[target["name"]] = {**wording, **form}
    return {
        "type": "object",
        "properties": properties,
        "required": [target["name"] for target in targets if target["required"]],
        "additionalProperties": False,
        "$defs": {"column": {"enum": [column["name"] for column in columns]}},
    }


def check_mapping(detail: Mapping[str, Any], answer: Any) -> dict[str, Message]:
    """The problems of a mapping by the path of the target; {} if there are none.

    ``detail`` has ``columns`` and ``targets``. Wrong are: a required target without a column, a target or a column
    that there is not, a column that is used twice.
    """
    if not isinstance(answer, Mapping):
        return {"$": Message("questions.mapping-not-object", answer=shown(answer))}
    columns = {column["name"]: None for column in detail["columns"]}
    targets = {target["name"]: target for target in detail["targets"]}
    found: dict[str, Message] = {}
    users: dict[str, str] = {}
    for name, column in answer.items():
        if problem := _problem(name, column, columns, targets, users):
            found[path_of([name])] = problem
    for name, target in targets.items():
        if target["required"] and answer.get(name) is None:
            found.setdefault(path_of([name]), Message("questions.column-required"))
    return dict(islice(found.items(), 50))


def _problem(
    name: str, column: Any, columns: dict[str, None], targets: dict[str, Target], users: dict[str, str]
) -> Message | None:
    if name not in targets:
        return Message("questions.target-unknown", targets=listed(targets))
    if column is None:
        return None
    if not isinstance(column, str):
        return Message("questions.column-not-text", column=shown(column))
    if column not in columns:
        near = get_close_matches(column[:LONGEST_NAME], list(columns), n=1)
        if near:
            return Message("questions.column-meant", near=shown(near[0]), column=shown(column))
        return Message("questions.column-unknown", columns=listed(columns), column=shown(column))
    first = users.setdefault(column, name)
    return None if first == name else Message("questions.column-used", column=shown(column), first=shown(first))
