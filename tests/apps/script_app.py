"""An application in which all that a program, a job or a person can name or say is a script."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import closing
from pathlib import Path

from jobtrail import Context, JobTrail, Partial
from jobtrail.store import tokens

SCRIPT = "\"'><img src=x onerror='window.taken=1;alert(1)'><script>window.taken=1</script>&amp;?#%2e${1}"
LABEL = "\"'><script>Object.defineProperty(window,'taken',{value:1})</script>&amp;?#%2e${1}"  # a label's key has no equals sign
QUEUE = "\"'><script>alert(1)</script>&amp;?#%2e${1}"  # the name of a queue has no equals sign and no comma
FILE = "<img src=x onerror='window.taken=1'>.csv"  # a file's name has no slash
FORM = {
    "title": SCRIPT,
    "description": SCRIPT,
    "type": "object",
    "required": [SCRIPT],
    "properties": {
        SCRIPT: {"type": "string", "title": SCRIPT, "description": SCRIPT, "enum": [SCRIPT, f"2 {SCRIPT}"]},
        "free": {"type": "string", "default": SCRIPT, "description": SCRIPT},
    },
}
FIELDS = {"type": "object", "required": [SCRIPT], "properties": {SCRIPT: {"type": "string", "description": SCRIPT}}}

log = logging.getLogger(SCRIPT)
log.setLevel(logging.INFO)
Wrong = type(SCRIPT, (ValueError,), {})


def says(ctx: Context, *, text: str, more: dict | None = None) -> Partial:
    ctx.set_progress(percent=50, message=text, metadata={text: text})
    ctx.step(text, str, text)
    log.warning(text)
    for item in ctx.items([text, "fine"], key=str, name=text):
        with item:
            if item.value == text:
                raise Wrong(text)
    ctx.schedule_next(f"2 {SCRIPT}", {"text": text}, on="ended")
    return Partial({text: [text]}, text)


def asks(ctx: Context, *, text: str, maps: bool = False) -> str:
    if maps:
        return str(ctx.ask(text, text, FIELDS, kind="mapping", columns={text: [text, text]}))
    return str(ctx.ask(text, text, FORM))


def fails(*, text: str) -> None:
    raise Wrong(text)


says.__doc__ = asks.__doc__ = fails.__doc__ = SCRIPT
NAMES = (SCRIPT, f"2 {SCRIPT}", f"3 {SCRIPT}")


def application(database: str) -> JobTrail:
    """With its three tasks."""
    made = JobTrail(database)
    for name, body in zip(NAMES, (says, fails, asks), strict=True):
        made.task(name=name, kind=SCRIPT, queue=QUEUE)(body)
    return made


def fill(database: str, folder: Path) -> dict[str, str]:
    """A job of each kind, and a token; the ids of the jobs."""
    (folder / FILE).write_text(SCRIPT)
    said = {"labels": {LABEL: SCRIPT, "tenant": SCRIPT}, "context": {SCRIPT: [SCRIPT]}, "reason": SCRIPT, "actor": f"person:{SCRIPT}"}
    with closing(application(database)) as here:
        says_, fails_, asks_ = (here.task_named(name).using(source=SCRIPT, **said) for name in NAMES)
        args = {"text": SCRIPT, "more": {SCRIPT: SCRIPT}}
        store = here.store
        token = {"name": SCRIPT, "role": "viewer", "actor": f"person:{SCRIPT}"}
        store.write(lambda conn: tokens.create(conn, store.dialect, store.now(), **token))
        return {
            "period": says_.using(period="2013-02").enqueue(**args).id,
            "file": says_.using(file=folder / FILE).enqueue(**args).id,
            "failed": fails_.enqueue(text=SCRIPT).id,
            "form": asks_.enqueue(text=SCRIPT).id,
            "mapping": asks_.enqueue(text=SCRIPT, maps=True).id,
        }


if "CONSOLE_DATABASE" in os.environ:  # in the process that serves it
    socket.gethostname = lambda: SCRIPT
    jobs = application(os.environ["CONSOLE_DATABASE"])
