"""`examples/tenants` is run as a user runs it: every promise of the port is a line that it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from pages import ROOT


@pytest.mark.long
def test_the_port_in_small_keeps_its_promises(tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JOBTRAIL_")}
    environment |= {"PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    command = [sys.executable, "-m", "examples.tenants.port", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=50)
    assert done.returncode == 0, done.stderr
    imported, limited, deleted, exported = done.stdout.splitlines()
    assert imported == "imported: 1000 jobs; a second time: 0"
    assert limited.startswith("loads of a tenant at once: 1; calls in a second: ")
    most, _, calls = limited.rpartition(": ")[2].partition(" of ")
    assert (int(most) <= 5, calls) == (True, "12")
    assert deleted == "deleted: 11 jobs of customer 17"
    assert exported == "exported: 1009 jobs; the person's name in it: no"
    with (tmp_path / "all.jsonl").open() as file:
        records = [json.loads(line) for line in file]
    assert sum(len(record.get("items", ())) for record in records) == (1000 - 10 - 20) * 3 + 7 * 3
