"""The command ``jobtrail``: an error is one sentence and an exit code, never a traceback."""

from .entry import main

__all__ = ["main"]
