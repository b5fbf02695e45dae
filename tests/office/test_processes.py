"""Three processes report, look, pause and remove at random: the history of each module is one chain."""

from __future__ import annotations

from contextlib import closing

import pytest
from sqlalchemy import select
from together import together

from jobtrail.office.tables import module_status, status_history
from jobtrail.store import Store

pytestmark = [pytest.mark.both_databases, pytest.mark.long]

PROGRAM = """
import contextlib, random, sys, threading, time

from jobtrail import JobTrail
from jobtrail.errors import NotFound
from jobtrail.office import Office

url, seed = sys.argv[1:]
jobs, chance = JobTrail(url, plugins=[Office(warn_after=1, error_after=2, recovery_beats=2)]), random.Random(seed)
jobs.office.sync()
print("ready", flush=True)
sys.stdin.readline()
end, failures = time.monotonic() + 8, []

def look():
    while time.monotonic() < end:
        try:
            jobs.office.turn()
        except Exception as error:
            failures.append(repr(error))
        time.sleep(0.05)

looks = threading.Thread(target=look)
looks.start()
while time.monotonic() < end:
    name, what = f"m{chance.randrange(60)}", chance.random()
    try:
        with contextlib.suppress(NotFound):
            if what < 0.01:
                jobs.office.pause(name)
            elif what < 0.05:
                jobs.office.resume(name)
            elif what < 0.055:
                jobs.office.remove(name)
            elif what < 0.06:
                jobs.office.set_limits(name, warn_after=chance.choice([1, 1.5]))
            else:
                jobs.office.beat(name, status=chance.choice([None] * 8 + ["ok", "warning", "error"]), rows=1)
    except Exception as error:
        failures.append(repr(error))
    time.sleep(0.005 * chance.random())
looks.join()
jobs.close()
print(failures)
"""


def test_the_history_of_each_module_is_one_chain(office_url):
    answers = together(PROGRAM, *[[office_url, str(number)] for number in range(3)])
    assert [answer.splitlines()[-1] for answer in answers] == ["[]"] * 3
    with closing(Store(office_url)) as store, store.read() as conn:
        rows = conn.execute(select(status_history).order_by(status_history.c.module, status_history.c.id)).all()
        now = dict(conn.execute(select(module_status.c.module, module_status.c.status)).all())
    assert len(rows) > 100
    last: dict[str, str] = {}
    for row in rows:
        was = row._mapping["from"]
        assert last.get(row.module) in ({None, "removed"} if was is None else {was}), row
        last[row.module] = row.to
    assert {name: last[name] for name in now} == now
