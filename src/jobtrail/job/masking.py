"""What is named like a secret is not shown."""

from __future__ import annotations

import re
from typing import Any

from .failure import mask_urls

MASK = "•••"
_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|pwd$|secret|token|api_?key|access_?key|private_?key|credential|authori[sz]ation|cookie",
    re.IGNORECASE,
)


def is_secret(name: str, marked: frozenset[str] = frozenset()) -> bool:
    """Is a value of this name to be hidden, because of its name or because the task says so?"""
    return name in marked or _SECRET.search(name.replace("-", "_")) is not None


def masked(value: Any, marked: frozenset[str] = frozenset()) -> Any:
    """A copy with secrets hidden, also inside lists and objects, and passwords inside URLs."""
    if isinstance(value, dict):
        return {
            key: MASK if inner is not None and is_secret(str(key), marked) else masked(inner, marked)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [masked(inner, marked) for inner in value]
    return mask_urls(value) if isinstance(value, str) else value


def restored(value: Any, kept: Any) -> Any:
    """What somebody has changed of a masked copy: where the mask still stands, the kept value is put back."""
    if isinstance(value, str) and isinstance(kept, str) and value != kept and value == mask_urls(kept):
        return kept
    if value == MASK:
        return kept
    if isinstance(value, dict) and isinstance(kept, dict):
        return {key: restored(inner, kept.get(key, inner)) for key, inner in value.items()}
    if isinstance(value, list) and isinstance(kept, list):
        return [restored(inner, kept[i] if i < len(kept) else inner) for i, inner in enumerate(value)]
    return value
