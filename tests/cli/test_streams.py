"""The streams of the command: a reader that has left is no error, nor is a stream that is closed from the start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Submit = Callable[..., str]

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX streams")


@pytest.fixture
def program(url: str, tmp_path: Path, submitted: Submit) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command as a process, after a command of the shell such as ``exec "$@" >&-``."""
    submitted("add", "-a", "a=1")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(SOURCES), str(HERE))), "SHOP_URL": url}
    environment |= {"JOBTRAIL_APP": "shop:jobs"}

    def run(*words: str, shell: str = 'exec "$@"', **streams: Any) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", shell, "sh", sys.executable, "-m", "jobtrail", *words]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
        return subprocess.run(command, env=environment, cwd=tmp_path, text=True, timeout=50, check=False, **streams)

    return run


@pytest.fixture
def unread() -> Any:
    """The writing end of a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.mark.parametrize("words", [("--help",), ("list",), ("list", "--json")])
def test_a_reader_that_has_left_is_no_error(program: Callable[..., Any], unread: int, words: tuple[str, ...]) -> None:
    ended = program(*words, stdout=unread)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_command_goes_on_where_nobody_reads_its_errors(program: Callable[..., Any], unread: int) -> None:
    ended = program("worker", "--burst", "--json", stderr=unread)
    assert ended.returncode == 0
    assert '"completed": 1' in ended.stdout
    ended = program("show", "nothing", stderr=unread)
    assert ended.returncode == 1


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error(program: Callable[..., Any], closed: str) -> None:
    ended = program("list", shell=f'exec "$@" {closed}')
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ("add" in ended.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_a_text_takes_a_value_as_it_is_typed(jt: Callable[..., Any], submitted: Submit) -> None:
    for typed in ("1.10", "null", "007", "true", '"x"', "[1]"):
        job = jt("show", submitted("fail", "-a", f"message={typed}"), "--json").json
        assert job["arguments"]["message"] == typed
    jt("schedules", "add", "typed", "-t", "fail", "-r", "every 1 hour", "-a", "message=1.10")
    assert jt("schedules", "show", "typed", "--json").json["definition"]["args"] == {"message": "1.10"}
    jt("schedules", "edit", "typed", "-a", "message=null")
    assert jt("schedules", "show", "typed", "--json").json["definition"]["args"] == {"message": "null"}


def test_other_parameters_take_json(jt: Callable[..., Any], submitted: Submit) -> None:
    job = jt("show", submitted("fail", "-a", "password=null"), "--json").json
    assert job["arguments"] == {"password": None}, "it may be None"
    job = jt("show", submitted("add", "-a", "a=7"), "--json").json
    assert job["arguments"] == {"a": 7}
