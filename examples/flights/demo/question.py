"""The demonstration's question: a file with other column names, mapped by an administrator, and remembered for the next."""

from __future__ import annotations

import csv
import json
import time
from typing import TYPE_CHECKING, Any

from rich.text import Text

from jobtrail.errors import ResultTimeout
from jobtrail.job.model import FINAL, WAITING_FOR_A_PERSON, Status

from ..source import rows_of
from ..tasks import FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from jobtrail.app import JobTrail
    from jobtrail.commands.job_handle import Job

    from .place import Place

TABLE = "planes"
REGISTRY, LESSOR = "files/registry", "files/lessor"
ADMINISTRATOR = "person:administrator"
WAIT_AT_MOST = 120.0  # seconds
# The same planes, as others call the columns. The first names are near enough to be proposed, but for one.
OF_THE_REGISTRY = {
    "tailnum": "Tail No.", "year": "Built", "type": "Aircraft Type", "manufacturer": "MFR", "model": "Model Name",
    "engines": "Engine Count", "seats": "No. of Seats", "speed": "Speed", "engine": "Engine",
}  # fmt: skip
OF_THE_LESSOR = {
    "tailnum": "Registration", "year": "Year Built", "type": "Class", "manufacturer": "Maker", "model": "Variant",
    "engines": "Engines", "seats": "Capacity", "speed": "Speed", "engine": "Engine Type",
}  # fmt: skip


def ask_and_answer(jobs: JobTrail, place: Place, work: Callable[[], None], console: Console) -> dict[str, int]:
    """Two deliveries of a source with columns of its own; the first one asks, the second one knows. What came of it.

    What an earlier demonstration has taught is forgotten first.
    """
    jobs.forget_answers("import_file", REGISTRY)
    rows = _rows(place)
    half = (len(rows) + 1) // 2
    first = _submit(jobs, place, "registry-1.csv", rows[:half], REGISTRY, OF_THE_REGISTRY)
    work()
    _wait(first, WAITING_FOR_A_PERSON)
    questions = [one for one in first.questions() if one.state == "open"]
    corrected = [name for one in questions for name in _answer(first, json.loads(one.detail or "{}"))]
    second = _submit(jobs, place, "registry-2.csv", rows[half:], REGISTRY, OF_THE_REGISTRY)
    work()
    both = [first, second]
    for job in both:
        _wait(job, ())
    told = {
        "jobs": len(both),
        "questions": sum(len(job.questions()) for job in both),
        "corrected": len(corrected),
        "remembered": sum(not job.questions() for job in both),
        "items": sum(job.item_counts()["ok"] for job in both),
        "completed": sum(job.status is Status.COMPLETED for job in both),
    }
    _show(console, first, corrected, told)
    return told


def leave_waiting(jobs: JobTrail, place: Place) -> Job:
    """A third delivery, whose columns have names again of their own: it waits for whoever sits at the terminal."""
    return _submit(jobs, place, "lessor.csv", _rows(place), LESSOR, OF_THE_LESSOR)


def _rows(place: Place) -> list[dict[str, str]]:
    return list(rows_of(place.data / FILES[TABLE].file))


def _submit(
    jobs: JobTrail, place: Place, name: str, rows: list[dict[str, str]], source: str, names: Mapping[str, str]
) -> Job:
    path = place.folder / name
    whole = path.with_suffix(".new")
    with whole.open("w", encoding="utf-8", newline="") as file:
        kept = [one for one in rows[0] if one is not None] if rows else []
        writer = csv.writer(file)
        writer.writerow([names.get(one, one) for one in kept])
        writer.writerows([row[one] for one in kept] for row in rows)
    whole.replace(path)
    task = jobs.task_named("import_file").using(source=source, file=path, actor="jobtrail demo")
    return task.enqueue(table=TABLE)


def _answer(job: Job, detail: dict[str, Any]) -> list[str]:
    """As somebody would who knows the source: what is proposed, corrected where it is not right. The corrected fields."""
    there = {column["name"] for column in detail["columns"]}
    wanted = [target["name"] for target in detail["targets"]]
    right = {name: OF_THE_REGISTRY[name] for name in wanted if OF_THE_REGISTRY.get(name) in there}
    job.answer(right, actor=ADMINISTRATOR, reason="as the registry's own description has it")
    return [name for name in wanted if detail["proposal"].get(name) != right.get(name)]


def _wait(job: Job, also: tuple[Status, ...]) -> None:
    """Another process may have taken it."""
    end = time.monotonic() + WAIT_AT_MOST
    while job.refresh().status not in (*FINAL, *also):
        if time.monotonic() > end:
            message = f"job {job.id} is still {job.status} after {WAIT_AT_MOST:g} s"
            raise ResultTimeout(message)
        time.sleep(0.05)


def _show(console: Console, first: Job, corrected: list[str], told: dict[str, int]) -> None:
    if console.quiet:
        return
    asked = first.questions()[-1] if first.questions() else None
    if asked is not None:
        detail = json.loads(asked.detail or "{}")
        found = ", ".join(f"{name} ← {column}" for name, column in detail["proposal"].items() if column)
        answer = json.loads(asked.answer or "{}")
        added = ", ".join(f"{name} ← {answer[name]}" for name in corrected)
        console.print(Text(f"\nA delivery with column names of its own: {asked.text}"))
        console.print(Text(f"Proposed: {found}. Corrected by {asked.actor}: {added or 'nothing'}."))
    console.print(
        f"The next delivery of this source asks nothing, because the answer is remembered. {told['items']:,} rows came in, "
        f"{told['completed']} of {told['jobs']} jobs are complete."
    )
