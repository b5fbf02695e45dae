"""The fixtures of `trails`, and packages with plug-ins that are there for one test as if they were installed."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

from trails import *  # noqa: F403 - fixtures
from trails import _migrated_file, _shared_database  # noqa: F401


@pytest.fixture
def lonely(tmp_path: Path) -> str:
    """The address of a SQLite database that nobody has made."""
    return f"sqlite:///{tmp_path / 'lonely.db'}"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Put a package with an entry point where this process finds it; its modules are forgotten afterwards."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    made: list[str] = []

    def put(name: str, source: str, *, package: str | None = None, target: str | None = None) -> Path:
        package = package or f"jobtrail-{name}"
        module = package.replace("-", "_")
        about = site / f"{module}-2.5.dist-info"
        about.mkdir(exist_ok=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.5\n")
        with (about / "entry_points.txt").open("a") as file:
            file.write(f"[jobtrail.plugins]\n{name} = {target or f'{module}:plugin'}\n")
        (site / f"{module}.py").write_text(textwrap.dedent(source))
        made.append(module)
        importlib.invalidate_caches()
        return site

    yield put
    for module in made:
        sys.modules.pop(module, None)
