"""The console's texts, as far as Python can read them; format, types and its own tests are checked by `make types`."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"


def test_both_languages_have_every_text_and_fill_in_the_same_values():
    found = {}
    for language in ("en", "ru"):
        text = (WEB / "src" / "i18n" / f"{language}.ts").read_text("utf-8")
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
