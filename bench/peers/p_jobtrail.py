"""jobtrail: PostgreSQL or SQLite, one job record with its result, times, worker and outcome; results stored until
retention removes them. SQLite runs with WAL and synchronous=FULL, PostgreSQL as it stands: every commit is durable."""
import contextlib
import os

import jobs

from jobtrail import JobTrail

_SQL = "select count(*) from jobtrail_jobs where status='completed'"
_CONF = "async bodies, slots=200, asyncio loop, beat in a child process as `jobtrail worker` has it"
VARIANTS = {
    "pg": {"store": "pg", "result": True, "n": 20000, "bulk": "enqueue_many", "conf": _CONF,
           "done": {"kind": "pg", "sql": _SQL},
           "left": "select count(*) from jobtrail_jobs where status in ('pending', 'running')"},
    "sqlite": {"store": "sqlite", "result": True, "n": 20000, "bulk": "enqueue_many", "conf": _CONF + "; WAL, synchronous=FULL",
               "done": {"kind": "sqlite", "path": "jobtrail.sqlite", "sql": _SQL}},
    "pg-sync": {"store": "pg", "result": True, "n": 20000, "bulk": "enqueue_many", "conf": "plain bodies in threads, slots=20",
                "done": {"kind": "pg", "sql": _SQL}},
    "sqlite-sync": {"store": "sqlite", "result": True, "n": 20000, "bulk": "enqueue_many", "conf": "plain bodies in threads, slots=20",
                    "done": {"kind": "sqlite", "path": "jobtrail.sqlite", "sql": _SQL}},
}


def _application(v):
    """The application of a variant, and its one task."""
    url = jobs.PG if v.startswith("pg") else "sqlite:///" + os.path.join(jobs.DIR, "jobtrail.sqlite")
    app = JobTrail(url)
    if v.endswith("-sync"):
        @app.task(name="work")
        def work(kind, arg):
            return jobs.run(kind, arg)
    else:
        @app.task(name="work")
        async def work(kind, arg):
            return await jobs.arun(kind, arg)
    return app, work


def setup(v):
    app, _ = _application(v)
    app.migrate()
    app.close()


async def worker(v):
    from jobtrail.worker.session import own_process

    app, _ = _application(v)
    app.service.make_ready()
    own_process()
    await app.worker(slots=jobs.conc(20 if v.endswith("-sync") else 200), beat="child").run()


@contextlib.contextmanager
def producer(v):
    app, work = _application(v)

    class P:
        def one(self, kind, arg):
            work.enqueue(kind, arg)

        def many(self, kind, n):
            work.enqueue_many([{"kind": kind, "arg": 0}] * n)
    yield P()
    app.close()
