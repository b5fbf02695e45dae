"""The command ``jobtrail``: an error is one sentence and an exit code, never a traceback."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; without the extra ``jobtrail[cli]`` say so in a sentence."""
    try:
        import rich  # noqa: F401 - each command prints by it
        import typer  # noqa: F401 - each command is one of it
    except ModuleNotFoundError as error:
        from jobtrail.messages import from_environment, tr, use_language

        with use_language(from_environment()):
            sys.stderr.write(f"jobtrail: {tr('errors.extra-missing', extra='cli', package=error.name)}\n")
        return 1
    from .entry import main as run

    return run(argv)
