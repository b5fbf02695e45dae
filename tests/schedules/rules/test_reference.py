"""The pages about schedules describe every option, reason and event."""

from __future__ import annotations

import re
from pathlib import Path

from jobtrail.messages import Message, render
from jobtrail.schedules import planner
from jobtrail.schedules.definition import DEFAULTS, WORDS

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "schedules.md").read_text("utf-8")


def _table(heading):
    part = re.split(r"\n#+ ", PAGE.split(f"\n{heading}\n", 1)[1], maxsplit=1)[0]
    rows = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().replace("`", "") for cell in row.strip("|").split("|")] for row in rows]


def test_every_word_of_a_schedule_is_told_with_its_default():
    written = {name: default for name, default, _ in _table("## Options of a schedule")}
    known = {name: f"{DEFAULTS[name]:g}" if isinstance(DEFAULTS[name], float) else str(DEFAULTS[name]) for name in WORDS}
    assert written == {name: default for name, default in known.items() if name != "rule"}


def test_every_reason_is_told():
    written = {row[0] for row in _table("## Slots")}
    reasons = (planner.DOWN, planner.PAUSED, planner.OVERLAP, planner.TOO_LATE, planner.UNKNOWN, planner.COMPLETE)
    assert written == {render(one) for one in (*reasons, Message("schedules.slot-refused", error="…"))}


def test_every_event_of_a_schedule_is_told():
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src/jobtrail/schedules").glob("*.py"))
    made = set(re.findall(r'"((?:schedule|slot)_[a-z_]+)"', source)) - {"schedule_id"}
    told = (REFERENCE / "events.md").read_text("utf-8")
    assert [name for name in made if f"`{name}`" not in told] == []
    assert len(made) > 9
