"""A job that leaves nothing but its result is two statements on PostgreSQL, and says the same as any other."""

from __future__ import annotations

from threading import Event

import pytest
from handing import Hosted
from sqlalchemy import event, func, select
from trails import names, until

from jobtrail import Limit
from jobtrail.database.tables import end_totals
from jobtrail.job import transitions
from jobtrail.job.model import Status, new_id
from jobtrail.job.transitions import Subject
from jobtrail.store.tracked import plain_end, ticket_claim
from jobtrail.store.tracked.hand_over import Refusal
from jobtrail.store.tracked.ticket_claim import TicketClaim

pytestmark = [pytest.mark.timeout(60), pytest.mark.both_databases]
WRITES = ("INSERT", "UPDATE", "WITH", "DELETE")


def counted(hosted: Hosted) -> dict[str, int]:
    """How many ends are counted, by level."""
    query = select(end_totals.c.level, func.sum(end_totals.c.jobs)).group_by(end_totals.c.level)
    with hosted.jobs.store.read() as conn:
        return {level: int(number) for level, number in conn.execute(query)}


def run(hosted: Hosted, job) -> None:
    found = hosted.bring(job.id)
    until("the ticket has an answer", lambda: found)
    assert found[0].begun


def test_its_writes(hosted: Hosted) -> None:
    task = hosted.jobs.task(name="work")(lambda: 7)
    first, second = task.enqueue(), task.using(source="weather/EWR").enqueue()
    run(hosted.start(), first)
    said: list[str] = []
    engine = hosted.jobs.store.database.engine
    event.listen(engine, "before_cursor_execute", lambda *given: said.append(given[2].strip()))
    run(hosted, second)
    if engine.dialect.name == "postgresql":
        mine = [one for one in said if one.startswith(WRITES) and "jobtrail_workers" not in one]
        assert [one.split("(")[0].split()[:3] for one in mine] == [["WITH", "begun", "AS"], ["WITH", "ended", "AS"]]
    assert second.refresh().result() == 7
    assert names(second) == ["begun_by"]
    assert [job.id for job in hosted.jobs.find("source:weather/EWR")] == [second.id]
    assert counted(hosted) == {"all": 2, "queue": 2, "task": 2, "source": 1}


def test_what_another_job_waits_for(hosted: Hosted) -> None:
    after = hosted.jobs.task(name="after")(lambda: None)
    task = hosted.jobs.task(name="work")(lambda: None)
    job = task.then(after).enqueue()
    run(hosted.start(), job)
    until("its successor is due", lambda: [one.status for one in hosted.jobs.find("task:after")] == ["pending"])
    assert counted(hosted)["all"] == 1


def test_a_ticket_whose_job_has_a_limit(hosted: Hosted) -> None:
    one = Limit("one", running=1)
    held, free = Event(), Event()

    def body(first: bool) -> None:
        held.set()
        if first:
            free.wait(20)

    task = hosted.jobs.task(name="work", limits=[one])(body)
    first, second = task.enqueue(first=True), task.enqueue(first=False)
    found = hosted.start().bring(first.id)
    until("it runs", held.is_set)
    refused = hosted.bring(second.id)
    until("the ticket has an answer", lambda: refused)
    assert refused[0].refused is Refusal.LIMIT
    free.set()
    until("the ticket has an answer", lambda: found)
    run(hosted, second)
    assert counted(hosted)["all"] == 2


@pytest.mark.parametrize("what", ["asked to stop", "a newer run", "followed"])
def test_what_is_no_plain_end_is_not_written_at_once(hosted: Hosted, what: str) -> None:
    store = hosted.jobs.store
    job = hosted.jobs.task(name="work")(lambda: None).enqueue()
    with store.read() as conn:
        if conn.dialect.name != "postgresql":
            pytest.skip("SQLite writes ends in one way")
    ticket = TicketClaim(job.id, 1, new_id(), "box")
    claim = store.write(lambda conn: ticket_claim.claim(conn, store.dialect, ticket, store.now()))
    about = ("work", "default", None, claim.due_at, claim.started_at)
    subject = Subject(id=job.id, run_no=1, attempt=1, started_at=claim.started_at, about=about)
    move = transitions.finished(subject, store.now(), Status.COMPLETED)
    assert plain_end.is_plain(move)
    column, value = {
        "asked to stop": ("stop_cause", "'cancel'"),
        "a newer run": ("run_no", "2"),
        "followed": ("followed", "true"),
    }[what]
    store.write(lambda conn: conn.exec_driver_sql(f"UPDATE jobtrail_jobs SET {column} = {value} WHERE id = '{job.id}'"))
    assert not store.write(lambda conn: plain_end.write(conn, move))
    assert counted(hosted) == {}
    assert job.refresh().status == "running"
