"""The console's texts, as far as Python can read them; format, types and its own tests are checked by `make types`."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"


def test_both_languages_have_every_text_and_fill_in_the_same_values():
    found = {}
    for language in ("en", "ru"):
        text = (WEB / "src" / "i18n" / f"{language}.ts").read_text("utf-8").partition("export const said")[0]
        pairs = re.findall(r'^  "?([\w.-]+)"?:\s*("(?:[^"\\]|\\.)*")', text, re.MULTILINE)
        found[language] = {key: set(re.findall(r"\{(\w+)", json.loads(value))) for key, value in pairs}
    assert found["en"].keys() == found["ru"].keys()
    assert len(found["en"]) > 500
    assert {key for key, values in found["en"].items() if values != found["ru"][key]} - SAID_OTHERWISE == set()


# A number that one language says by the form of a word only.
SAID_OTHERWISE = {"need.review"}


def test_no_style_and_no_script_stands_in_the_page():
    page = (WEB / "index.html").read_text("utf-8")
    assert "style=" not in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []


def test_what_is_said_in_russian_of_the_server_is_what_it_says():
    """Each sentence that the console knows by its English form stands in the sources of the server so."""
    text = (WEB / "src" / "i18n" / "ru.ts").read_text("utf-8").partition("export const said")[2]
    forms = [quoted or word for quoted, word in re.findall(r'^  (?:"([^"]+)"|(\w+)):', text, re.MULTILINE)]
    said = [found for path in (ROOT / "src").rglob("*.py") for found in _sentences(path)]
    assert len(forms) > 80
    assert [form for form in forms if not any(_is_said(form, *one) for one in said)] == []


def _is_said(form, pattern, fixed):
    form = form.removesuffix(" ({how})")  # what is known of a death, behind any sentence
    return bool(pattern.fullmatch(form)) and fixed * 2 > len(HOLE.sub("", form))


HOLE = re.compile(r"\{[^{}]*\}")


def _sentences(path):
    """The texts of a file as patterns in which what is filled in may be anything, and how much of each is fixed."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(
            "{}" if isinstance(part, ast.FormattedValue) else str(getattr(part, "value", None) or "") for part in parts
        )
        fixed = HOLE.split(text)
        if re.search("[a-z]", "".join(fixed)):
            yield re.compile(".+?".join(map(re.escape, fixed)), re.DOTALL), len("".join(fixed))
