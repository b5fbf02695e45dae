"""Runs a command and returns an exit code: 0 success, 1 failure, 2 invalid usage."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import typer

from jobtrail.messages import from_environment, render, tr, use_language

from .session import silence

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, FAILED, USAGE, STOPPED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    _open_missing_streams()
    _make_printable()
    with use_language(from_environment()):
        return _main(words)


def _main(words: list[str]) -> int:
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        code = DONE  # the reader of our output (head, less) has closed it
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):  # so ends Typer in that case
            raise
        code = DONE
    except KeyboardInterrupt:
        _say(tr("cli.stopped-by-ctrl-c"))
        code = STOPPED
    except Exception as error:
        code = _explain(error, debug="--debug" in words)
    _flush()
    return code


def _run(words: list[str]) -> int:
    from .program import program

    if "_JOBTRAIL_COMPLETE" in os.environ:  # a shell asks; the script is from `jobtrail completion`
        from typer._completion_classes import completion_init

        completion_init()
    try:
        answer: Any = program()(words, standalone_mode=False, prog_name="jobtrail")
    except typer.Exit as stop:
        answer = stop.exit_code
    except typer.Abort:
        answer = STOPPED
    return answer if isinstance(answer, int) else DONE


def _flush() -> None:
    """Print what is left, or nothing more: Python ends with code 120 where it cannot."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            stream.flush()
        except (OSError, ValueError):
            silence(stream)


def _open_missing_streams() -> None:
    """Give a program that was started with closed streams (``>&-``) an empty file in their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - for the whole program


def _make_printable() -> None:
    """Escape characters that the encoding of the terminal does not have."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _explain(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    code, sentence = _understand(error)
    _say(sentence)
    return code


def _understand(error: Exception) -> tuple[int, str]:
    if hasattr(error, "format_message"):  # an error of the command line's own grammar
        from .help import sentence_of

        return USAGE, _one_line(sentence_of(error))
    from jobtrail.errors import JobTrailError, UsageError

    if isinstance(error, JobTrailError):
        return USAGE if isinstance(error, UsageError) else FAILED, _one_line(render(error))
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return FAILED, _one_line(f"{name}{error.strerror}")
    return FAILED, tr("cli.unexpected", type=type(error).__name__, error=_one_line(str(error))[:500])


def _one_line(text: str) -> str:
    from .rendering.text import clean

    return clean(" ".join(text.split()))


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"jobtrail: {sentence}\n")
        sys.stderr.flush()
