"""Programs that submit, and people who press buttons; each a thread with a random generator of its own."""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING, Any

from campaign_app import BULK
from evidence import Acknowledged

from jobtrail.commands.queues import set_paused
from jobtrail.errors import Conflict, NotFound, StoreError

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from jobtrail import JobTrail
    from jobtrail.commands.job_handle import Job

REFUSED = (Conflict, NotFound, StoreError)
ANSWERED = (200, 201, 404, 409, 410, 503)
OURS = {"X-Jobtrail": "1"}
HERE = "http://127.0.0.1"


class Person:
    """Does one thing after the other until it is stopped; what nobody may be told is kept in ``surprises``."""

    def __init__(self, jobs: JobTrail, rng: random.Random, *, rate: float) -> None:
        self.surprises: list[str] = []
        self._jobs = jobs
        self._rng = rng
        self._rate = rate
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._stopping.wait(self._rng.expovariate(self._rate)):
            try:
                self.act()
            except REFUSED:
                pass
            except Exception:
                self.surprises.append(traceback.format_exc()[-3000:])

    def act(self) -> None:
        """One thing."""
        raise NotImplementedError

    def _task(self, name: str) -> Any:
        return self._jobs.task_named(name)


class Submitter(Person):
    """Submits in every way; ``told`` is what it was told is stored."""

    KINDS = {
        "one": 6, "many": 2, "keyed": 3, "group": 1, "chain": 3, "unit": 4, "file": 1, "question": 2, "listed": 4, "flaky": 2,
        "held": 1, "versions": 3, "delayed": 1, "backfill": 1, "isolated": 1,
    }  # fmt: skip

    def __init__(self, jobs: JobTrail, rng: random.Random, *, rate: float, folder: Path) -> None:
        super().__init__(jobs, rng, rate=rate)
        self.told: list[Acknowledged] = []
        self._folder = folder
        self._again: list[Callable[[], Any]] = []  # submissions that may be repeated, by their keys
        self._number = 0

    def act(self) -> None:
        name = self._rng.choices(list(self.KINDS), list(self.KINDS.values()))[0]
        getattr(self, name)()

    def _stored(self, *made: Job, key: str | None = None, followers: int = 0) -> None:
        self.told += [Acknowledged(job.id, key, followers if job.created else 0) for job in made]

    def _some(self) -> Any:
        name = self._rng.choice(("quick", "gentle"))
        return self._task(name).using(priority=self._rng.randrange(10))

    def _seconds(self) -> dict[str, float]:
        return {"seconds": self._rng.choice((0.0, 0.02, 0.3))}

    # -- the ways ------------------------------------------------------------------------------------

    def one(self) -> None:
        self._stored(self._some().using(labels={"way": "one"}).enqueue(**self._seconds()))

    def many(self) -> None:
        self._stored(*self._some().enqueue_many([self._seconds() for _ in range(self._rng.randrange(2, 12))]))

    def keyed(self) -> None:
        """Several jobs with keys in one transaction, repeated later whatever the first answer was."""
        self._number += 1
        keys = [f"key {self._number}.{place}" for place in range(3)]

        def submit() -> None:
            task = self._task("quick")
            made = self._jobs.enqueue_each([(task.using(idempotency_key=key), {}) for key in keys])
            for job, key in zip(made, keys, strict=True):
                self._stored(job, key=key)

        self._again.append(submit)
        submit()
        self._rng.choice(self._again[-20:])()

    def group(self) -> None:
        members = [(self._some(), self._seconds()) for _ in range(self._rng.randrange(1, 5))]
        made = self._jobs.group(members, then=self._task("follows"), on=self._rng.choice(("ended", "success")))
        self._stored(*made.jobs())

    def chain(self) -> None:
        follows = self._task("follows")
        bound = self._some().then(follows, on="ended").then(follows.then(follows, {"why": "last"}, on="ended"), on="success")
        self._stored(bound.enqueue(**self._seconds()), followers=2)

    def unit(self) -> None:
        period = f"2013-{self._rng.randrange(1, 13):02d}"
        how = {"if_active": self._rng.choice(("same", "raise", "queue")), "if_done": self._rng.choice(("run", "skip"))}
        bound = self._task("load").using(source=f"source {self._rng.randrange(3)}", period=period, **how)
        self._stored(bound.enqueue(bad=self._rng.choice((0, 0, 1))))

    def file(self) -> None:
        path = self._folder / f"input {self._rng.randrange(5)}.csv"
        if not path.exists():
            path.write_text(path.name)
        self._stored(self._task("reads").using(source="files", file=path, if_active="queue").enqueue())

    def question(self) -> None:
        expires, default = self._rng.choice(((None, None), (1.0, None), (1.0, 7), (30.0, 7)))
        self._stored(self._task("asks").enqueue(expires=expires, default=default))

    def listed(self) -> None:
        self._stored(self._task("listed").enqueue(bad=self._rng.choice((0, 0, 2)), durable=self._rng.random() < 0.7))

    def flaky(self) -> None:
        self._stored(self._task("flaky").enqueue(times=self._rng.choice((1, 2, 9))))

    def held(self) -> None:
        self._stored(self._task("held").enqueue(**self._seconds()))

    def versions(self) -> None:
        """What only one version knows, or both under different names."""
        name = self._rng.choice(("report", "departing", "arriving"))
        self._stored(self._task(name).enqueue())

    def delayed(self) -> None:
        self._stored(self._some().using(delay=self._rng.uniform(0.1, 2.0)).enqueue())

    def backfill(self) -> None:
        year = self._rng.randrange(2000, 2012)
        job = self._jobs.backfill("load", first=f"{year}-01", last=f"{year}-06", sources=["source 0"], args={}, step="month")
        self._stored(job)

    def isolated(self) -> None:
        self._stored(self._task("isolated").enqueue(**self._seconds()))


