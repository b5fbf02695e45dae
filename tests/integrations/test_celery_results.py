"""What Celery keeps of ended tasks becomes jobs: tables as Celery and django-celery-results make them, without either."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime

import pytest
from sqlalchemy import create_engine, text

from jobtrail import UsageError
from jobtrail.integrations.celery_results import CeleryResults

DJANGO = """CREATE TABLE django_celery_results_taskresult (id integer PRIMARY KEY, task_id varchar(255), periodic_task_name varchar(255),
 task_name varchar(255), task_args text, task_kwargs text, status varchar(50), worker varchar(100), content_type varchar(128),
 content_encoding varchar(64), result text, date_created {time}, date_started {time}, date_done {time}, traceback text, meta text)"""
BACKEND = """CREATE TABLE celery_taskmeta (id integer PRIMARY KEY, task_id varchar(155), status varchar(50), result {bytes}, date_done {time},
 traceback text, name varchar(155), args {bytes}, kwargs {bytes}, worker varchar(155), retries integer, queue varchar(155))"""
TYPES = {"sqlite": {"time": "datetime", "bytes": "blob"}, "postgresql": {"time": "timestamp", "bytes": "bytea"}}
DONE = datetime(2013, 2, 1, 3, 0, 5)
FAILED = 'Traceback (most recent call last):\n  File "shop.py", line 1\nValueError: no price'


def fill(url: str, table: str, name: str, rows: list[dict]) -> None:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as conn:
        conn.execute(text(f"DROP TABLE IF EXISTS {name}"))
        conn.execute(text(table.format(**TYPES[engine.dialect.name])))
        for number, row in enumerate(rows, 1):
            names = ", ".join(row)
            conn.execute(text(f"INSERT INTO {name} (id, {names}) VALUES ({number}, {', '.join(f':{one}' for one in row)})"), row)
    engine.dispose()


@pytest.fixture
def django(url):
    json_type = {"content_type": "application/json", "content_encoding": "utf-8", "date_created": datetime(2013, 2, 1, 3), "date_done": DONE}
    rows = [
        {"task_id": "a-1", "task_name": "shop.load", "task_args": json.dumps("(7,)"), "task_kwargs": json.dumps("{'day': '2013-02-01'}"),
         "status": "SUCCESS", "worker": "celery@web-1", "result": "42", "date_started": datetime(2013, 2, 1, 3, 0, 2), **json_type},
        {"task_id": "a-2", "task_name": "shop.load", "task_args": "[]", "task_kwargs": '{"token": "hunter2"}', "status": "FAILURE",
         "result": json.dumps({"exc_type": "ValueError", "exc_message": ["no price"], "exc_module": "builtins"}), "traceback": FAILED, **json_type},
        {"task_id": "a-3", "task_name": None, "status": "REVOKED", "result": None, **json_type},
        {"task_id": "a-4", "task_name": "shop.load", "status": "STARTED", "result": None, **json_type},
        {"task_id": "a-5", "task_name": "shop.load", "status": "SUCCESS", "result": "gASVBQ==", **json_type,
         "content_type": "application/x-python-serialize"},
    ]  # fmt: skip
    fill(url, DJANGO, "django_celery_results_taskresult", rows)
    return url


@pytest.mark.both_databases
def test_django_celery_results_become_jobs_once(jobs, django):
    results = CeleryResults(django, "django-celery-results")
    assert jobs.import_ended(results, actor="person:ann").jobs == 4
    assert jobs.import_ended(results).there == 4
    (done,) = jobs.find("celery:a-1")
    assert (done.task, done.status, done.result(), done.arguments) == ("shop.load", "completed", 42, {"day": "2013-02-01", "args": [7]})
    assert done.finished_at == DONE.replace(tzinfo=UTC)
    (failed,) = jobs.find("celery:a-2")
    shown = jobs.queries.job(failed.id)
    assert (shown.failure.type, shown.failure.message) == ("ValueError", "no price")
    assert shown.arguments == {"token": "•••"}
    assert [job.status for job in jobs.find("celery:a-3")] == ["cancelled"]
    assert jobs.find("celery:a-4") == []
    (pickled,) = jobs.find("celery:a-5")
    assert pickled.result() is None
    assert "a pickle can run any program" in jobs.queries.job(pickled.id).note


@pytest.mark.both_databases
def test_results_of_the_database_backend_are_unpickled_only_when_asked(jobs, url):
    rows = [
        {"task_id": "b-1", "status": "SUCCESS", "result": pickle.dumps({"rows": 3}), "date_done": DONE, "name": "load", "args": b"[7]",
         "kwargs": b'{"day": 1}', "worker": "celery@web-1", "retries": 2, "queue": "mails"},
        {"task_id": "b-2", "status": "FAILURE", "result": pickle.dumps({"exc_type": "KeyError", "exc_message": ["x"]}), "date_done": DONE,
         "traceback": FAILED, "name": "load", "args": None, "kwargs": None, "worker": None, "retries": None, "queue": None},
        {"task_id": "b-3", "status": "SUCCESS", "result": b"no pickle", "date_done": DONE, "name": None, "args": b"\xff", "kwargs": None,
         "worker": None, "retries": 0, "queue": None},
    ]  # fmt: skip
    fill(url, BACKEND, "celery_taskmeta", rows)
    plain = {one["key"]: one for one in CeleryResults(url, "celery")}
    assert "result" not in plain["b-2"]
    assert plain["b-1"]["result"] is None
    assert plain["b-2"]["error"]["message"] == "no price"
    loaded = {one["key"]: one for one in CeleryResults(url, "celery", unpickle=True)}
    assert (loaded["b-1"]["result"], loaded["b-1"]["attempt"], loaded["b-1"]["args"]) == ({"rows": 3}, 3, {"day": 1, "args": [7]})
    assert loaded["b-2"]["error"]["type"] == "KeyError"
    assert "could not be loaded" in loaded["b-3"]["note"]
    assert jobs.import_ended(CeleryResults(url, "celery")).jobs == 3
    assert [job.attempt for job in jobs.find("celery:b-1")] == [3]


def test_what_cannot_be_read_is_one_sentence(tmp_path, sqlite_url):
    with pytest.raises(UsageError, match="django-celery-results, celery"):
        CeleryResults(sqlite_url, "rq")
    with pytest.raises(UsageError, match="has no table celery_taskmeta"):
        list(CeleryResults(sqlite_url, "celery"))
    with pytest.raises(UsageError, match="cannot be read"):
        list(CeleryResults("nosuch://host/name", "celery"))


