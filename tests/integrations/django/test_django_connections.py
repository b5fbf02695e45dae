"""Task functions run with Django's care for its connections: what the server has ended is not used again."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.both_databases
END_ALL = """
def end_all():
    if connection.vendor == "postgresql":
        import psycopg
        address = jobs.store.database.url.set(drivername="postgresql").render_as_string(hide_password=False)
        theirs = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        with psycopg.connect(address, autocommit=True) as conn:
            assert conn.execute("SELECT count(pg_terminate_backend(pid)) " + theirs).fetchone()[0] > 0
"""


def test_no_job_fails_after_the_server_ended_all_connections(shop):
    shop.python(f"""{END_ALL}
import asyncio
async def main():
    async with jobs.running(slots=3):
        for turn in range(2):
            made = [await one.aenqueue() for one in (count, acount, count_in_child)]
            assert [await one.aresult(timeout=40) for one in made] == [0] * 3
            await asyncio.to_thread(end_all)
asyncio.run(main())
assert {{status for _, status in states()}} == {{"completed"}}, states()
assert all(job.attempt == 1 for job in jobs.find()), "no attempt failed on the way"
""")


def test_without_the_care_the_next_job_fails(shop):
    """The control of the test above: it would notice."""
    if not shop.url.startswith("postgresql"):
        pytest.skip("SQLite has no sessions that a server ends")
    shop.python(f"""{END_ALL}
from dataclasses import replace
jobs.service.hooks = replace(jobs.service.hooks, around_body=None)
import asyncio
async def main():
    async with jobs.running(slots=1):
        await (await count.aenqueue()).aresult(timeout=30)
        await asyncio.to_thread(end_all)
        job = await count.aenqueue()
        while not str((await job.arefresh()).status) in ("failed", "completed"): await asyncio.sleep(0.05)
        assert str(job.status) == "failed"
asyncio.run(main())
""")
