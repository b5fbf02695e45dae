"""``manage.py jobtrail worker|list|…``: the whole command line, for the jobs of this project."""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from jobtrail.cli import main

APP = "jobtrail.django:jobs"
OF_DJANGO = ("--settings", "--pythonpath")  # read by `manage.py` itself


class JobTrailCommand(BaseCommand):
    """Hands its words over to the command ``jobtrail``."""

    help = "Run, list and operate jobs: worker, list, show, retry, cancel and all other commands of jobtrail."
    requires_system_checks: Any = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the command of a terminal and exit with its code."""
        os.environ.setdefault("JOBTRAIL_APP", APP)
        try:
            sys.exit(main(_without_django(argv[2:])))
        finally:
            connections.close_all()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take all words as they are."""
        parser.add_argument("words", nargs=REMAINDER)

    def handle(self, *_: Any, words: list[str], **_options: Any) -> None:
        """Run the command of ``call_command("jobtrail", "list", "--json")``.

        Raises:
            CommandError: If the command fails.
        """
        code = main(["--app", APP, *words])
        if code:
            message = f"jobtrail {' '.join(words)} ended with code {code}"
            raise CommandError(message, returncode=code)


Command = JobTrailCommand  # the name that Django looks for


def _without_django(words: list[str]) -> list[str]:
    kept: list[str] = []
    given = iter(words)
    for word in given:
        if word in OF_DJANGO:
            next(given, None)
        elif not word.startswith(tuple(f"{name}=" for name in OF_DJANGO)):
            kept.append(word)
    return kept
