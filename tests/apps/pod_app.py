"""Tasks whose jobs run in a process each."""

from __future__ import annotations

import os
import signal

from jobtrail import JobTrail
from jobtrail.executors.base import HandingOver


class Pods(HandingOver):
    """The executor as its processes know it: they send nothing."""

    name = "pods"


def declare(jobs):
    """Register the tasks."""

    def add(x: int, y: int):
        return x + y

    def ends_its_process():
        os.kill(os.getpid(), signal.SIGKILL)

    return {one.__name__: jobs.task(executor="pods", on_interrupt="fail")(one) for one in (add, ends_its_process)}


if "POD_URL" in os.environ:
    app = JobTrail(os.environ["POD_URL"], executors=[Pods()])
    declare(app)
