"""The command line answers in the language of the terminal."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({}, "there is no job 'nosuchjob'"),
        ({"LANG": "ru_RU.UTF-8"}, "задания «nosuchjob» нет"),
        ({"LANG": "ru_RU.UTF-8", "JOBTRAIL_LANG": "en"}, "there is no job 'nosuchjob'"),
    ],
)
def test_an_error_is_told_in_the_language_of_the_terminal(jt, submitted, monkeypatch, variables, sentence):
    submitted("add", "-a", "a=1")
    for name in ("LANG", "LC_ALL", "LC_MESSAGES", "JOBTRAIL_LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    answer = jt("show", "nosuchjob")
    assert (answer.code, answer.err) == (1, f"jobtrail: {sentence}\n")
