"""Jobs report for their module: ``@jobs.task(module="parser")``."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from jobtrail.job.masking import mask_text
from jobtrail.plugins.running import application
from jobtrail.worker.middleware import outcome_word

if TYPE_CHECKING:
    from jobtrail.worker.run import Run

EVERY = 10.0  # seconds between two beats while a job runs
MESSAGE = 300  # characters of an error
_log = logging.getLogger("jobtrail.office")


async def report_activity(run: Run, call_next: Callable[[Run], Awaitable[Any]]) -> Any:
    """Beat for the module of a task at the start of a run, while it goes on, and at its end.

    A run that succeeds, in part or whole, reports ``ok``; one that fails reports ``warning`` with its error, which stands
    until a run succeeds. Whatever becomes of a beat, the job goes on.
    """
    module = run.task.options.get("module")
    if module is None:
        return await call_next(run)
    office = application().office
    began = time.monotonic()
    await _beat(office, module)
    beside = asyncio.create_task(_keep_beating(office, module))
    try:
        value = await call_next(run)
    except BaseException as error:
        beside.cancel()
        await _beat(office, module, **_ended(run, error, time.monotonic() - began))
        raise
    beside.cancel()
    await _beat(office, module, **_ended(run, None, time.monotonic() - began))
    return value


def _ended(run: Run, error: BaseException | None, seconds: float) -> dict[str, Any]:
    word = outcome_word(run, error)
    said: dict[str, Any] = {"numbers": {"seconds": round(seconds, 3)}}
    if word in {"success", "partial"}:
        said["status"] = "ok"
    elif word == "error":
        text = mask_text(f"{type(error).__name__}: {error}")
        said.update(status="warning", message=text[:MESSAGE])
    return said


async def _keep_beating(office: Any, module: str) -> None:
    while True:
        await asyncio.sleep(EVERY)
        await _beat(office, module)


async def _beat(office: Any, module: str, **said: Any) -> None:
    try:
        await asyncio.shield(asyncio.to_thread(partial(office.beat, module, **said)))
    except Exception as error:
        with contextlib.suppress(Exception):
            _log.warning("%s: %s", module, error)
