"""What the server says comes in the language of the request: refusals, notes, and the live feed."""

from __future__ import annotations

from live_server import Live, serving

from jobtrail.messages import Message
from jobtrail.testing import drain

RU = {"Accept-Language": "ru-RU,ru;q=0.9,en;q=0.8"}


def some_failed(jobs):
    @jobs.task
    def some(ctx):
        for item in ctx.items([1, 2, 3]):
            with item:
                if item.value == 2:
                    raise ValueError("two")

    job = some.enqueue()
    drain(jobs)
    return job


def test_a_refusal_is_told_in_the_callers_language_with_its_code(client):
    english = client.get("/api/jobs/nosuchjob").json()
    russian = client.get("/api/jobs/nosuchjob", headers=RU).json()
    assert english["detail"] == "there is no job 'nosuchjob'"
    assert russian["detail"] == "задания «nosuchjob» нет"
    assert english["message"] == russian["message"] == {"code": "commands.no-job-ending", "params": {"id": "nosuchjob"}}


def test_a_stored_note_is_read_in_each_language(app_jobs, client):
    job = some_failed(app_jobs)
    address = f"/api/jobs/{job.id}"
    assert client.get(address).json()["note"] == "1 of 3 items failed"
    answer = client.get(address, headers=RU)
    assert answer.json()["note"] == "с ошибкой 1 из 3 элементов"
    assert "Accept-Language" in answer.headers["Vary"]
    assert client.get(address, headers=RU | {"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert (
        client.get(address, headers={"If-None-Match": answer.headers["ETag"]}).json()["note"] == "1 of 3 items failed"
    )
    assert job.refresh().note == "1 of 3 items failed"


def test_own_words_stay_as_they_are(app_jobs, client):
    job = some_failed(app_jobs)
    job.retry(reason="@anna: the source is mended")
    told = client.get(f"/api/jobs/{job.id}/events", headers=RU).text
    assert "@anna: the source is mended" in told


def test_two_pages_watch_the_same_topic_in_two_languages(app_jobs):
    job = some_failed(app_jobs)
    with serving(app_jobs.asgi()) as server:
        pages = [Live(server, additional_headers=headers) for headers in ({}, RU)]
        try:
            english, russian = (str(page.snapshot("job", job=job.id)) + str(page.parts) for page in pages)
        finally:
            for page in pages:
                page.close()
    assert "1 of 3 items failed" in english
    assert "с ошибкой 1 из 3 элементов" in russian


def test_an_error_of_a_job_that_jobtrail_wrote_is_read_in_each_language(app_jobs, client):
    @app_jobs.task
    def endless(ctx):
        raise TimeoutError(Message("worker.timed-out", limit=5.0))

    job = endless.enqueue()
    drain(app_jobs)
    address = f"/api/jobs/{job.id}"
    assert "timed out after 5 s" in client.get(address).text
    assert "превышен предел времени 5 с" in client.get(address, headers=RU).text


def test_what_is_wrong_with_a_request_is_told_by_field_in_each_language(client):
    wrong = {"task": 5, "priority": "high", "if_done": "never", "file": {}, "run_at": 0, "nothing": 1}
    sentences = {
        "$.task": ("must be a text", "нужен текст"),
        "$.priority": ("must be a whole number", "нужно целое число"),
        "$.if_done": ("must be one of 'run', 'skip', 'raise'", "нужно одно из 'run', 'skip', 'raise'"),
        "$.file": ("needs either upload or path", "нужно либо upload, либо path"),
        "$.run_at": (
            "must be a time with its offset, such as 2013-02-01T03:00:00Z",
            "нужно время со смещением, например 2013-02-01T03:00:00Z",
        ),
    }
    for place, headers in enumerate(({}, RU)):
        told = client.post("/api/jobs", json=wrong, headers=headers)
        assert told.status_code == 422
        found = {one["path"]: one["detail"] for one in told.json()["errors"]}
        assert {path: found.get(path) for path in sentences} == {path: both[place] for path, both in sentences.items()}
        assert told.json()["message"]["code"] == "api.request-unfit"


def test_actions_are_told_in_each_language_with_what_forbids_them(app_jobs, client):
    job = some_failed(app_jobs)
    told = {
        language: {one["name"]: one for one in client.get(f"/api/jobs/{job.id}", headers=headers).json()["actions"]}
        for language, headers in (("en", {}), ("ru", RU))
    }
    assert told["en"]["cancel"]["why_not"] == "it has ended: it is partial"
    assert told["ru"]["cancel"]["why_not"] == "оно закончилось: завершено частично"
    assert told["ru"]["rerun_failed_items"]["words"].startswith("новое задание: 1 ошибочный элемент и те")
    assert told["ru"]["cancel"]["code"] == told["en"]["cancel"]["code"] == "state"
