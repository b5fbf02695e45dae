"""Beside a real worker: the loop finds the due ones by itself, and the task that tells runs."""

from __future__ import annotations

from contextlib import closing

from trails import until

from jobtrail import JobTrail
from jobtrail.office import Office


async def test_a_silent_module_is_found_beside_a_worker(office_url):
    import asyncio

    with closing(JobTrail(office_url, plugins=[Office(warn_after=1, error_after=5)], poll_interval=0.1)) as jobs:
        async with jobs.running():
            await asyncio.to_thread(jobs.office.beat, "parser")

            def status(wanted):
                return lambda: jobs.office.get("parser").module.status == wanted

            await asyncio.to_thread(until, "the module is in error", status("error"), timeout=30)
            await asyncio.to_thread(
                until, "the task has run", lambda: [job.status for job in jobs.find("task:office_notify_errors")] == ["completed"], timeout=30
            )
            await asyncio.to_thread(jobs.office.beat, "parser")
            assert jobs.office.get("parser").module.status == "ok"
        moves = [(line.was, line.to) for line in reversed(jobs.office.history("parser"))]
        assert moves == [(None, "new"), ("new", "ok"), ("ok", "warning"), ("warning", "error"), ("error", "ok")]
        jobs.office.close()