class Operator(Person):
    """Presses buttons, half of the times through the HTTP API, on jobs that were submitted lately."""

    KINDS = {"answer": 4, "cancel": 3, "retry": 2, "rerun": 3, "run_now": 1, "queue": 1}

    def __init__(self, jobs: JobTrail, rng: random.Random, *, rate: float, submitter: Submitter) -> None:
        from starlette.testclient import TestClient

        super().__init__(jobs, rng, rate=rate)
        self._submitter = submitter
        self._client = TestClient(jobs.asgi(), HERE, client=("127.0.0.1", 50_000), headers=OURS)

    def act(self) -> None:
        name = self._rng.choices(list(self.KINDS), list(self.KINDS.values()))[0]
        if self._submitter.told:
            getattr(self, name)()

    def _job(self) -> str:
        return self._rng.choice(self._submitter.told[-150:]).job

    def _post(self, path: str, body: dict[str, Any]) -> None:
        answer = self._client.post(f"/api/{path}", json=body)
        if answer.status_code not in ANSWERED:
            self.surprises.append(f"{path} {body}: {answer.status_code} {answer.text[:300]}")

    def _press(self, job: str, name: str, **options: Any) -> None:
        if self._rng.random() < 0.5:
            self._post(f"jobs/{job}/{name.replace('_', '-')}", options)
        else:
            getattr(self._jobs.get(job), name)(**options)

    def answer(self) -> None:
        """Most of the open questions; the others expire."""
        for one in self._jobs.queries.questions().questions[:3]:
            if self._rng.random() < 0.5:
                self._post(f"questions/{one.id}/answer", {"value": self._rng.randrange(9)})
            else:
                self._jobs.get(one.job).answer(self._rng.randrange(9), actor="ann")

    def cancel(self) -> None:
        """A second time now and then, which forces the end."""
        job = self._job()
        self._press(job, "cancel")
        if self._rng.random() < 0.2:
            self._jobs.get(job).cancel()

    def retry(self) -> None:
        ended = self._jobs.find(self._rng.choice(("status:failed", "status:cancelled", "status:partial", "status:interrupted")), limit=10)
        if ended:
            self._press(self._rng.choice(ended).id, "retry")

    def rerun(self) -> None:
        ended = self._jobs.find(self._rng.choice(("status:partial", "status:failed", "status:completed")), limit=20)
        if ended:
            self._press(self._rng.choice(ended).id, "rerun", mode=self._rng.choice(("full", "failed_items", "resume")))

    def run_now(self) -> None:
        self._press(self._job(), "run_now")

    def queue(self) -> None:
        """Paused for some moments."""
        set_paused(self._jobs.service, BULK, paused=True, actor="ann")
        self._stopping.wait(self._rng.uniform(0.5, 2.0))
        self._post(f"queues/{BULK}/resume", {})
