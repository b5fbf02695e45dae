"""Run, track and re-run background work from inside a Python program."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The names and their modules, from the stub beside this file: ``from .errors import NotFound as NotFound``. They are loaded
# when they are asked for, so that `jobtrail --help` need not wait for a database library.
with open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as _stub:  # noqa: PTH123 - pathlib takes longer to import
    _HOMES = {line.split()[3]: line.split()[1] for line in _stub if line.startswith("from ")}

__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605 - it is a list


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module 'jobtrail' has no attribute '{name}'"
        raise AttributeError(message)
    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
