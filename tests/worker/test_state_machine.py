"""The store and the moves under any order of events: nothing runs twice, nothing is lost, trail and row agree."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import select

from jobtrail import AlreadyActive, Conflict, IllegalMove, JobTrail, Retry
from jobtrail.commands.job_fields import stored_row
from jobtrail.commands.job_handle import Job
from jobtrail.commands.submit import successor
from jobtrail.commands.using import NOTHING, Predecessor, SuccessorRequest
from jobtrail.database.tables import events as event_table
from jobtrail.database.tables import groups as group_table
from jobtrail.database.tables import jobs as job_table
from jobtrail.database.tables import metadata
from jobtrail.database.tables import questions as question_table
from jobtrail.database.tables import successors as successor_table
from jobtrail.job import outcome as ends
from jobtrail.job import transitions
from jobtrail.job.model import FINAL, OUTCOME_OF, Claim, Outcome, Status, StopCause, new_id
from jobtrail.job.questions.question import make_question
from jobtrail.job.successor import END_OF, Successor
from jobtrail.job.transitions import Subject
from jobtrail.recovery.upkeep import Upkeep
from jobtrail.store import jobs as store_jobs
from jobtrail.store import runs, successors, workers
from jobtrail.store.events import _read as read_events
from jobtrail.testing import MovableClock

POLICY = Retry(attempts=3, wait=10)
HELD = {Status.RUNNING, Status.CANCELLING}
ASKING = {Status.AWAITING_INPUT, Status.AWAITING_MAPPING}
REFUSALS = (AlreadyActive, Conflict, IllegalMove)
FOLLOWS = "returned, and declared what follows"
ENDS = {
    "returned": ends.Returned('"done"'),
    "partial": ends.Returned('"half"', partial=True),
    "raised": ends.Raised('{"message": "e"}', "f", "e", retry=True, delay=10),
    "raised for good": ends.Raised('{"message": "e"}', "f", "e", retry=False, delay=0),
    "snoozed": ends.SnoozeAsked(5, None),
    "put back": ends.NotKnownHere('{"message": "u"}', "u", 5, final=False),
    "handed back": ends.HandedBack("interrupted by shutdown"),
}
number = st.integers(0, 1000)


@dataclass
class Body:
    """A body that is being executed: its claim, the worker that claimed it, and whether that was declared dead wrongly."""

    claim: Claim
    worker: str
    zombie: bool = False


class Handles(dict):
    """Jobs by id; those that came by themselves (successors) are found in the store."""

    def __init__(self, store):
        super().__init__()
        self.store = store

    def __missing__(self, job_id):
        self[job_id] = Job(self.store, job_id)
        return self[job_id]


class Beat:
    def written_within(self, _):
        return True


class Machine(RuleBasedStateMachine):
    """Two workers, programs, persons and upkeep on one store; bodies are played by hand."""

    url = ""
    kept: JobTrail | None = None

    def __init__(self):
        super().__init__()
        if Machine.kept is None:
            Machine.clock = MovableClock()
            Machine.kept = JobTrail(self.url, clock=Machine.clock)
            Machine.kept.service.make_ready()
            for name in ("requeue", "fail", "hold"):
                Machine.kept.task(name=name, on_interrupt=name, retry=POLICY)(lambda: None)
        self.jobs, self.store = Machine.kept, Machine.kept.store
        self.upkeep = Upkeep(self.store, self.jobs.tasks, self.jobs.settings, Beat(), str)
        self.handles, self.bodies, self.before = Handles(self.store), [], {}
        self.answered, self.ended = {}, {}
        self.workers = [self.new_worker(), self.new_worker()]

    def new_worker(self):
        one = new_id()
        self.store.write(lambda c: workers.register(c, self.store.dialect, one, ["default"], 20, self.store.now()))
        return one

    def rows(self):
        with self.store.read() as conn:
            found = conn.execute(select(*store_jobs.columns()).order_by(job_table.c.id))
            return {row.id: row for row in map(store_jobs.read, found)}

    def some(self, index, states=None):
        found = [row.id for row in self.rows().values() if states is None or row.status in states]
        return self.handles[found[index % len(found)]] if found else None

    def apply(self, *given, ledgers=None):
        now = self.store.now()
        return self.store.write(lambda c: store_jobs.apply(c, self.store.dialect, given, now, ledgers=ledgers))

    def add(self, job):
        self.handles.setdefault(job.id, job)

    # -- programs and persons ----------------------------------------------------------------------

    @rule(
        task=st.sampled_from(["requeue", "fail", "hold"]),
        period=st.sampled_from([None, "2013-01", "2013-01", "2013-02"]),
        if_active=st.sampled_from(["same", "raise", "queue"]),
        delay=st.sampled_from([0, 0, 20]),
        then=st.sampled_from([None, None, "success", "failure", "ended", ("partial", "failure")]),
    )
    def submit(self, task, period, if_active, delay, then):
        bound = self.jobs.task_named(task)
        if then:
            bound = bound.then(self.jobs.task_named("requeue"), on=then, period=None)
        if delay:
            bound = bound.using(delay=delay)
        if period:
            bound = bound.using(source="s", period=period, if_active=if_active)
        try:
            self.add(bound.enqueue())
        except AlreadyActive:
            pass

    @precondition(lambda self: self.handles)
    @rule(index=number, what=st.sampled_from(["cancel", "cancel", "retry", "run_now", "full", "failed_items", "resume"]))
    def steer(self, index, what):
        job = self.some(index)
        try:
            if what in {"cancel", "retry", "run_now"}:
                getattr(job, what)(actor="ann")
            else:
                self.add(job.rerun(what, if_active="queue" if index % 2 else "raise"))
        except REFUSALS:
            pass

    @precondition(lambda self: self.bodies)
    @rule(index=number, times=st.integers(1, 2))
    def cancel_what_runs(self, index, times):
        job = self.handles[self.bodies[index % len(self.bodies)].claim.id]
        for _ in range(times):
            if job.refresh().status in HELD:
                job.cancel(actor="ann")

    @rule(size=st.integers(0, 3), on=st.sampled_from(["ended", "success", "failure"]))
    def group(self, size, on):
        task = self.jobs.task_named("requeue")
        self.jobs.group([(task, {})] * size, then=task, on=on)

    @precondition(lambda self: self.handles)
    @rule(index=number, on=st.sampled_from(["ended", "success", "failure"]))
    def attach(self, index, on):
        self.some(index).then(self.jobs.task_named("requeue"), on=on, period=None)

    @precondition(lambda self: self.handles)
    @rule(index=number, value=st.integers(1, 2))
    def answer(self, index, value):
        job = self.some(index)
        asked = job.questions()
        if asked:
            try:
                job.answer(value, actor="ann")
            except REFUSALS:
                assert asked[-1].state != "open" or asked[-1].expires_at <= self.store.now()
            else:
                same = [one for one in asked if one.answer == str(value)]
                assert same or asked[-1].state == "open", "an answer counted that nobody waited for"

    # -- workers -----------------------------------------------------------------------------------

    @rule(which=st.integers(0, 1), limit=st.integers(1, 3))
    def claim(self, which, limit):
        worker = self.workers[which]
        mine = [body for body in self.bodies if body.worker == worker]
        claims, now = [], self.store.now()

        def operation(conn):
            found = []
            if not any(body.claim.suspect for body in mine):
                found += store_jobs.claim_suspect(conn, self.store.dialect, ["default"], worker, now)
            return found + store_jobs.claim(conn, self.store.dialect, "default", limit, worker, now)

        claims = self.store.write(operation)
        living = [body for body in self.bodies if not body.zombie]
        for claim in claims:
            assert claim.id not in {body.claim.id for body in living}, "a second body beside a living one"
            units = {body.claim.unit for body in living} - {None}
            assert claim.unit not in units, "two bodies of one unit"
            living.append(Body(claim, worker))
        assert sum(claim.suspect for claim in claims) <= 1
        self.bodies += [Body(claim, worker) for claim in claims]

    def asking(self, claim):
        limits = [{}, {"expires": 30}, {"expires": 30, "default": 7}][claim.run_no % 3]
        question = make_question(f"q{claim.run_no}", "How many?", int, **limits)
        return ends.Asked({**asdict(question), "digest": question.digest, "generation": claim.ledger})

    def subject(self, body, *, told):
        claim = body.claim
        subject = Subject(
            claim.id, claim.run_no, claim.attempt, unit=claim.unit, max_attempts=claim.max_attempts,
            worker=body.worker, put_backs=claim.put_backs, suspect=claim.suspect,
        )  # fmt: skip
        row = stored_row(self.handles[claim.id].refresh())
        if not told or row.run_no != claim.run_no or row.status is not Status.CANCELLING:
            return subject
        return Subject(**{**vars_of(subject), "stop_cause": row.stop_cause, "stop_noticed": True})

    @precondition(lambda self: self.bodies)
    @rule(index=number, how=st.sampled_from([*ENDS, "asked", "asked", FOLLOWS]), told=st.booleans())
    def end(self, index, how, told):
        body = self.bodies.pop(index % len(self.bodies))
        self.settle(body, how, told=told)

    def settle(self, body, how, *, told):
        """As the worker does: a refused end is decided again by what the row says now."""
        subject, now, claim = self.subject(body, told=told), self.store.now(), body.claim
        ended = self.asking(claim) if how == "asked" else ENDS.get(how, ENDS["returned"])
        move = ends.decide(subject, ended, ends.NO_ITEMS, POLICY, now)
        if how == FOLLOWS and move.settles:
            one = successor(SuccessorRequest(self.jobs.tasks.get("requeue"), NOTHING), Predecessor(), self.jobs.settings)
            move = replace(move, follow=(one.to_plain(),))
        ledgers = {claim.id: (claim.ledger, None)}
        if not self.apply(move, ledgers=ledgers):
            assert not body.zombie or self.handles[claim.id].refresh().run_no == claim.run_no
            return
        row = stored_row(self.handles[claim.id].refresh())
        if row.run_no != claim.run_no:
            return
        if row.body_running:
            assert self.apply(transitions.body_returned(Subject(row.id, row.run_no, status=row.status, unit=row.unit))) == []
        elif row.status is Status.CANCELLING:
            assert self.settle(body, how, told=True) is None

    @precondition(lambda self: self.bodies)
    @rule(index=number, cause=st.sampled_from([StopCause.TIMEOUT, StopCause.STALL]))
    def over_its_limit(self, index, cause):
        body = self.bodies[index % len(self.bodies)]
        self.apply(transitions.stop_requested(self.subject(body, told=False), self.store.now(), cause=cause, actor="engine"))

    @precondition(lambda self: self.bodies)
    @rule(index=number)
    def report(self, index):
        claim = self.bodies[index % len(self.bodies)].claim
        records = runs.Records(claim.id, claim.run_no, claim.ledger, progress=runs.Progress(50.0))
        written = self.store.write(lambda c: runs.write(c, self.store.dialect, records, self.store.now()))
        row = stored_row(self.handles[claim.id].refresh())
        assert written is (row.run_no == claim.run_no and row.status in HELD), "an old run's reports are refused"

    @rule(which=st.integers(0, 1), truly=st.booleans())
    def declared_dead(self, which, truly):
        """Killed, or taken for dead wrongly: then its bodies go on, and the process has a new identity."""
        gone = self.workers[which]
        self.store.write(lambda c: workers.mark_dead(c, gone, "gone", self.store.now()))
        self.workers[which] = self.new_worker()
        if truly:
            self.bodies = [body for body in self.bodies if body.worker != gone]
        for body in self.bodies:
            body.zombie = body.zombie or body.worker == gone

    @rule()
    def sweep(self):
        assert self.upkeep.run_once(0.0).skipped == 0

    @rule(seconds=st.sampled_from([1, 15, 61, 7200, -7200]))
    def clock_jumps(self, seconds):
        Machine.clock.move(seconds=seconds)

    # -- what always holds ---------------------------------------------------------------------------

    @invariant()
    def rows_and_trail_agree(self):
        rows = self.rows()
        with self.store.read() as conn:
            trail = read_events(conn.execute(select(event_table).order_by(event_table.c.id)))
        self.questions_belong_to_who_waits(rows)
        self.each_successor_comes_once(rows)
        for row in rows.values():
            check_row(row, rows, self.before.get(row.id))
            check_trail(row, [event for event in trail if event.job_id == row.id])
        locks = [row.unit_lock for row in rows.values() if row.unit_lock]
        assert len(locks) == len(set(locks))
        assert set(self.before) <= set(rows), "a job is gone"
        self.before = rows

    def questions_belong_to_who_waits(self, rows):
        with self.store.read() as conn:
            asked = conn.execute(select(question_table)).all()
        waiting = Counter(one.job_id for one in asked if one.state == "open")
        assert waiting == {row.id: 1 for row in rows.values() if row.status in ASKING}
        for one in asked:
            if one.state != "open":
                assert self.answered.setdefault(one.id, (one.state, one.answer)) == (one.state, one.answer)

    def each_successor_comes_once(self, rows):
        with self.store.read() as conn:
            declared = conn.execute(select(successor_table)).all()
            over = {row.id: row.finished_at is not None for row in conn.execute(select(group_table))}
        for row in rows.values():
            if row.status in END_OF:
                self.ended.setdefault(row.id, set()).add(END_OF[row.status])
        for one in declared:
            wants = set(Successor.from_json(one.template).ends)
            if one.after is None:
                assert over[one.group_id] is (one.state != "waiting")
            elif one.state == "submitted":
                assert wants & self.ended.get(one.after, set()), "it came after an end that it does not want"
            else:
                left = rows[one.after]
                assert END_OF.get(left.status) not in wants, "its end has been, and it has not come"
                assert left.status not in FINAL or one.state == "skipped"
            assert (one.id in rows) is (one.state == "submitted"), "a successor is its own job"
        assert len({one.job_id for one in declared if one.job_id}) == sum(one.job_id is not None for one in declared)

    @invariant()
    def what_runs_is_known_to_its_worker(self):
        held = {(body.claim.id, body.claim.run_no) for body in self.bodies if not body.zombie}
        for row in self.before.values():
            if row.status in HELD and row.worker in self.workers:
                assert (row.id, row.run_no) in held, f"{row.id} is {row.status} and nobody runs it"

    def teardown(self):
        """Whatever happened, everything can be brought to an end, and then no unit is taken."""
        try:
            for body in self.bodies:
                self.settle(body, "returned", told=True)
            self.bodies = []
            for _ in range(60):
                active = [row for row in self.rows().values() if row.status not in FINAL]
                if not active:
                    break
                self.bring_on(active)
            assert all(one["outcome"] for one in self.all_groups()), "a group waits for ever"
            left = [(str(row.status), row.run_at, row.waits_for) for row in self.rows().values() if row.status not in FINAL]
            assert not left, f"out of reach: {left}"
            self.sweep()
            assert not [row.id for row in self.rows().values() if row.unit_lock or row.body_running]
            self.rows_and_trail_agree()
        finally:
            names = ", ".join(metadata.tables)
            clean = "; ".join(f"DELETE FROM {name}" for name in metadata.tables)
            with self.store.database.connect() as conn:
                for statement in clean.split("; ") if names else ():
                    conn.exec_driver_sql(statement)

    def all_groups(self):
        with self.store.read() as conn:
            return [successors.group_of(conn, row.id) for row in conn.execute(select(group_table.c.id))]

    def bring_on(self, active):
        Machine.clock.move(hours=3)
        self.sweep()
        for row in active:
            if row.status is Status.INTERRUPTED:
                self.handles[row.id].retry(actor="ann")
            elif self.handles[row.id].refresh().status in ASKING:
                self.handles[row.id].answer(1, actor="ann")
        self.claim(0, 100)
        for body in self.bodies:
            self.settle(body, "returned", told=True)
        self.bodies = []


def vars_of(subject):
    return {name: getattr(subject, name) for name in Subject.__slots__}


def check_row(row, rows, before):
    """What must be true of a job's columns, whatever happened."""
    active = row.status not in FINAL
    assert 0 <= row.attempt <= row.run_no
    assert (row.finished_at is None) is active
    assert row.outcome == (OUTCOME_OF.get(row.status) if not active else None)
    assert row.strikes <= 3
    assert not row.body_running or row.status in {Status.FAILED, Status.CANCELLED}
    if row.unit is not None and row.waits_for is None:
        assert row.unit_lock == (row.unit if active or row.body_running else None), f"{row.status}"
    else:
        assert row.unit_lock is None
    if row.status is Status.PENDING:
        assert (row.run_at is None) is (row.waits_for is not None), "due at some time, or behind a job"
        if row.waits_for is not None:
            ahead = rows[row.waits_for]
            assert ahead.status not in FINAL or ahead.body_running, f"it waits for ever, behind {ahead.status}"
    if row.status in HELD:
        assert row.worker is not None
        assert row.started_at is not None
    if row.status is Status.CANCELLING:
        assert row.stop_cause is not None
        assert row.stop_at is not None
    if row.status is Status.FAILED:
        assert row.error is not None, "it failed and nobody knows why"
    if before is not None:
        assert row.run_no >= before.run_no
        if before.status is Status.COMPLETED:
            assert replace(row, followed=before.followed) == before, "what is completed changes no more"
            assert row.outcome is Outcome.SUCCESS


