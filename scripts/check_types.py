"""Check that users get types: `tests/types/right.py` has no error, and each line marked in `mistakes.py` has one.

mypy always, strictly; pyright where `web/node_modules` (or the PATH) has it. Run by `make types`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests/types"
NAMES = ("right.py", "mistakes.py")
MARK = "# wrong"
Found = set[tuple[str, int]]


def marked() -> Found:
    """The lines that have a mistake."""
    return {
        (name, number)
        for name in NAMES
        for number, line in enumerate((FOLDER / name).read_text("utf-8").splitlines(), 1)
        if line.endswith(MARK)
    }


def by_mypy() -> Found:
    """The lines in which ``mypy --strict`` finds an error."""
    words = ["--config-file", os.devnull, "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    files = [str(FOLDER / name) for name in NAMES]
    told = subprocess.run(
        [sys.executable, "-m", "mypy", *words, *files],
        cwd=ROOT, env={**os.environ, "MYPYPATH": "src"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if told.returncode not in {0, 1}:
        raise SystemExit(told.stdout + told.stderr)
    return _named((found[1], int(found[2])) for found in re.finditer(r"^(.+?):(\d+): error:", told.stdout, re.MULTILINE))


def by_pyright() -> Found | None:
    """The lines in which pyright finds an error in its standard mode; None if it is not installed."""
    program = shutil.which("pyright", path=f"{ROOT / 'web/node_modules/.bin'}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        return None
    names = [str(FOLDER.relative_to(ROOT) / name) for name in NAMES]
    settings = {"include": names, "extraPaths": ["src"], "reportUnusedExpression": False}
    project = ROOT / f".pyright-{os.getpid()}.json"  # its folder is what the paths are relative to
    project.write_text(json.dumps(settings), "utf-8")
    try:
        told = subprocess.run(
            [program, "--pythonpath", sys.executable, "-p", str(project), "--outputjson"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        project.unlink()
    return _named((one["file"], one["range"]["start"]["line"] + 1) for one in json.loads(told.stdout)["generalDiagnostics"])


def _named(lines: Iterable[tuple[str, int]]) -> Found:
    return {(Path(file).name, line) for file, line in lines}


def differences(found: Found) -> list[str]:
    """What a checker missed, and what it found too much."""
    expected = marked()
    missed = [f"{name}:{line}: the mistake is not found" for name, line in sorted(expected - found)]
    return missed + [f"{name}:{line}: this is right" for name, line in sorted(found - expected)]


def main() -> int:
    """Check with each checker; 1 if one is wrong."""
    code = 0
    for checker, found in (("mypy", by_mypy()), ("pyright", by_pyright())):
        if found is None:
            print(f"{checker} is not installed and was left out")
            continue
        wrong = differences(found)
        print(*(f"{checker}: {one}" for one in wrong), sep="\n", end="\n" if wrong else "")
        print(f"{checker}: {len(marked())} mistakes, {len(marked() & found)} found, {len(wrong)} differences")
        code |= bool(wrong)
    return code


if __name__ == "__main__":
    sys.exit(main())
