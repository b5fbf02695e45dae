"""C-27, C-42, C-58: many at once: threads, processes, forks, replicas that start together."""

from __future__ import annotations

import multiprocessing
import threading

import pytest
from sqlalchemy import create_engine, text
from together import together
from trails import count_rows

from jobtrail import IdempotencyConflict, JobTrail
from jobtrail.testing import drain

WAIT = 30


def at_once(number, call):
    """Call with 0…number-1 in as many threads at once; the answers, an exception as itself."""
    answers, barrier = [None] * number, threading.Barrier(number)

    def run(n):
        barrier.wait(WAIT)
        try:
            answers[n] = call(n)
        except Exception as error:
            answers[n] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    return answers


# -- C-27 ----------------------------------------------------------------------------------------------


def test_c27_fifty_threads_with_one_key_make_one_job(jobs):
    """C-27: 50 threads, 20 rounds: one job each, everybody gets its id, one made it, nobody an error."""

    @jobs.task
    def load(n):
        pass

    for n in range(20):
        answers = at_once(50, lambda _, n=n: load.using(idempotency_key=f"k{n}").enqueue(n))
        errors = [one for one in answers if isinstance(one, Exception)]
        assert errors == []
        assert len({job.id for job in answers}) == 1
        assert sum(job.created for job in answers) == 1
    assert count_rows(jobs) == 20


def test_c27_fifty_threads_with_one_unit_make_one_active_job(jobs):
    """The same for the unit."""

    @jobs.task
    def load(n):
        pass

    for n in range(5):
        answers = at_once(50, lambda _, n=n: load.using(source="s", period=f"2013-0{n + 1}").enqueue(n))
        assert [one for one in answers if isinstance(one, Exception)] == []
        assert len({job.id for job in answers}) == 1
        assert sum(job.created for job in answers) == 1


def test_c27_another_payload_at_once_is_a_conflict_that_names_the_first(jobs):
    """C-27: with another payload: conflict; under another task's name the key is another one."""

    @jobs.task
    def load(n):
        pass

    @jobs.task
    def other(n):
        pass

    answers = at_once(20, lambda n: load.using(idempotency_key="k").enqueue(n % 2))
    stored = jobs.find()
    assert len(stored) == 1
    mine = stored[0].arguments["n"]
    for n, answer in enumerate(answers):
        if n % 2 == mine:
            assert answer.id == stored[0].id
        else:
            assert isinstance(answer, IdempotencyConflict)
            assert answer.job_id == stored[0].id
    assert other.using(idempotency_key="k").enqueue(1).created


def test_c27_two_submissions_in_one_transaction_that_is_rolled_back_leave_the_key_free(jobs, url):
    """C-27: after the rollback of the host application's transaction K is free."""

    @jobs.task
    def load(n):
        pass

    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as mine:
        mine.execute(text("SELECT 1"))
        one = load.using(idempotency_key="k", connection=mine).enqueue(1)
        two = load.using(idempotency_key="k", connection=mine).enqueue(1)
        if url.startswith("postgresql"):
            assert one.id == two.id
        mine.rollback()
    engine.dispose()
    assert count_rows(jobs) == 0
    assert load.using(idempotency_key="k").enqueue(2).created


SUBMITTER = """
import sys
from jobtrail import JobTrail
jobs = JobTrail(sys.argv[1])
@jobs.task
def load(n): pass
order = range(20) if int(sys.argv[2]) % 2 else range(19, -1, -1)
load.using(delay=1000).enqueue(0)
print("ready", flush=True)
sys.stdin.readline()
for n in order:
    job = load.using(source="s", period=f"2013-01-{n + 1:02d}").enqueue(n)
    keyed = load.using(idempotency_key=f"k{n}").enqueue(n)
    print(n, job.id, keyed.id, job.created, keyed.created)
"""


def processes(program, url, number):
    """Start them, let them go together, give what each printed, by lines and words."""
    outputs = together(program, *([url, str(n)] for n in range(number)), timeout=WAIT)
    return [[line.split() for line in out.splitlines()] for out in outputs]