def check_trail(row, trail):
    """The lines, one after the other, are a path through the table of transitions, from pending to the row's state."""
    at = "pending"
    for event in trail:
        if event.to_status is None or event.name == "refused":
            continue
        left = event.from_status
        if at == "pending" and left == "running":
            at = "running"  # a claim has no line
        assert left == at, f"'{event.name}' left {left}, but the trail stood at {at}"
        sources, targets = transitions.TABLE[event.name]
        assert left in sources, f"'{event.name}' may not leave {left}"
        assert event.to_status in targets, f"'{event.name}' may not lead to {event.to_status}"
        at = event.to_status
    if row.status is Status.COMPLETED and at in {"pending", "running"}:
        return  # a success that nobody had asked to stop has no line
    assert row.status == at or (at, row.status) == ("pending", "running"), f"the trail ends at {at}, the row at {row.status}"


def play(url, *, examples, steps, derandomize):
    """Run the machine on one database."""
    Machine.url, Machine.kept = url, None
    options = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=derandomize,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(Machine, settings=options)
    finally:
        if Machine.kept is not None:
            with closing(Machine.kept):
                Machine.kept = None


def test_any_order_of_events_on_sqlite(sqlite_url):
    play(sqlite_url, examples=30, steps=30, derandomize=True)


def test_any_order_of_events_on_postgresql(postgres_url):
    play(postgres_url, examples=12, steps=30, derandomize=True)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_many_orders_of_events(url):
    play(url, examples=400 if url.startswith("sqlite") else 150, steps=50, derandomize=False)
