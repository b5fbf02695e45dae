"""Deletion of ended jobs: nothing that tells of them stays, what is needed stays with its reason, the audit tells who and how many."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select
from trails import actions

from jobtrail import Conflict, Context, InvalidFilter, InvalidOption, Limit, PermanentError, Retry
from jobtrail.commands.history import delete as deletion
from jobtrail.commands.uploads import Incoming, find
from jobtrail.database import tables
from jobtrail.testing import drain

pytestmark = pytest.mark.both_databases
ANN = "ann-4711"


@pytest.fixture
def load(jobs):
    @jobs.task(limits=[Limit("customer:{who}", rate=100, per=3600), Limit("all", rate=1000, per=3600)])
    def load(ctx: Context, *, who: str = "", bad: int = 0, asks: bool = False) -> dict:
        """Everything that can hang on a job, each with the name of a person."""
        ctx.log.info("loading %s", who)
        ctx.set_progress(50, f"of {who}")
        ctx.step(f"fetch {who}", lambda: who)
        if asks:
            ctx.ask("column", f"Which column of {who}?", str, remember=True)
        for item in ctx.items([f"{who}/{n}" for n in range(3)], key=str):
            with item:
                if item.value.endswith(tuple(str(n) for n in range(bad))):
                    raise PermanentError(f"no {who}")
        return {"who": who}

    return load


def everything(jobs) -> str:
    """All that all tables hold, as one text."""
    with jobs.store.read() as conn:
        return "\n".join(repr(tuple(row)) for table in tables.metadata.sorted_tables for row in conn.execute(select(table)))


def test_nothing_that_names_the_person_stays_and_the_counts_do(jobs, load):
    source = f"crm/{ANN}"
    ann = load.using(source=source, period="2013-02", labels={"customer": ANN}, idempotency_key=ANN, reason=f"for {ANN}", context={"of": ANN})
    first = ann.enqueue(who=ANN, bad=1)
    drain(jobs)
    first.rerun("failed_items")
    load.using(labels={"customer": ANN}).then(load, {"who": ANN}).enqueue(who=ANN)
    load.using(source="crm/bob", period="2013-02").enqueue(who="bob")
    jobs.group([(load.using(labels={"customer": ANN}), {"who": ANN})], name=ANN)
    asking = load.using(source=source, labels={"customer": ANN}).enqueue(who=ANN, asks=True)
    drain(jobs)
    asking.refresh().answer(ANN)
    drain(jobs)
    done = jobs.delete(f"label:customer={ANN}", actor="person:dpo", reason="request 17", conceal_filter=True)
    assert (done.jobs, done.skipped) == (6, ()), "the follower and the re-run have the label too"
    assert ANN not in everything(jobs)
    assert "bob" in everything(jobs)
    with jobs.store.read() as conn:
        counted = conn.execute(select(tables.end_totals.c.jobs).where(tables.end_totals.c.level == "all")).scalars().all()
        kept = conn.execute(select(tables.job_totals.c.jobs)).scalars().all()
    assert sum(counted) == 7
    assert sum(kept) == 6
    assert [job.source for job in jobs.find()] == ["crm/bob"]


def test_the_audit_tells_who_why_which_filter_and_how_many_once(jobs, load, monkeypatch):
    monkeypatch.setattr(deletion, "CHUNK", 2)
    load.using(labels={"customer": ANN}).enqueue()
    for _ in range(4):
        load.using(labels={"customer": ANN}).enqueue()
    drain(jobs)
    jobs.delete(f"label:customer={ANN}", actor="person:dpo", reason="request 17")
    (told,) = actions(jobs, "jobs_deleted")
    assert (told["actor"], told["reason"]) == ("person:dpo", "request 17")
    assert told["detail"] == {"filter": f"label:customer={ANN}", "jobs": 5}
    assert jobs.delete(f"label:customer={ANN}").jobs == 0
    assert len(actions(jobs, "jobs_deleted")) == 1


def reasons(done) -> dict[str, str]:
    return {one.example: one.reason for one in done.skipped}


def test_what_is_active_or_needed_by_something_active_stays_with_its_reason(jobs, load):
    free = load.enqueue()
    held = load.using(source="s", period="2013-01").enqueue(bad=1)
    group = jobs.group([(load, {}), (load.using(delay=3600), {})])
    drain(jobs)
    rerun = held.rerun("failed_items")
    in_group, waiting = sorted(group.jobs(), key=lambda job: job.active)
    done = jobs.delete("task:load")
    told = {one.reason: one.jobs for one in done.skipped}
    assert (done.jobs, told) == (1, {"an active job needs it": 1, "its group has not ended": 1, "is pending": 2})
    assert {job.id for job in jobs.find()} == {held.id, rerun.id, in_group.id, waiting.id}
    assert free.id not in {job.id for job in jobs.find()}
    drain(jobs)
    waiting.cancel()
    assert jobs.delete("task:load").jobs == 4


def test_a_job_that_ran_again_since_it_was_shown_stays(jobs, load):
    one = load.using(retry=Retry(attempts=1)).enqueue(bad=1)
    drain(jobs)
    shown = jobs.delete("task:load", dry_run=True)
    assert (shown.jobs, len(jobs.find())) == (1, 1)
    one.retry()
    drain(jobs)
    with pytest.raises(Conflict, match="has changed since it was shown"):
        jobs.delete("task:load", digest=shown.digest)
    again = jobs.delete("task:load", dry_run=True)
    assert jobs.delete("task:load", digest=again.digest).jobs == 1


def test_an_empty_filter_is_refused(jobs):
    for wrong, error in (("", InvalidOption), ("  ", InvalidOption), ("colour:red", InvalidFilter)):
        with pytest.raises(error):
            jobs.delete(wrong)


def test_a_unit_of_which_other_jobs_are_left_keeps_its_truth(jobs, load):
    old = load.using(source="s", period="2013-01", labels={"go": "yes"}).enqueue(bad=1)
    drain(jobs)
    new = old.rerun("full")
    drain(jobs)
    jobs.delete(f"id:{old.id}")
    with jobs.store.read() as conn:
        row = conn.execute(select(tables.units)).one()
        generations = set(conn.execute(select(tables.items.c.generation)).scalars())
    assert (row.job_id, row.generation, row.outcome) == (new.id, new.id, "partial")
    assert generations == {new.id}
    jobs.delete(f"id:{new.id}")
    with jobs.store.read() as conn:
        assert conn.execute(select(tables.units)).all() == []
        assert conn.execute(select(tables.items)).all() == []


def test_an_uploaded_file_goes_with_its_job_unless_another_job_has_it(make_jobs, tmp_path):
    jobs = make_jobs(upload_folder=tmp_path / "uploads")

    @jobs.task
    def read(ctx: Context) -> int:
        return len(Path(ctx.file.path).read_text())

    incoming = Incoming(Path(jobs.settings.upload_folder), "ann.csv", 100)
    incoming.write(ANN.encode())
    upload = incoming.finish()
    file = find(Path(jobs.settings.upload_folder), upload.id)
    one = read.using(file=file).enqueue()
    drain(jobs)
    two = one.rerun("full")
    drain(jobs)
    jobs.delete(f"id:{one.id}")
    assert Path(file.path).exists()
    jobs.delete(f"id:{two.id}")
    assert not Path(file.path).parent.exists()


def test_a_function_that_is_called_before_a_removal_keeps_the_chunk(jobs, load):
    load.enqueue()
    drain(jobs)
    seen = []

    @jobs.before_removal
    def refuse(removal):
        seen.append((len(removal.ids), removal.cause))
        raise ValueError("the archive is away")

    done = jobs.delete("task:load")
    assert (done.jobs, seen) == (0, [(1, "deleted")])
    assert "the archive is away" in done.skipped[0].reason
    assert len(jobs.find()) == 1


def test_a_job_that_is_submitted_while_its_unit_goes_has_a_unit(jobs, load):
    from jobtrail.store.removal.deletion import restore_units

    load.using(source="s", period="2013-01").enqueue()
    drain(jobs)
    with jobs.store.read() as conn:
        gone = [dict(row._mapping) for row in conn.execute(select(tables.units))]
    jobs.delete("task:load")
    again = load.using(source="s", period="2013-01").enqueue()
    jobs.store.write(lambda conn: conn.execute(tables.units.delete()))
    jobs.store.write(lambda conn: restore_units(conn, gone))
    drain(jobs)
    with jobs.store.read() as conn:
        row = conn.execute(select(tables.units)).one()
    assert (row.job_id, row.outcome) == (again.id, "success")
