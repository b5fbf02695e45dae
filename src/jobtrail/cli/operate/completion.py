"""``jobtrail completion``: the script that completes commands and options in a shell."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from jobtrail.cli.command import command
from jobtrail.cli.session import Session
from jobtrail.messages import Message

VARIABLE = "_JOBTRAIL_COMPLETE"  # by which the script asks
SHELLS = ("bash", "zsh", "fish", "powershell")


def add_to(cli: typer.Typer) -> None:
    """Register the command of this file."""
    command(cli, "completion", "maintain", "help.completion")(completion)


def completion(
    _session: Session,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="help.completion-shell", show_default=False)],
) -> None:
    """Print the completion script of a shell."""
    from typer._completion_shared import get_completion_script

    from jobtrail.errors import UsageError

    if shell not in SHELLS:
        raise UsageError(Message("cli.no-completion", shell=shell, known=", ".join(SHELLS)))
    script = get_completion_script(prog_name="jobtrail", complete_var=VARIABLE, shell=shell)
    sys.stdout.write(f"{script}\n")
