"""The project of the page `move-from-celery.md` is tracked by its one line, with real workers and Celery's own beat."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from brokers import redis_base, redis_database, redis_url  # noqa: F401 - fixtures
from celery_site import Site

pytest.importorskip("redis")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "move-from-celery.md"
SEND = """
import shop
print(shop.one_day("2013-02-01", fails=1).delay().id, shop.month(["2013-02-02", "2013-02-03"]).delay().id)
"""


def project(folder: Path, broker: str, backend: str, url: str) -> None:
    """Write the project of the page, with the addresses of the test, and a beat that runs every second."""
    [text] = re.findall(r'```python title="shop.py"\n(.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for old, new in {
        "redis://localhost:6379/0": broker, "redis://localhost:6379/1": backend, "postgresql://localhost/shop": url,
        "hours=1": "seconds=1",
    }.items():  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    (folder / "shop.py").write_text(text, encoding="utf-8")


@pytest.mark.long
def test_one_line_tracks_a_project_with_a_chain_a_chord_retries_and_beat(redis_url: str, redis_base: str, tmp_path: Path):  # noqa: F811
    """Long: a worker, a beat and a program that sends."""
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    with redis_database(redis_base) as backend:
        project(tmp_path, redis_url, backend, url)
        site = Site(redis_url, url, tmp_path, app="shop")
        try:
            environment = {**site.environment, "PYTHONPATH": f"{site.environment['PYTHONPATH']}{os.pathsep}{tmp_path}"}
            site.worker(concurrency=2, PYTHONPATH=environment["PYTHONPATH"])
            subprocess.run([sys.executable, "-c", SEND], env=environment, cwd=tmp_path, check=True, timeout=50)
            with (tmp_path / "worker-beat.log").open("wb") as log:
                beat = subprocess.Popen(
                    [sys.executable, "-m", "celery", "-A", "shop", "beat"], env=environment, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True
                )  # fmt: skip
            site.workers.append(beat)
            check(site)
        finally:
            site.close()


def check(site: Site) -> None:
    """What the page says of the record."""
    expected = Counter({"shop.download": 3, "shop.parse": 3, "shop.load": 3, "shop.report": 1})

    def completed():
        return [job for job in site.jobs.find("task:shop.* status:completed")]

    site.until(lambda: Counter(job.task for job in completed() if job.task != "shop.tidy") == expected, "all of it has run", 40)
    site.until(lambda: sum(job.task == "shop.tidy" for job in completed()) >= 2, "beat has sent twice")
    jobs = {job.task: job for job in completed()}
    assert (jobs["shop.report"].result(), jobs["shop.tidy"].result()) == (4, "tidy")
    [retried] = [job for job in completed() if job.task == "shop.download" and job.attempt == 2]
    assert site.jobs.queries.job(retried.id).max_attempts == 4
    assert any("the source does not answer" in str(event.reason) for event in retried.events())
    contexts = [site.jobs.queries.job(job.id).context for job in completed() if job.task != "shop.tidy"]
    assert all("celery_id" in one for one in contexts)
    assert len({one.get("celery_root", one["celery_id"]) for one in contexts}) >= 2
