"""An application whose names, texts and errors are as hard on a page as they can be."""

from __future__ import annotations

import logging
import os

from pydantic import BaseModel, create_model

from jobtrail import Context, JobTrail, PermanentError

WORD = "W" * 3000
RIGHT_TO_LEFT = "\u202eשלום עולם مرحبا بالعالم\u202c"
COMBINING = "Z" + "\u0335\u0321\u0329\u030d\u0342" * 40
EMOJI = "👩‍👩‍👧‍👦🏳️‍🌈" * 60
HOSTILE = (WORD, RIGHT_TO_LEFT * 20, COMBINING * 20, EMOJI, "<script>alert(1)</script>" * 30)
NAME = "t" * 120
COLUMNS = 60
log = logging.getLogger("hostile")
log.setLevel(logging.INFO)
jobs = JobTrail(os.environ.get("CONSOLE_DATABASE", "sqlite:///jobs.db"))
Row: type[BaseModel] = create_model("Row", **{f"target_{number}": (str | None, None) for number in range(COLUMNS)})


@jobs.task(name=NAME)
def long_name(ctx: Context, *, text: str, fails: bool = False) -> dict:
    """Log, record and give back the text; fail with it if asked to."""
    log.info("%s", text)
    ctx.set_progress(done=1, total=2, message=text[:500])
    for item in ctx.items([text[:500]], key=lambda key: key):
        with item:
            raise ValueError(text)
    if fails:
        raise PermanentError(text)
    return {"text": text, text[:200]: [text]}


@jobs.task
def wide(ctx: Context) -> str:
    """Ask for the mapping of very many columns with long names."""
    rows = [{f"column_{number}_{'c' * 80}": "v" * 200 for number in range(COLUMNS)}]
    ctx.ask("columns", WORD[:900], Row, kind="mapping", columns=rows)
    return "done"


jobs.schedules.declare(long_name, "every 6 hours", name="s" * 100, args={"text": WORD}, source="q" * 150)
