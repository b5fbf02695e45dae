"""The build hook: an installation without Node succeeds without the console and says so; a release does not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.bridge.app import Application

ROOT = Path(__file__).parents[1]
REASON = "the console needs Node, and there is none"


@pytest.fixture
def hook(tmp_path):
    """A hook of a project whose console cannot be built."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web/build.py").write_text(
        f"class CannotBuild(Exception): pass\ndef build(): raise CannotBuild({REASON!r})\n", "utf-8"
    )
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def make(target):
        return module.ConsoleHook(str(tmp_path), {}, None, None, str(tmp_path), target, Application())

    return make


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_an_installation_without_node_goes_on_and_says_so(hook, capsys, version):
    hook("wheel").initialize(version, {})
    told = capsys.readouterr()
    assert f"jobtrail is installed without its web console: {REASON}" in told.out + told.err


def test_a_release_without_the_console_is_refused_without_a_traceback(hook, capsys):
    with pytest.raises(SystemExit) as ended:
        hook("sdist").initialize("standard", {})
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert REASON in told.out + told.err


def test_the_build_script_names_what_is_missing(monkeypatch):
    """As where neither node nor npm is on the PATH and no wheel brings them."""
    code = (
        "import importlib.util, sys; sys.path.insert(0, 'web'); import build\n"
        "importlib.util.find_spec = lambda name, *rest: None\n"
        "try: build.tools()\n"
        "except build.CannotBuild as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={"PATH": "/nowhere"}, capture_output=True, text=True)
    assert told.stdout.startswith("the console needs Node 20.19 or newer"), told.stderr
