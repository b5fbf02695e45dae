"""The README's example does, word for word, what the README says."""

from __future__ import annotations

from pages import ROOT, blocks, expected_output, run

README = ROOT / "README.md"


def test_the_example_prints_what_stands_below_it(tmp_path):
    (example,) = [block for block in blocks(README) if block.info == "python"]
    done = run(example.text, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected_output(README, example)


def test_the_example_is_short():
    (example,) = [block for block in blocks(README) if block.info == "python"]
    assert len([line for line in example.text.splitlines() if line.strip()]) <= 20


def test_the_commands_it_names_exist():
    import subprocess
    import sys

    shell = "\n".join(block.text for block in blocks(README) if block.info == "sh")
    targets = {line.split()[1] for line in shell.splitlines() if line.startswith("make ")}
    makefile = (ROOT / "Makefile").read_text()
    assert targets == {"demo", "test"}
    assert all(f"\n{target}:" in makefile for target in targets)
    words = {line.split()[3] for line in shell.splitlines() if line.startswith("jobtrail --app")}
    known = subprocess.run(
        [sys.executable, "-m", "jobtrail", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert {"submit", "list", "show", "serve"} <= words
    assert all(f"\n  {word} " in known for word in words), words
