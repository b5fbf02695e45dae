"""What is named like a secret is not shown: values of such names, and what stands behind such names in a text."""

from __future__ import annotations

import functools
import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MASK = "•••"
TEXT_MASK = "***"  # what `mask_text` writes
# The name of a secret, and a text that `mask_text` changes without an address in it, has one of these in it.
STEMS = (
    "pass", "pwd", "secret", "token", "key", "credential", "auth", "cookie", "bearer", "otp", "dsn", "jwt", "kennwort",
    "sig", "basic",
)  # fmt: skip
_NAME = re.compile(
    r"secret|token|passw(?:or[dt]|d)|passphrase|kennwort|pwd|credential|bearer|cookie|authori[sz]ation"
    r"|(?:api|access|private|signing|encryption|account|shared)_?key"
    r"|(?<![a-z])(?:pass|auth|authentication|otp|totp|dsn|jwt)(?![a-z])"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Names that the application has marked; of use in texts that belong to no one task.
_marked_names: ContextVar[Callable[[], frozenset[str]]] = ContextVar("jobtrail_marked_names", default=frozenset)
_IN_QUERY = frozenset({"key", "sig", "signature"})  # names of secrets in the query of a URL only

# The password of an address, which may have a slash in it where that is no port; up to the next address.
_PASSWORD = re.compile(r"://([^\s/:@?#\"']*):(?!\d{1,5}[/?#])((?:[^\s:@\"']|:(?!//))*@)(?:[^\s/@]*@)*")
_TOKEN = re.compile(r"(?i)(https?://)[^\s/:@?#\"']+@")
_LONG_USER = re.compile(r"://[^\s/:@?#\"']{20,}@")
_SCHEME = re.compile(r"(?i)\b(bearer|basic|token)(\s+)(?=[^\s,;\"']{0,400}\d|[^\s,;\"']{20})[A-Za-z0-9._~+/=-]{6,}")
_NAMED = re.compile(r"(?<![\w-])(?P<name>[\w-]++)(?P<quote>\\*[\"'])?[ \t]{0,2}(?P<sign>=[=>]?|:=?)[ \t]{0,2}")
_QUOTED = re.compile(r"(\\*[\"'])(.{0,1000}?)\1", re.DOTALL)
_PLAIN = re.compile(r"(?:(?i:bearer|basic|token)\s+)?\\*[\"']?[^\s,;&\"'<>(){}\[\]\\]++")
# Behind a colon two words of one line are prose ("password: is missing"), unless the second begins a pair of its own
# ("password: swordfish user: ann") or the line ends behind the first, as in YAML.
_PROSE = re.compile(r"(?!(?i:bearer|basic|token)\b)[^\W\d_]++[ \t]++(?![\w-]++[\"']?[ \t]{0,2}(?:=|:(?!//)))[^\W\d_]")
_MASKED_PART = re.compile(r"(?::|//|=)\*\*\*(?:@|[&\s\"']|$)")


@contextmanager
def masking_names(find: Callable[[], frozenset[str]]) -> Iterator[None]:
    """Mask what stands behind these names in every text within the block, in this thread or task.

    Args:
        find: returns the names; called at most once, when a text first needs them.
    """
    token = _marked_names.set(functools.cache(find))
    try:
        yield
    finally:
        _marked_names.reset(token)


def is_secret(name: str, marked: frozenset[str] = frozenset()) -> bool:
    """Is a value of this name to be hidden, because of its name or because the task says so?"""
    return name in marked or _is_named_so(name)


@functools.lru_cache(1024)
def _is_named_so(name: str) -> bool:
    return _NAME.search(_CAMEL.sub("_", name).replace("-", "_").lower()) is not None


def mask_text(text: str, marked: frozenset[str] = frozenset()) -> str:
    """A text with secrets replaced by ``***``: in addresses, behind ``name=`` and ``name:``, behind ``Bearer``."""
    if "://" in text and "@" in text:
        text = _PASSWORD.sub(rf"://\1:{TEXT_MASK}@", text)
        text = _TOKEN.sub(rf"\1{TEXT_MASK}@", text)
        text = _LONG_USER.sub(f"://{TEXT_MASK}@", text)
    if " " in text:
        text = _SCHEME.sub(rf"\1\2{TEXT_MASK}", text)
    return _mask_named(text, marked | _marked_names.get()()) if "=" in text or ":" in text else text


def _mask_named(text: str, marked: frozenset[str]) -> str:
    parts: list[str] = []
    place = 0
    for found in _NAMED.finditer(text):
        if found.start() < place or not _names_secret(text, found, marked):
            continue
        value = _QUOTED.match(text, found.end())
        mark = value[1] if value else found["quote"] or ""
        value = value or _PLAIN.match(text, found.end())
        prose = found["sign"] == ":" and found["quote"] is None and _PROSE.match(text, found.end())
        if value is None or prose:
            continue
        parts += [text[place : found.end()], mark, TEXT_MASK, mark]
        place = value.end()
    return "".join([*parts, text[place:]]) if parts else text


def _names_secret(text: str, found: re.Match[str], marked: frozenset[str]) -> bool:
    name = found["name"]
    in_query = found.start() > 0 and text[found.start() - 1] in "?&"
    return is_secret(name, marked) or (in_query and name.lower() in _IN_QUERY)


def masked(value: Any, marked: frozenset[str] = frozenset()) -> Any:
    """A copy with secrets hidden, also inside lists, objects and texts."""
    if isinstance(value, dict):
        return {
            _shown(key, marked): MASK if inner is not None and is_secret(str(key), marked) else masked(inner, marked)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [masked(inner, marked) for inner in value]
    return _shown(value, marked)


def _shown(value: Any, marked: frozenset[str]) -> Any:
    return mask_text(spelled(value), marked) if isinstance(value, str) else value


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
        masks = isinstance(value, str) and value != kept and (value == MASK or _MASKED_PART.search(value))
        return path if masks else None
    return next((found for one in places if (found := left_masked(*one)) is not None), None)
