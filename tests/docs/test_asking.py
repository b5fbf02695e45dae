"""The commands of "Ask a person" do, word for word, what the page says, on the application of its first example."""

from __future__ import annotations

import json
import os
import shlex

import warm
from pages import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "ask-a-person.md"


def jobtrail(folder, *words):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JOBTRAIL_")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "140"}
    return warm.run("-m", "jobtrail", *words, cwd=folder, env=environment)


def test_the_commands_of_the_page(tmp_path):
    example = next(block for block in blocks(PAGE) if block.info == "python run")
    shell = next(block for block in blocks(PAGE) if block.info == "sh")
    (tmp_path / "example.py").write_text(example.text.partition("job = load.enqueue()")[0], encoding="utf-8")
    job_id = json.loads(jobtrail(tmp_path, "--app", "example:jobs", "submit", "load", "--json").stdout)["job"]["id"]
    assert jobtrail(tmp_path, "--app", "example:jobs", "worker", "--burst").returncode == 0

    lines = [shlex.split(line.replace("ID", job_id[-8:])) for line in shell.text.splitlines()]
    assert all(words[0] == "jobtrail" for words in lines)
    listed, at_no_terminal, answered, of_the_job = (jobtrail(tmp_path, *words[1:]) for words in lines)
    assert "Which column is the date?" in listed.stdout
    assert "there is no terminal to ask at" in at_no_terminal.stderr
    assert (answered.returncode, "has its answer to 'date column'" in answered.stdout) == (0, True)
    assert '{"column": "when"}' in of_the_job.stdout
    assert jobtrail(tmp_path, "--app", "example:jobs", "worker", "--burst").returncode == 0
    shown = json.loads(jobtrail(tmp_path, "--app", "example:jobs", "show", job_id, "--json").stdout)
    assert shown["result"] == "2 lines, the date is in 'when'"
