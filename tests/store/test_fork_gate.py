"""A process that forks while its threads use SQLite: no child hangs in its first statement."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import os, signal, sys, threading
    from sqlalchemy import text
    from jobtrail.database.connection import Database

    database = Database(sys.argv[1])

    def busy():
        while True:
            with database.engine.connect() as conn:
                conn.execute(text("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000)"
                                  " SELECT count(printf('%d %s', x, hex(randomblob(20)))) FROM n")).all()

    for _ in range(3):
        threading.Thread(target=busy, daemon=True).start()
    hung = 0
    for _ in range(int(sys.argv[2])):
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            with Database(sys.argv[1]).engine.connect() as conn:
                conn.execute(text("SELECT 1")).all()
            os._exit(0)
        hung += os.waitpid(pid, 0)[1] != 0
    print(hung)
    os._exit(0)
"""


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_is_forked_beside_statements_does_not_hang(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), f"sqlite:///{tmp_path}/jobs.db", "25"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert (ended.stdout.strip(), ended.stderr) == ("0", "")
