"""An application with notifications that dies at its n-th statement: between a transition, its decision, its sending and its mark."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from jobtrail import JobTrail
from jobtrail.notify import AlertRule, AppriseChannel, Mail, Notify, Webhook
from jobtrail.testing import recover

CHANNELS = ("inbox", "mail", "hook")
CHAT = "JOBTRAIL_TEST_CHAT"  # the variable that adds a channel of Apprise, which takes a while to load


def make(url: str, mail: int, hook: int) -> JobTrail:
    """The application; ports of the mail server and of the web server."""
    to: dict[str, Any] = {
        "mail": Mail("127.0.0.1", "jobtrail@example.org", "ops@example.org", security="none", port=mail),
        "hook": Webhook(f"http://127.0.0.1:{hook}/hook", secret="key"),
    }
    channels = CHANNELS
    if os.environ.get(CHAT):
        to["chat"] = AppriseChannel(f"json://127.0.0.1:{hook}/chat")
        channels = (*CHANNELS, "chat")
    rules = [
        AlertRule("modules", kinds="module.error", channels=channels, group=0, text="<{subject}>"),
        AlertRule("loads", kinds="job.failed", where="task:load", channels=channels, group=0, text="<{subject}>"),
    ]
    jobs = JobTrail(url, plugins=[Notify(rules=rules, channels=to, retry=20)], poll_interval=0.1)

    @jobs.task
    def load() -> None:
        raise RuntimeError("it fails")

    return jobs


def main() -> None:
    """One turn and the jobs that it makes; prints how many statements that took."""
    url, mail, hook, die_at = sys.argv[1], *map(int, sys.argv[2:5])
    statements = 0

    @event.listens_for(Engine, "before_cursor_execute")
    def count(*_: object) -> None:
        nonlocal statements
        statements += 1
        if statements == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    jobs = make(url, mail, hook)
    jobs.notify.turn()
    recover(jobs, delayed=False)
    print(statements)
    jobs.close()


if __name__ == "__main__":
    main()
