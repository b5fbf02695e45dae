"""The catalogue of sentences agrees with the source, in both languages, and renders plurals and languages."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from jobtrail import errors
from jobtrail.errors import AnswerRefused, Conflict, InvalidOption
from jobtrail.messages import (
    LANGUAGES,
    Message,
    codes,
    from_accept_language,
    from_environment,
    read,
    render,
    use_language,
)

SOURCE = Path(__file__).parents[1] / "src" / "jobtrail"
CODE = re.compile(r"[a-z]+\.[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
ROOMS = {file.stem for file in (SOURCE / "messages" / "en").glob("*.ftl")}


def whole(code: str, texts: dict[str, str]) -> str:
    """A text in Fluent, with the texts of its room, and the shared ones, that it refers to."""
    return "\n".join(texts[one] for one in reachable({code}, texts))


def reachable(found: set[str], texts: dict[str, str]) -> set[str]:
    """These codes and all that their texts refer to."""
    while True:
        more = {
            own if (own := f"{code.partition('.')[0]}.{name}") in texts else f"shared.{name}"
            for code in found
            for name in re.findall(r"\{\s*([a-z][a-z0-9-]*)(?:\.[a-z-]+)?\s*\}", texts[code])
        }
        if more <= found:
            return found
        found = found | more


def names(text: str) -> set[str]:
    """The parameters of a text in Fluent."""
    return {name.removesuffix("-grouped") for name in re.findall(r"\{\s*\$([a-z][a-z0-9_-]*)", text)}


def parameters(language: str) -> dict[str, set[str]]:
    """The parameters of each text of a language, with those of the texts that it refers to."""
    texts = codes(language)
    return {code: names(whole(code, texts)) for code in texts}


@cache
def source() -> tuple[set[str], list[tuple[str, str, set[str]]]]:
    """Every literal that is a code, and (place, code, parameters) of each call of Message that names its code."""
    found: set[str] = set()
    calls = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                found.add(node.value)
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"Message", "tr"}
                and node.args
            ):
                given = {one.arg or "**" for one in node.keywords}
                calls += [
                    (f"{path.relative_to(SOURCE)}:{node.lineno}", code.value, given)
                    for code in ast.walk(node.args[0])
                    if isinstance(code, ast.Constant) and isinstance(code.value, str) and CODE.fullmatch(code.value)
                ]
    return found, calls


# Who shows a sentence to people: our errors (also the one that a body's loop raises), the reason of a snooze, a name.
SHOWN = {
    name
    for name, one in vars(errors).items()
    if isinstance(one, type) and issubclass(one, (errors.JobTrailError, errors.TooManyFailedItems))
} | {"Snooze", "name_option"}
FED = {"reason", "note", "why", "sentence", "problem"}


def words(node: ast.AST | None, local: dict[str, ast.AST]) -> bool:
    """Whether an expression is English text of the source, or a local name for one."""
    match node:
        case ast.Constant(value=str(text)):
            return " " in text.strip()
        case ast.JoinedStr(values=parts):
            return any(words(part, {}) or re.search("[a-z]{2}", str(getattr(part, "value", ""))) for part in parts
                       if isinstance(part, ast.Constant))  # fmt: skip
        case ast.Name(id=name):
            return words(local.get(name), {})
        case ast.BinOp(left=left, right=right):
            return words(left, local) or words(right, local)
        case ast.IfExp(body=body, orelse=orelse):
            return words(body, local) or words(orelse, local)
        case ast.BoolOp(values=values) | ast.Dict(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            return any(words(value, local) for value in values)
        case ast.Subscript(value=value):
            return words(value, local)
    return False


def english(text: str) -> list[int]:
    """The lines of a source in which an error, a reason or a note is English words and not a message."""
    found = set()
    tree = ast.parse(text)
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        local = {
            target.id: node.value
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and words(node.value, {})
        }
        for node in ast.walk(scope):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                fed = [word.value for word in node.keywords if word.arg in FED or name in SHOWN]
                if any(words(one, local) for one in [*fed, *(node.args if name in SHOWN else [])]):
                    found.add(node.lineno)
    return sorted(found)


def test_no_sentence_for_people_is_written_in_the_source():
    left = {str(path.relative_to(SOURCE)): english(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    assert {path: lines for path, lines in left.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    [
        "raise InvalidOption('there is none')",
        "raise errors.NotFound(f'no {name}')",
        "raise Conflict('it is ' + state, job)",
        "def check():\n    message = f'the job {job} is gone'\n    raise StoreError(message) from None",
        "def check():\n    return InvalidPeriod('one text' if given else f'another {text}')",
        "AnswerRefused({'$.n': 'must be whole'})",
        "Snooze(5, 'not published yet')",
        "name_option('the name of a token', name)",
        "UnitResult(outcome, reason=f'job {job}')",
        "cancel(job, actor=who, reason='timed out' or None)",
    ],
)
def test_a_sentence_in_the_source_is_found(text):
    assert english(text)


@pytest.mark.parametrize(
    "text",
    [
        "raise InvalidOption(Message('config.unknown-setting', name='a b', known=known))",
        "def check():\n    message = Message('job.wait-nan')\n    raise StepError(message)",
        "def load():\n    message = f'module has no {name}'\n    raise AttributeError(message)",
        "raise PermanentError('the words of a program')",
        "move(job, reason=reason, note=None)",
    ],
)
def test_what_is_no_sentence_for_people_is_left_alone(text):
    assert english(text) == []


def test_each_text_is_in_both_languages_with_the_same_parameters():
    english, russian = (parameters(language) for language in LANGUAGES)
    assert english.keys() == russian.keys()
    assert {code: russian[code] for code in english if russian[code] != english[code]} == {}


def test_each_text_is_there_once():
    for language in LANGUAGES:
        for file in (SOURCE / "messages" / language).glob("*.ftl"):
            found = re.findall(r"^([a-z][a-z0-9-]*) =", file.read_text("utf-8"), re.MULTILINE)
            assert [name for name in set(found) if found.count(name) > 1] == []


def test_each_code_of_the_source_is_in_the_catalogue_with_its_parameters():
    known = parameters("en")
    _, calls = source()
    assert len(calls) > 100
    assert [(place, code) for place, code, _ in calls if code not in known] == []
    wrong = [
        (place, code, sorted(known[code] ^ given))
        for place, code, given in calls
        if "**" not in given and known[code] != given
    ]
    assert wrong == []


def test_each_text_of_the_catalogue_is_used():
    literals, _ = source()
    for language in LANGUAGES:
        texts = codes(language)
        assert sorted(texts.keys() - reachable(literals & texts.keys(), texts)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_text_can_be_rendered_and_names_what_it_is_given(language):
    texts = codes(language)
    for code in texts:
        text = whole(code, texts)
        shown = render(Message(code, **{name: f"<{name}>" for name in names(text)}), language)
        assert "$" not in re.sub(r"\$ref|\$id|\$schema", "", shown), code
        selectors = set(re.findall(r"\$([a-z0-9_-]+)\s*->", text))
        assert all(f"<{name}>" in shown for name in names(text) - selectors), code


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_has_the_plural_forms_of_its_language(language):
    """In Russian, fractions may have a form of their own ("1,5 секунды"): "other"."""
    forms = {"en": {"one", "other"}, "ru": {"one", "few", "many"}}[language]
    for code, text in codes(language).items():
        found = set(re.findall(r"\[(zero|one|two|few|many)\]", text))
        fractions = {"other"} if language == "ru" and "*[other]" in text else set()
        assert not found or set(re.findall(r"\[(zero|one|two|few|many|other)\]", text)) == forms | fractions, code


@pytest.mark.parametrize(
    ("number", "english", "russian"),
    [
        (1, "the loop was left early after 1 item", "цикл прерван раньше времени, после 1 элемента"),
        (2, "the loop was left early after 2 items", "цикл прерван раньше времени, после 2 элементов"),
        (5, "the loop was left early after 5 items", "цикл прерван раньше времени, после 5 элементов"),
        (21, "the loop was left early after 21 items", "цикл прерван раньше времени, после 21 элемента"),
        (1024, "the loop was left early after 1,024 items", "цикл прерван раньше времени, после 1\xa0024 элементов"),
    ],
)
def test_plurals(number, english, russian):
    message = Message("job.left-early", total=number)
    assert str(message) == english
    assert render(message, "ru") == russian


@pytest.mark.parametrize(("number", "word"), [(1, "раз"), (2, "раза"), (5, "раз"), (21, "раз"), (22, "раза")])
def test_russian_has_three_forms(number, word):
    assert render(Message("job.killed-its-worker", strikes=number), "ru") == f"{number} {word} погубило исполнителя"


def test_what_is_stored_is_read_in_each_language():
    message = Message(
        "job.both", first=Message("job.some-items-failed", failed=1, total=3), second='the source said "no" {x}'
    )
    stored = message.stored
    assert read(stored) == Message("job.both", first=message.params["first"].stored, second='the source said "no" {x}')
    assert render(stored) == '1 of 3 items failed; the source said "no" {x}'
    assert render(stored, "ru") == 'с ошибкой 1 из 3 элементов; the source said "no" {x}'


@pytest.mark.parametrize("text", ["@anna please look", "@", "@job.nothing-to-do {", "@job", "plain words", ""])
def test_peoples_own_words_stay_as_they_are(text):
    assert render(text, "ru") == text


def test_a_code_of_a_newer_version_is_shown_with_its_parameters():
    assert render('@job.from-the-future {"n":3,"why":"x"}', "ru") == "job.from-the-future (n=3, why=x)"
    assert render("@future.word", "ru") == "future.word"


def test_an_error_is_english_and_keeps_its_message():
    error = InvalidOption(Message("config.unknown-setting", name="x", known=["a", "b"]))
    assert str(error) == "there is no setting 'x'; the settings are: a, b"
    assert (error.code, error.params) == ("config.unknown-setting", {"name": "x", "known": ["a", "b"]})
    assert render(error, "ru") == "настройки 'x' нет; есть: a, b"
    again = pickle.loads(pickle.dumps(Conflict(Message("job.both", first="a", second="b"), "job-1")))
    assert (str(again), again.code, again.job_id) == ("a; b", "job.both", "job-1")
    assert (InvalidOption("my words").code, InvalidOption("my words").params) == (None, {})


def test_an_answers_errors_follow_the_reader():
    refused = AnswerRefused({"$.n": Message("questions.not-whole")})
    assert refused.errors == {"$.n": "must be a whole number such as 12"}
    with use_language("ru"):
        assert refused.errors == {"$.n": "нужно целое число, например 12"}
        assert str(refused) == "the answer does not fit: $.n must be a whole number such as 12"


def test_parameters_are_plain_values():
    message = Message("config.at-place", place=Path("a.toml"), problem=InvalidOption(Message("job.wait-nan")))
    assert message.to_json() == {
        "code": "config.at-place",
        "params": {"place": "a.toml", "problem": {"code": "job.wait-nan", "params": {}}},
    }
    assert str(message) == "a.toml: is NaN"


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "ru_RU.UTF-8"}, "ru"),
        ({"LANG": "ru_RU.UTF-8", "JOBTRAIL_LANG": "en"}, "en"),
        ({"LANG": "ru_RU.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "ru"}, "ru"),
        ({"LANG": "C.UTF-8", "JOBTRAIL_LANG": ""}, "en"),
    ],
)
def test_a_terminal_has_a_language(environ, language):
    assert from_environment(environ) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "en"),
        ("", "en"),
        ("ru", "ru"),
        ("ru-RU,ru;q=0.9,en-US;q=0.8,en;q=0.7", "ru"),
        ("en-US,en;q=0.9,ru;q=0.8", "en"),
        ("de;q=1, en;q=0.2, ru;q=0.5", "ru"),
        ("*;q=x, ,;;=", "en"),
    ],
)
def test_a_request_has_a_language(header, language):
    assert from_accept_language(header) == language


def test_importing_jobtrail_loads_no_catalogue():
    code = "import jobtrail, sys\nfor name in jobtrail.__all__: getattr(jobtrail, name)\nprint('rustfluent' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert told.strip() == "False"
