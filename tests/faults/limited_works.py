"""The application of `test_limits`: jobs of three keys that share limits. With FAULTS_MACHINE its workers are on a machine of their own."""

from __future__ import annotations

import asyncio
import os

from works import note

from jobtrail import AsyncContext, JobTrail, Limit
from jobtrail.recovery import upkeep
from jobtrail.store import workers

if machine := os.environ.get("FAULTS_MACHINE"):
    workers.boot_id = upkeep.boot_id = lambda: machine

RUNNING, RATE, PER = 3, int(os.environ.get("FAULTS_RATE", "25")), 1.0
jobs = JobTrail(migrate=True)


@jobs.task(limits=[Limit("key:{key}", running=RUNNING), Limit("rate:{key}", rate=RATE, per=PER)])
async def limited(ctx: AsyncContext, *, key: str) -> None:
    note("start", ctx, key=key)
    await asyncio.sleep(0.02)
    note("end", ctx, key=key)
