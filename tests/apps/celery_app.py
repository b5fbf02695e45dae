"""An existing Celery project: one line makes its task runs jobs."""

import logging
import os
import signal
import time
from pathlib import Path

from celery import Celery, chain, chord, group
from celery.exceptions import Ignore, Reject

import jobtrail
from jobtrail.integrations.celery import current_job, tracked

app = Celery("celery_app", broker=os.environ["BROKER"], backend=os.environ.get("BACKEND"))
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
if "VISIBILITY" in os.environ:
    sweeps = {"unacked_restore_interval": 1, "unacked_restore_throttle": 1}  # else every hundred seconds
    app.conf.broker_transport_options = {"visibility_timeout": float(os.environ["VISIBILITY"]), **sweeps}
jobtrail.track_celery(
    app, os.environ["STORE"], exclude=["noise.*"], sample={"often.*": 0.0}, beat_interval=0.5, silent_after=3.0, sweep_interval=0.3
)
FOLDER = Path(os.environ["FOLDER"])


@app.task(name="add")
def add(a, b=2):
    return a + b


@app.task(name="load")
@tracked(kind="parser", source=lambda args: args["airport"], period=lambda args: args["day"])
def load(airport, day):
    job = current_job()
    job.set_progress(message="reading", done=1, total=3)
    logging.getLogger("anything").warning("reading %s", airport)
    for item in job.items(["a", "b", "c"]):
        with item as value:
            if value == "b":
                raise ValueError("no such row")
    return {"rows": 2}


@app.task(name="again", bind=True, max_retries=3)
def again(self, failures):
    if self.request.retries < failures:
        raise self.retry(countdown=0, exc=KeyError("not yet"))
    return "at last"


@app.task(name="boom")
def boom():
    raise ValueError("bad row")


@app.task(name="die")
def die():
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(name="hard", time_limit=1)
def hard():
    time.sleep(30)


@app.task(name="wait")
def wait(name, seconds=30):
    (FOLDER / f"{name}.begun").write_text(str(os.getpid()))
    job = current_job()
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (FOLDER / f"{name}.go").exists():
        job.check_cancelled()
        time.sleep(0.05)
    return "waited"


@app.task(name="late", acks_late=True)
def late(name, seconds):
    """As `wait`, and its message is acknowledged at the end."""
    return wait(name, seconds)


@app.task(name="reject", acks_late=True)
def reject(requeue=False):
    if requeue and (FOLDER / "rejected").exists():
        return "at last"
    (FOLDER / "rejected").touch()
    raise Reject("not here", requeue=requeue)


@app.task(name="ignore")
def ignore():
    raise Ignore


@app.task(name="total", ignore_result=False)
def total(numbers):
    return sum(numbers)


@app.task(name="one", ignore_result=False)
def one(number):
    return number


@app.task(name="canvas")
def canvas():
    group(one.si(number) for number in range(2)).delay()
    chord([one.si(number) for number in range(10, 13)], total.s()).delay()
    chain(one.si(100), anything.s()).delay()


@app.task(name="family")
def family():
    chain(add.si(1, 1), add.si(2, 2)).delay()


@app.task(name="anything")
def anything(value):
    return str(value)


@app.task(name="noise.tick")
def tick():
    return 1


@app.task(name="often.ok")
def often_ok():
    return 1


@app.task(name="often.bad")
def often_bad():
    raise ValueError("seen all the same")


__all__ = ["app", "chord"]
