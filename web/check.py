"""Check the console's sources: format, lint, types, their own tests, and types against the API as it is now.

``python web/check.py`` needs the packages that ``make console`` installs; without Node it says so and, outside CI, passes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from build import WEB, CannotBuild, tools

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Run every check; the exit code is 1 at the first that fails."""
    try:
        npm, environment = tools()
    except CannotBuild as error:
        print(error, file=sys.stderr)  # noqa: T201 - a script
        return int(os.environ.get("CI", "").lower() not in {"", "0", "false"})

    def run(*words: str) -> None:
        subprocess.run([*npm, *words], cwd=WEB, env=environment, check=True)  # noqa: S603

    try:
        run("exec", "--", "biome", "check", ".")
        with tempfile.TemporaryDirectory() as folder:
            _copy_pages_of_plugins(Path(folder))
            run("exec", "--", "biome", "check", f"--config-path={folder}", folder)
        run("test", "--silent")
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            _copy_with_current_types(copy, run)
            run("exec", "--", "tsc", "--noEmit", "-p", folder)
    except subprocess.CalledProcessError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a script
        return 1
    return 0


def _copy_pages_of_plugins(folder: Path) -> None:
    """Copy the pages of our own plug-ins below the rules of the console's sources."""
    shutil.copy(WEB / "biome.json", folder)
    for place in (WEB.parent / "src" / "jobtrail").glob("*/console"):
        shutil.copytree(place, folder / "src" / place.parent.name, ignore=shutil.ignore_patterns("*.py", "__pycache__"))


def _copy_with_current_types(folder: Path, run: Callable[..., None]) -> None:
    """Copy the sources and generate the types of the API there: the description that is kept may be older."""
    described = subprocess.run([sys.executable, "openapi.py"], cwd=WEB, capture_output=True, check=True)
    (folder / "openapi.json").write_bytes(described.stdout)
    for name in ("src", "tsconfig.json", "vite.config.ts"):
        copy = shutil.copytree if (WEB / name).is_dir() else shutil.copy
        copy(WEB / name, folder / name)
    (folder / "node_modules").symlink_to(WEB / "node_modules")
    run("exec", "--", "openapi-typescript", f"{folder}/openapi.json", "-o", f"{folder}/src/api/schema.ts")


if __name__ == "__main__":
    sys.exit(main())
