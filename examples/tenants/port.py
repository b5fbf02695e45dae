"""The port: import the old table, work on, delete one person's data, export everything. Run: ``python -m examples.tenants.port DIR``."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from . import old_system
from .tasks import make_jobs

if TYPE_CHECKING:
    from jobtrail import JobTrail

GONE = 17  # the customer who asks for it


async def work(jobs: JobTrail) -> None:
    """Submit new loads and calls, and run them."""
    load, call = jobs.task_named("load_orders"), jobs.task_named("call_partner")
    for customer in (GONE, 1, 2, 3, 4, 5, 6, 7):
        tenant = old_system.tenant_of(customer)
        labels = {"tenant": tenant, "customer": str(customer)}
        args = {"tenant": tenant, "customer": customer, "name": old_system.name_of(customer)}
        load.using(source=tenant, labels=labels).enqueue(**args)
    call.enqueue_many([{"tenant": old_system.TENANTS[number % 3]} for number in range(12)])
    await jobs.worker().run(burst=True)  # until no job waits any more


def main(folder: Path) -> None:
    """Do all of it, and print what came of it."""
    old_system.make(folder / "old.db")
    jobs = make_jobs(f"sqlite:///{folder / 'jobs.db'}")
    imported = jobs.import_ended(old_system.records(folder / "old.db"), actor="person:ann", reason="leaving the old table")
    again = jobs.import_ended(old_system.records(folder / "old.db"))
    print(f"imported: {imported.jobs} jobs; a second time: {again.jobs}")
    asyncio.run(work(jobs))
    starts = [job.started_at for job in jobs.each("task:call_partner") if job.started_at is not None]
    most = max(sum(one <= other < one + timedelta(seconds=1) for other in starts) for one in starts)
    print(f"loads of a tenant at once: {jobs.state.watch.most_of_a_tenant}; calls in a second: {most} of {len(starts)}")
    person = f"label:customer={GONE}"
    shown = jobs.delete(person, dry_run=True)
    deleted = jobs.delete(person, digest=shown.digest, actor="person:ann", reason="request 17", conceal_filter=True)
    print(f"deleted: {deleted.jobs} jobs of customer {GONE}")
    with (folder / "all.jsonl").open("w", encoding="utf-8") as out:
        number = 0
        for record in jobs.export():
            out.write(json.dumps(record) + "\n")
            number += 1
    left = old_system.name_of(GONE) in (folder / "all.jsonl").read_text(encoding="utf-8")
    print(f"exported: {number} jobs; the person's name in it: {'yes' if left else 'no'}")
    jobs.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
