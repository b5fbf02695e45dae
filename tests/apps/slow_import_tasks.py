"""A task whose module takes longer to import, in a child process, than the task may run."""

from __future__ import annotations

import sys
import time

from jobtrail import JobTrail

app = JobTrail("sqlite:///never-opened.db")
if "jobtrail.worker.child.server" in sys.modules:
    time.sleep(3.0)


@app.task(executor="process", timeout=1.5)
def quick():
    return "done"
