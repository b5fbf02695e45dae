"""The documentation tells the truth: its examples run, its links lead somewhere, its tables are those of the code."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields

import pytest
from pages import PAGES, ROOT, blocks, expected_output, run

import jobtrail
from jobtrail import errors
from jobtrail.commands.using import Using
from jobtrail.config import Settings
from jobtrail.job.model import Status
from jobtrail.job.task import Task
from jobtrail.job.transitions import TABLE
from jobtrail.schedules.service import Schedules
from jobtrail.store.search import grammar

DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
RUNNABLE = [block for page in PAGES for block in blocks(page) if block.info == "python run"]
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("block", RUNNABLE, ids=lambda block: block.name)
def test_the_example_runs_and_prints_what_stands_below_it(block, tmp_path):
    done = run(block.text, tmp_path)
    assert done.returncode == 0, done.stderr
    expected = expected_output(block.page, block)
    if expected is not None:
        assert done.stdout == expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_python_block_can_be_read(page):
    for block in blocks(page):
        if block.info.startswith("python"):
            compile(block.text, block.name, "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_internal_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```\s*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in _LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}"
        assert file.is_relative_to(ROOT)
        if anchor:
            assert anchor in _anchors(file), f"{page.name} links to {target}"


def _anchors(file):
    heads = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def _table(page, heading):
    """The rows below a heading, each a list of cells without code marks."""
    text = page.read_text(encoding="utf-8")
    assert f"\n{heading}\n" in text, f"{page.name} has no '{heading}'"
    part = re.split(r"\n#+ ", text.split(f"\n{heading}\n", 1)[1], maxsplit=1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_moves_is_that_of_the_code():
    written = {name: (left, reached) for name, left, reached, *_ in _table(REFERENCE / "states.md", "## Moves")}
    known = {name: (", ".join(sources) or "–", ", ".join(targets)) for name, (sources, targets) in TABLE.items()}
    assert written == known


def test_every_state_is_told():
    assert [row[0] for row in _table(REFERENCE / "states.md", "## States")] == [str(status) for status in Status]


def test_every_move_is_an_event_that_is_told():
    written = {row[0] for row in _table(REFERENCE / "events.md", "## Names")}
    assert written >= set(TABLE)
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src" / "jobtrail").rglob("*.py"))
    assert [name for name in written - set(TABLE) if f'"{name}"' not in source] == []


def test_the_settings_are_those_of_the_code():
    written = {name: default for name, default, *_ in _table(REFERENCE / "settings.md", "## Settings")}
    known = {f.name: _number(f.default) for f in fields(Settings)}
    assert written == known


def _number(value):
    return f"{value:g}" if isinstance(value, float) else "None" if value is None else str(value)


def test_every_option_of_a_task_is_told():
    own = {f.name for f in fields(Task) if f.init} - {"function", "options"}
    assert {row[0] for row in _table(REFERENCE / "tasks.md", "## Options of a task")} == own


def test_every_word_of_using_is_told():
    written = {word for row in _table(REFERENCE / "tasks.md", "## using") for word in row[0].split(", ")}
    assert written == {f.name for f in fields(Using)}


def test_every_word_of_a_filter_is_told():
    written = {word.rstrip(":") for row in _table(REFERENCE / "filter.md", "## Terms") for word in row[0].split(", ")}
    assert written == {*grammar.WORDS, "args.NAME", '"free text"'}


def test_every_exported_name_is_told():
    text = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    missing = [name for name in jobtrail.__all__ if f"`{name}`" not in text and f"`{name}(" not in text]
    assert not missing


def test_every_error_is_told():
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    known = [
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, BaseException)
    ]
    assert len(known) > 20
    assert [name for name in known if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize(
    ("page", "owner"),
    [
        ("jobtrail.md", jobtrail.JobTrail),
        ("context.md", jobtrail.Context),
        ("job.md", jobtrail.Job),
        ("tasks.md", jobtrail.BoundTask),
        ("schedules.md", Schedules),
    ],
)
def test_every_public_member_is_told(page, owner):
    text = (REFERENCE / page).read_text(encoding="utf-8")
    members = [name for name in dir(owner) if not name.startswith("_")]
    twins = {f"a{name}{end}" for name in members for end in ("", "_")}  # one paragraph tells of them
    assert [name for name in members if name not in twins and not re.search(rf"`(await )?(\w+\.)?{name}\b", text)] == []


def test_every_command_is_told():
    from jobtrail.cli.program import program

    text = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    assert [name for name in program().commands if f"`{name}" not in text] == []


def test_every_room_of_the_house_is_described():
    text = (DOCS / "why" / "house.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "jobtrail"
    rooms = {file.parent.relative_to(source).as_posix() for file in source.rglob("*.py") if "migrations" not in file.parts}
    assert [room for room in sorted(rooms - {"."}) if f"| `{room}/` |" not in text] == []


def test_the_house_names_no_room_that_is_gone():
    text = (DOCS / "why" / "house.md").read_text(encoding="utf-8")
    source = ROOT / "src" / "jobtrail"
    assert [name for name in re.findall(r"\| `([\w/]+)/` \|", text) if not (source / name).is_dir()] == []


def test_the_licence_is_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] in (ROOT / "README.md").read_text()


def test_the_tree_of_errors_is_that_of_the_source():
    tree = errors.__doc__.split("\n\n", 1)[1].strip("\n")
    assert tree in (REFERENCE / "errors.md").read_text(encoding="utf-8")


def test_every_default_of_a_task_is_the_one_of_the_code():
    written = {name: default for name, default, _ in _table(REFERENCE / "tasks.md", "## Options of a task")}
    known = {
        f.name: str(f.default) for f in fields(Task) if f.init and isinstance(f.default, (int, str, tuple, type(None)))
    }
    assert {name: written[name] for name in known} == known


@pytest.mark.parametrize("page", sorted((DOCS / "why").glob("*.md")), ids=lambda page: page.name)
def test_the_files_that_a_design_page_names_exist(page):
    folders = (ROOT, ROOT / "src" / "jobtrail", ROOT / "src" / "jobtrail" / "api", ROOT / "src" / "jobtrail" / "schedules")
    named = re.findall(r"`(\w[\w/]*/\w+\.py)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if not any((folder / name).is_file() for folder in folders)] == []
