"""Hosts in processes that are forked from one whose threads use the store, as a prefork pool does it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import warm

TESTS = Path(__file__).parents[2]
CHILDREN = 6
pytestmark = pytest.mark.timeout(120)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_children_of_a_busy_process_run_their_jobs(url: str, tmp_path: Path) -> None:
    paths = os.pathsep.join(str(TESTS / name) for name in ("support", "apps", "../src"))
    program = str(TESTS / "apps/forking_host_app.py")
    done = warm.run(program, url, str(CHILDREN), cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, timeout=90)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert f"codes [0]\nran {CHILDREN}\nparent True True" in said, said
