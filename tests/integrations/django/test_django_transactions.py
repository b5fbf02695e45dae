"""`using(connection="default")`: the job shares the fate of Django's transaction, savepoints included."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.both_databases


def test_the_job_is_part_of_the_transaction(shop):
    shop.python("""
seen = []
with transaction.atomic():
    Order.objects.create(name="kept")
    job = count.using(connection="default", labels={"way": "kept"}).enqueue()
    assert job.created
    from threading import Thread
    look = Thread(target=lambda: seen.append(states())); look.start(); look.join()
    with transaction.atomic():
        Order.objects.create(name="inner"); count.using(connection=connection).enqueue()
    try:
        with transaction.atomic():
            count.using(connection=connections["default"]).enqueue()
            raise KeyError
    except KeyError: pass
assert seen == [[]], seen
assert len(states()) == 2, states()
assert Order.objects.count() == 2
try:
    with transaction.atomic():
        count.using(connection=connection, source="s", period="2013-02").enqueue()
        raise KeyError
except KeyError: pass
assert len(states()) == 2, "rolled back, and the unit is free again"
same = [count.using(connection=connection, source="s", period="2013-02").enqueue() for _ in range(2)]
assert [one.created for one in same] == [True, False] and same[0].id == same[1].id, "without a transaction: one of its own"
drain(jobs)
assert states() == [("count", "completed")] * 3, states()
""")


def test_async_views_submit_in_the_thread_of_djangos_connections(shop):
    shop.python("""
import asyncio
from asgiref.sync import sync_to_async
def both():
    with transaction.atomic():
        count.using(connection="default").enqueue()
async def view():
    await acount.using(connection="default").aenqueue()
    await sync_to_async(both)()
asyncio.run(view())
drain(jobs)
assert states() == [("acount", "completed"), ("count", "completed")], states()
""")


def test_what_cannot_carry_the_job_is_refused_by_a_sentence(shop):
    shop.python("""
from jobtrail import InvalidOption
for given, words in (("other", "another database"), ("nothing", "DATABASES has no nothing")):
    try: count.using(connection=given).enqueue()
    except InvalidOption as error: assert words in str(error), str(error)
    else: raise SystemExit(f"{given} was taken")
assert states() == []
""")


def test_a_worker_is_woken_by_the_commit(shop):
    shop.python("""
import asyncio, time
async def main():
    async with jobs.running() as running:
        def submit():
            with transaction.atomic():
                return count.using(connection="default").enqueue()
        from asgiref.sync import sync_to_async
        await asyncio.sleep(0.5)
        job = await sync_to_async(submit)()
        assert await job.aresult(timeout=20) == 0
object.__setattr__(jobs.settings, "poll_interval", 30.0); jobs.service.settings = jobs.settings
asyncio.run(main())
""")
