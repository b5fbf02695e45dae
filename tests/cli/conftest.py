"""The command in this process (fast) and as a process of its own, over a database without rows with the application `shop`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from brokers import amqp_base, amqp_url, broker, redis_base, redis_url  # noqa: F401 - fixtures
from trails import _migrated_file  # noqa: F401 - fixture

from jobtrail.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
SOURCES = HERE.parents[1] / "src"


@dataclass(frozen=True)
class Answer:
    """What a command said and with which code it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON value on standard output."""
        return json.loads(self.out)


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with all tables and no rows."""
    shutil.copy(request.getfixturevalue("_migrated_file"), tmp_path / "shop.db")
    return f"sqlite:///{tmp_path / 'shop.db'}"


@pytest.fixture
def no_database(url: str, tmp_path: Path) -> None:
    """The database does not exist yet."""
    (tmp_path / "shop.db").unlink()


@pytest.fixture
def bare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Answer]:
    """The command, without an application in the environment, in an empty folder."""
    for name in ("JOBTRAIL_APP", "JOBTRAIL_URL", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Answer:
        capsys.readouterr()
        code = main(words)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Answer(code, out, err)

    return run


@pytest.fixture
def jt(bare: Callable[..., Answer], url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """The command with the application `shop` over the empty database."""
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setenv("SHOP_URL", url)
    monkeypatch.setenv("JOBTRAIL_APP", "shop:make_new")
    return bare


@pytest.fixture
def submitted(jt: Callable[..., Answer]) -> Callable[..., str]:
    """Submit a job and give its id."""

    def submit(task: str, *words: str) -> str:
        answer = jt("submit", task, *words, "--json")
        assert answer.code == 0, answer.err
        job_id: str = answer.json.get("job", answer.json)["id"]  # with --wait it is the job in detail
        return job_id

    return submit


@pytest.fixture
def ran(jt: Callable[..., Answer], submitted: Callable[..., str]) -> Callable[..., str]:
    """Submit a job, let a worker run what waits, and give the job's id."""

    def run(task: str, *words: str) -> str:
        job_id = submitted(task, *words)
        assert jt("worker", "--burst").code == 0
        return job_id

    return run


@pytest.fixture
def process(url: str, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """The command as a process."""

    def start(*words: str) -> subprocess.Popen[str]:
        paths = os.pathsep.join((str(SOURCES), str(HERE)))
        env = {**os.environ, "PYTHONPATH": paths, "SHOP_URL": url, "JOBTRAIL_APP": "shop:jobs", "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "jobtrail", *words]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path, encoding="utf-8"
        )

    return start
