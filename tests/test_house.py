"""Rules of the house that no linter knows: the face of the package, what an import costs, sizes, the version, registries."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import jobtrail

ROOT = Path(__file__).parents[1]
FILE_LINES, TEST_LINES = 500, 600
FUNCTION_LINES = 50
HEAVY = (
    "alembic", "apscheduler", "celery", "fastapi", "jsonschema", "opentelemetry", "prometheus_client", "pydantic_settings", "rich",
    "typer",
)  # fmt: skip
# In pieces, so that this file does not name what it forbids.
REGISTRIES = tuple(".".join(parts) for parts in (
    ("pypi", "org"), ("files", "pythonhosted", "org"), ("registry", "npmjs", "org"), ("registry", "yarnpkg", "com"),
    ("proxy", "golang", "org"), ("deb", "debian", "org"),
))  # fmt: skip
LOCKS = ("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock")


def tracked() -> list[Path]:
    """The files of this tree that git knows."""
    try:
        told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this tree is not a git checkout")
    return [path for name in told.split("\0") if name and (path := ROOT / name).is_file()]


def python_files() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py"]


def test_the_face_is_sorted_and_every_name_is_there():
    assert jobtrail.__all__ == sorted(jobtrail.__all__)
    assert len(set(jobtrail.__all__)) == len(jobtrail.__all__)
    assert [name for name in jobtrail.__all__ if not hasattr(jobtrail, name)] == []


def test_what_only_submits_does_not_load_what_only_others_need():
    code = (
        "import jobtrail, sys\n"
        "for name in jobtrail.__all__: getattr(jobtrail, name)\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert told.split() == []


def test_every_module_says_why_it_exists():
    assert [module.name for module in modules() if not ast.get_docstring(module.tree)] == []


@cache
def house() -> ModuleType:
    """`scripts/house.py`, which counts what `make house` prints."""
    spec = importlib.util.spec_from_file_location("house", ROOT / "scripts/house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


@cache
def modules() -> list[Any]:
    """Every module of the package, read and parsed once."""
    found: list[Any] = house().read(ROOT / "src")
    return found


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions and for types only count like all others: they too mean that a part knows its owner."""
    assert list(house().circles(house().imports(modules()))) == []


def test_a_name_of_a_class_stands_once_in_the_house():
    assert house().twins(modules()) == {}


def test_a_folder_has_few_files():
    folders = Counter(module.path.parent for module in modules() if not module.is_migration)
    assert {str(folder): count for folder, count in folders.items() if count > house().FILES} == {}


def test_no_file_is_too_long():
    """A migration is one list of columns, and a file of tests is read test by test."""
    sizes = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in python_files()}
    longer = {name: lines for name, lines in sizes.items() if lines > FILE_LINES}
    assert {
        name: lines for name, lines in longer.items()
        if lines > TEST_LINES or not (name.startswith("tests/") or "/versions/" in name)
    } == {}  # fmt: skip


def test_no_function_is_too_long():
    """A migration is one list of columns and is not read as a function."""
    sizes = [one for module in modules() if not module.is_migration for one in house().functions(module)]
    assert [(name, lines) for lines, name in sizes if lines > FUNCTION_LINES] == []


def test_no_file_names_a_registry():
    """Where packages come from is the business of each machine's own settings."""
    named = re.compile("|".join(re.escape(name) for name in REGISTRIES).encode())
    assert [str(path.relative_to(ROOT)) for path in tracked() if named.search(path.read_bytes())] == []


def test_no_lock_is_tracked():
    assert [path for path in tracked() if path.name in LOCKS] == []


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    newest = re.search(r"^## \[?(\d[^\s\]]*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert project["version"] == jobtrail.__version__ == newest[1]


def test_every_dependency_is_explained():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    ours = [one for name, extra in extras.items() if name not in {"all", "dev"} for one in extra]
    named = [re.split(r"[\[<>=; ]", one)[0] for one in (*project["dependencies"], *ours)]
    page = (ROOT / "docs/why/dependencies.md").read_text("utf-8").lower()
    assert [name for name in named if name.lower() not in page] == []
