"""A Celery project with a beat schedule; each run appends its id to a file, and says in the environment what is tracked."""

import json
import os
import signal
from pathlib import Path

from celery import Celery
from celery.signals import after_task_publish, before_task_publish

import jobtrail

FOLDER = Path(os.environ["FOLDER"])
app = Celery("beat_app", broker=os.environ["BROKER"])
app.conf.update(
    task_ignore_result=True, broker_connection_retry_on_startup=True, worker_hijack_root_logger=False,
    jobtrail_url=os.environ["STORE"], jobtrail_beat_options=json.loads(os.environ.get("OURS", "{}")),
)  # fmt: skip
app.conf.beat_schedule = json.loads(os.environ.get("ENTRIES", '{"often": {"task": "note", "schedule": 1.0, "args": ["often"]}}'))
SETTINGS = {"beat_interval": 0.5, "silent_after": 3.0, "sweep_interval": 0.3, "scheduler_lease": 3.0}
os.environ.update({f"JOBTRAIL_{name.upper()}": str(value) for name, value in SETTINGS.items()})
if os.environ.get("TRACK", "1") == "1":
    jobtrail.track_celery(app, os.environ["STORE"])


@before_task_publish.connect
def before(**_):
    die("before")


@after_task_publish.connect
def after(**_):
    die("after")


def die(when):
    """End this process at once, where a test has asked for it: once, around the sending of a message."""
    path = FOLDER / f"die-{when}"
    if path.exists():
        path.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


@app.task(name="note", bind=True)
def note(self, what):
    with (FOLDER / "ran").open("a") as file:
        file.write(f"{what} {self.request.id}\n")
    return what


@app.task(name="other")
def other():
    return 1
