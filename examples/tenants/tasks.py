"""The tasks: one load of a tenant at a time, five calls a second to the partner, over all workers."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

from jobtrail import Context, JobTrail, Limit


@dataclass
class Watch:
    """What really happened, to be compared with what was promised."""

    most_of_a_tenant: int = 0
    _running: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def enter(self, tenant: str) -> None:
        """A load of this tenant begins."""
        with self._lock:
            self._running[tenant] += 1
            self.most_of_a_tenant = max(self.most_of_a_tenant, self._running[tenant])

    def leave(self, tenant: str) -> None:
        """A load of this tenant ends."""
        with self._lock:
            self._running[tenant] -= 1


def make_jobs(url: str) -> JobTrail:
    """The application over a database."""
    jobs = JobTrail(url, poll_interval=0.1)
    watch = jobs.state.watch = Watch()

    @jobs.task(kind="sync", limits=[Limit("tenant:{tenant}", running=1)], keep_failed=365)
    def load_orders(ctx: Context, *, tenant: str, customer: int, name: str) -> dict[str, int]:
        """Load the orders of a customer."""
        ctx.log.info("loading the orders of %s, customer %s", name, customer)
        watch.enter(tenant)
        try:
            for item in ctx.items([f"order {number}" for number in range(3)], key=str):
                with item:
                    time.sleep(0.01)
        finally:
            watch.leave(tenant)
        return {"orders": 3}

    @jobs.task(limits=[Limit("partner-api", rate=5, per=1)])
    def call_partner(*, tenant: str) -> str:
        """Tell the partner, who allows five calls a second."""
        return f"{tenant} told"

    return jobs
