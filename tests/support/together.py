"""Run a Python program in several processes that start together: forked from one that has the imports."""

from __future__ import annotations

import atexit
import json
import os
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import IO

import warm


def together(program: str, *arguments: list[str], timeout: float = 50.0) -> list[str]:
    """Run the program once for each list of arguments, and return what each printed.

    A program that prints "ready" and reads a line goes on when all are ready.

    Raises: AssertionError if one of them fails; subprocess.TimeoutExpired if they do not end in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(program, "utf-8")
        done = warm.run(__file__, str(file), json.dumps(arguments), cwd=file.parent, env=dict(os.environ), timeout=timeout)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


# -- in the process that forks ---------------------------------------------------------------------------


def _fork_all(program: str, arguments: list[list[str]]) -> int:
    held, go = os.pipe()
    children = [_fork(program, one, held, go) for one in arguments]
    if "ready" in program:
        for _, out in children:
            out.readline()
    os.close(go)
    print(json.dumps([out.read() for _, out in children]))
    return sum(os.waitpid(pid, 0)[1] != 0 for pid, _ in children)


def _fork(program: str, arguments: list[str], held: int, go: int) -> tuple[int, IO[str]]:
    out, into = os.pipe()
    pid = os.fork()
    if pid:
        os.close(into)
        return pid, open(out, encoding="utf-8")
    code = 1
    try:
        os.close(go)
        os.dup2(held, 0)
        os.dup2(into, 1)
        os.close(into)
        sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")
        sys.argv = ["program.py", *arguments]
        exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(_fork_all(Path(sys.argv[1]).read_text("utf-8"), json.loads(sys.argv[2])))