def test_c27_four_processes_submit_the_same_units_and_keys_in_opposite_order(jobs, url):
    """C-27: processes; no deadlock, one job for each unit and key, everybody gets its id."""
    outputs = processes(SUBMITTER, url, 4)
    for place in (1, 2):
        for n in range(20):
            ids = {line[place] for out in outputs for line in out if line[0] == str(n)}
            assert len(ids) == 1
            assert sum(line[place + 2] == "True" for out in outputs for line in out if line[0] == str(n)) == 1
    assert count_rows(jobs) == 40 + 4


# -- C-42 ----------------------------------------------------------------------------------------------


def child_works(jobs, task, n, answers):
    """In a forked child: submit, run, read, with the parent's object."""
    try:
        made = [task.enqueue(n * 100 + i) for i in range(10)]
        keyed = task.using(idempotency_key=f"child{n}").enqueue(n)
        drain(jobs, queues=[f"child{n}"])
        own = task.using(queue=f"child{n}").enqueue(n)
        drain(jobs, queues=[f"child{n}"])
        answers.put((n, [job.id for job in made], own.result(timeout=10), keyed.created, jobs.service.submitter))
    except BaseException as error:
        answers.put((n, repr(error), None, None, None))


def test_c42_forked_children_submit_and_run_with_an_object_that_the_parent_has_used(jobs):
    """C-42: store used before the fork; parent and 4 children submit and run; nobody hangs or answers for another."""

    @jobs.task
    def double(n):
        return 2 * n

    first = double.enqueue(1)
    drain(jobs)
    assert first.result() == 2
    double.enqueue_many({"n": n} for n in range(10))
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    children = [fork.Process(target=child_works, args=(jobs, double, n, answers)) for n in range(1, 5)]
    for child in children:
        child.start()
    mine = [double.enqueue(1000 + n) for n in range(20)]
    found = [answers.get(timeout=WAIT) for _ in children]
    for child in children:
        child.join(WAIT)
        assert child.exitcode == 0
    for n, ids, result, created, _ in found:
        assert isinstance(ids, list), ids
        assert (len(set(ids)), result, created) == (10, 2 * n, True)
    assert len({submitter for *_, submitter in found} | {jobs.service.submitter}) == 5
    drain(jobs)
    for n, job in enumerate(mine):
        assert job.result() == 2 * (1000 + n)
    assert all(jobs.get(one).status == "completed" for _, ids, *_ in found for one in ids)


def test_c42_a_fork_while_another_thread_submits_does_not_hang(jobs):
    """C-42: no hang from a lock that was held at the moment of the fork."""

    @jobs.task
    def note(n):
        pass

    note.enqueue(0)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            note.enqueue(1)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    fork = multiprocessing.get_context("fork")
    try:
        for _ in range(5):
            answers = fork.Queue()
            child = fork.Process(target=lambda answers=answers: answers.put(note.enqueue(2).id))
            child.start()
            assert answers.get(timeout=WAIT)
            child.join(WAIT)
            assert child.exitcode == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join(WAIT)
    note.enqueue(3)


# -- C-58 ----------------------------------------------------------------------------------------------

REPLICA = """
import sys
from jobtrail import JobTrail
from jobtrail.testing import drain
jobs = JobTrail(sys.argv[1], migrate=True)
@jobs.task
def load(n): return n
print("ready", flush=True)
sys.stdin.readline()
job = load.enqueue(int(sys.argv[2]))
drain(jobs)
print(job.result(timeout=20))
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_c58_five_replicas_meet_an_empty_database(kind, tmp_path, request):
    """C-58: all five come up without a restart and work; the schema is there once."""
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path}/new.db"
    else:
        import psycopg

        url = request.getfixturevalue("new_database")()
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("DROP SCHEMA public CASCADE")
            conn.execute("CREATE SCHEMA public")
    outputs = processes(REPLICA, url, 5)
    assert [out[0] for out in outputs] == [[str(n)] for n in range(5)]
    jobs = JobTrail(url)
    assert len(jobs.find()) == 5
    with jobs.store.read() as conn:
        assert conn.exec_driver_sql("SELECT count(*) FROM jobtrail_schema").scalar() == 1
    jobs.close()
