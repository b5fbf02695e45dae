"""The page on Celery: its commands exist, with the options that they have there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from celery.bin.celery import celery

from jobtrail.cli.program import program

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-on-celery.md"
LINES = re.findall(r"^(?:celery|jobtrail) .*$", PAGE.read_text("utf-8"), re.MULTILINE)


def parsed(command, words):
    """The options of a command and the words that are left; an option that there is not is an error."""
    context = command.context_class(command)
    return command.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize("line", LINES)
def test_the_command_and_its_options_exist(line):
    group = celery if line.startswith("celery ") else program()
    _options, words, _order = parsed(group, shlex.split(line)[1:])
    context = group.context_class(group)
    command = group.get_command(context, words[0])
    assert command is not None, words[0]
    _options, rest, _order = parsed(command, words[1:])
    assert not rest


def test_the_page_has_commands_of_both():
    assert {line.split()[0] for line in LINES} == {"celery", "jobtrail"}
