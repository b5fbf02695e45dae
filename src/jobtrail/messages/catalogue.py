"""The texts: loads a room's Fluent file in one language when it is first needed, and fills in a text."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rustfluent import Bundle

LANGUAGES = ("en", "ru")
SHARED = "shared"  # the file of the parts that the texts of all rooms may refer to
_HERE = Path(__file__).parent
_ID = re.compile(r"^([a-z][a-z0-9-]*) =", re.MULTILINE)


def lookup(code: str, values: Mapping[str, str | int], language: str) -> str | None:
    """The text of a code in a language, or None where that catalogue does not have it.

    Args:
        code: Room and name, ``"config.unknown-setting"``.
        values: What the text names. Whole numbers choose the plural form; they are below 2**31.
        language: ``"en"`` or ``"ru"``.

    """
    room, _, name = code.partition(".")
    bundle = _bundle(language, room)
    if bundle is None:
        return None
    try:
        text: str = bundle.get_translation(name, variables=values, use_isolating=False)
    except ValueError:  # this is how the library says that there is no such text
        return None
    return text


def codes(language: str = "en") -> dict[str, str]:
    """Every code of the catalogue with the source of its text in Fluent. For tests and translators."""
    found: dict[str, str] = {}
    for file in sorted((_HERE / language).glob("*.ftl")):
        parts = _ID.split(file.read_text(encoding="utf-8"))
        found.update((f"{file.stem}.{name}", text.strip()) for name, text in zip(parts[1::2], parts[2::2], strict=True))
    return found


@cache
def _bundle(language: str, room: str) -> Bundle | None:
    from rustfluent import Bundle

    files = [_HERE / language / f"{one}.ftl" for one in dict.fromkeys((room, SHARED))]
    return Bundle(language, [str(one) for one in files], strict=True) if files[0].is_file() else None
