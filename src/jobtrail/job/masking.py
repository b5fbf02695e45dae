"""What is named like a secret is not shown."""

from __future__ import annotations

import re
from typing import Any

from .failure import mask_urls

MASK = "•••"
URL_MASK = "***"  # what `mask_urls` writes
_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|pwd$|secret|token|api_?key|access_?key|private_?key|credential|authori[sz]ation|cookie",
    re.IGNORECASE,
)
# A text that masking changes is like one of these (as in SQL, in any case).
TEXT_HINTS = ("%://%@%",)


def is_secret(name: str, marked: frozenset[str] = frozenset()) -> bool:
    """Is a value of this name to be hidden, because of its name or because the task says so?"""
    return name in marked or _SECRET.search(name.replace("-", "_")) is not None


def masked(value: Any, marked: frozenset[str] = frozenset()) -> Any:
    """A copy with secrets hidden, also inside lists and objects, and passwords inside URLs."""
    if isinstance(value, dict):
        return {
            spelled(key): MASK if inner is not None and is_secret(str(key), marked) else masked(inner, marked)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [masked(inner, marked) for inner in value]
    return mask_urls(spelled(value)) if isinstance(value, str) else value


def spelled(value: Any) -> Any:
    r"""JSON with each half of a surrogate pair spelled out (``\udc80``): JSON may hold one, UTF-8 may not."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {spelled(key): spelled(inner) for key, inner in value.items()}
    return [spelled(inner) for inner in value] if isinstance(value, list) else value


def restored(value: Any, kept: Any) -> Any:
    """What somebody made of a masked copy of ``kept``: where a mask still stands, what it hides is put back."""
    if isinstance(value, str) and isinstance(kept, str) and value == masked(kept):
        return kept
    if value == MASK:
        return MASK if kept is None else kept
    if isinstance(value, dict) and isinstance(kept, dict):
        return {key: restored(inner, kept.get(key)) for key, inner in value.items()}
    if isinstance(value, list) and isinstance(kept, list):
        return [restored(inner, kept[i] if i < len(kept) else None) for i, inner in enumerate(value)]
    return value


def left_masked(value: Any, kept: Any = None, path: str = "$") -> str | None:
    """Where in a `restored` value a mask stands that hides nothing of ``kept``: its path, None where there is none."""
    if isinstance(value, dict):
        of = kept if isinstance(kept, dict) else {}
        places = [(inner, of.get(key), f"{path}.{key}") for key, inner in value.items()]
    elif isinstance(value, list):
        had = kept if isinstance(kept, list) else []
        places = [(inner, had[i] if i < len(had) else None, f"{path}[{i}]") for i, inner in enumerate(value)]
    else:
        masks = isinstance(value, str) and value != kept and (value == MASK or f":{URL_MASK}@" in value)
        return path if masks else None
    return next((found for one in places if (found := left_masked(*one)) is not None), None)
