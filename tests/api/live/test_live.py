"""What is told live: what has changed, to whom it concerns, soon, also of what another process did; and what is not told."""

from __future__ import annotations

import json
import threading
import time

import pytest
from api_app import add_tasks, problem
from live_server import Live, serving
from trails import until
from websockets.exceptions import InvalidStatus

from jobtrail.api import Person
from jobtrail.api.live import connections
from jobtrail.errors import StoreUnavailable
from jobtrail.testing import drain

SECRET = "s3cr3t-XYZ"


@pytest.fixture
def server(app_jobs):
    with serving(app_jobs.asgi()) as one:
        yield one


@pytest.fixture
def page(server):
    """Makes pages, each with its socket."""
    made = []

    def make(**options):
        made.append(Live(server, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def elsewhere(make_jobs):
    """The same application in another process, as far as the store can tell."""
    return add_tasks(make_jobs())


def statuses(page, topic="jobs"):
    return [page.parts[topic][job]["status"] for job in page.order[topic]]


# -- the list ------------------------------------------------------------------------------------------


def test_the_list_is_told_whole_and_then_what_another_process_has_changed_within_a_second(page, elsewhere):
    one = page()
    assert one.receive(10)["type"] == "hello"
    first = elsewhere.task_named("add").enqueue(a=1)
    told = one.snapshot("jobs")
    assert (told["order"], told["parts"][first.id]["status"]) == ([first.id], "pending")
    late = []
    for _ in range(3):
        job = elsewhere.task_named("add").enqueue(a=2)
        begun = time.monotonic()
        late.append(one.until("the new job", lambda told, job=job: job.id in told.get("order", ()))["heard"] - begun)
    assert one.order["jobs"][-1] == first.id
    drain(elsewhere)
    ended = time.monotonic()
    # A plain success has no line in the trail: it is seen all the same.
    heard = one.shows("all are completed", lambda: set(statuses(one)) == {"completed"})
    late.append(heard - ended)
    assert max(late) < 1.0


def test_a_page_shows_only_what_its_filter_names_and_what_leaves_it_goes(page, app_jobs):
    one = page()
    one.snapshot("jobs", filter="status:failed")
    app_jobs.task_named("add").enqueue(a=1)
    job = app_jobs.task_named("fail").enqueue()
    drain(app_jobs)
    one.until("the failed one", lambda told: job.id in told.get("order", ()))
    assert one.order["jobs"] == [job.id]
    job.retry()
    told = one.until("it has gone", lambda told: told.get("order") == [])
    assert told["gone"] == [job.id]


def test_two_pages_that_look_at_the_same_see_the_same_and_are_read_for_once(page, app_jobs, server, monkeypatch):
    from jobtrail.api.live.topics import JobsLook

    reads = []
    real = JobsLook.read
    monkeypatch.setattr(JobsLook, "read", lambda self: (reads.append(self.filter), real(self))[1])
    pages = [page() for _ in range(5)]
    for one in pages:
        one.snapshot("jobs")
    began, before = time.monotonic(), len(reads)
    job = app_jobs.task_named("add").enqueue(a=1)
    for one in pages:
        one.shows("the job", lambda one=one: job.id in one.parts["jobs"])
    until("some time has passed", lambda: time.monotonic() - began > 1.5)
    assert len(reads) - before <= 4 * 1.5 + 4
    assert len({json.dumps([one.parts, one.order]) for one in pages}) == 1
    for one in pages:
        one.close()
    until("nobody follows", lambda: clients(server) == 0)
    count = len(reads)
    time.sleep(0.8)  # nothing to wait for: what is shown is that nothing happens
    assert len(reads) == count


def clients(server):
    import urllib.request

    with urllib.request.urlopen(f"{server.address}/api/live/clients", timeout=10) as answer:
        return json.load(answer)["clients"]


# -- one job -------------------------------------------------------------------------------------------


def test_a_job_is_followed_with_its_progress_and_the_end_of_its_log(page, app_jobs):
    go_on = threading.Event()

    @app_jobs.task
    def talks(ctx):
        ctx.log.info("it begins at postgresql://u:%s@h/db", SECRET)
        ctx.set_progress(40, "half of it")
        go_on.wait(20)
        ctx.log.info("it ends")

    job = talks.enqueue()
    one = page()
    one.snapshot("job", job=job.id)
    worker = threading.Thread(target=lambda: drain(app_jobs))
    worker.start()
    parts = one.parts["job"]
    one.shows("progress", lambda: (parts["job"]["progress"] or {}).get("percent") == 40)
    before = parts["version"]
    go_on.set()
    one.shows("it is completed", lambda: parts["job"]["status"] == "completed" and log_of(parts).endswith("it ends\n"))
    worker.join()
    assert parts["version"] != before
    assert "it begins at postgresql://u:***@h/db" in log_of(parts)
    assert SECRET not in json.dumps(one.messages)


def log_of(parts):
    pieces = sorted((one["seq"], one["text"]) for name, one in parts.items() if name.startswith("log:"))
    return "".join(text if text.endswith("\n") else text + "\n" for _, text in pieces)


def test_c31_c34_ten_thousand_calls_a_second_are_told_to_twenty_four_times_a_second(page, app_jobs):
    stop = threading.Event()

    @app_jobs.task
    def reports(ctx):
        n = 0
        while not stop.is_set():
            n += 1
            ctx.set_progress(done=n, total=10**9)
            if n % 100 == 0:
                time.sleep(0.01)

    job = reports.enqueue()
    pages = [page() for _ in range(20)]
    for one in pages:
        one.snapshot("job", job=job.id)
    worker = threading.Thread(target=lambda: drain(app_jobs))
    worker.start()
    pages[0].until("it runs", lambda told: told["id"] == "job" and pages[0].parts["job"]["job"]["progress"], 20)
    began, told = time.monotonic(), 0
    while time.monotonic() - began < 2.0:
        try:
            told += pages[0].receive(0.5)["type"] == "change"
        except TimeoutError:
            continue
    stop.set()
    worker.join()
    assert 1 <= told <= 4 * 2.0 + 2
    for one in pages:
        one.shows("all know the end", lambda one=one: one.parts["job"]["job"]["status"] == "completed")
    assert len({one.parts["job"]["job"]["progress"]["done"] for one in pages}) == 1


def test_what_there_is_not_is_told_and_the_rest_goes_on(page, app_jobs):
    one = page()
    missing = "01978f3e-0000-7000-8000-000000000000"
    one.subscribe("job", job=missing)
    told = one.until("an error", lambda told: told["type"] == "error")
    assert (told["id"], told["problem"]["status"], told["problem"]["detail"]) == ("job", 404, f"there is no job {missing}")
    one.snapshot("jobs")


# -- the other topics ----------------------------------------------------------------------------------


def test_numbers_questions_schedules_workers_and_needs_are_told_when_they_change(page, app_jobs):
    app_jobs.schedules.add("nightly", "add", "0 3 * * *", args={"a": 1})
    one = page()
    for topic in ("stats", "questions", "schedules", "workers", "needs"):
        one.snapshot(topic)
    job = app_jobs.task_named("asks").enqueue()
    drain(app_jobs)
    one.shows("the question", lambda: one.order["questions"])
    (question,) = one.order["questions"]
    assert one.parts["questions"][question]["job"] == job.id
    one.shows("it is counted", lambda: one.parts["stats"]["stats"]["questions"] == 1)
    one.shows("it needs somebody", lambda: [n["kind"] for n in one.parts["needs"]["needs"]["needs"]] == ["question"])
    app_jobs.schedules.pause("nightly", reason="the source moves", actor="person:ann")
    one.shows("the pause", lambda: one.parts["schedules"]["nightly"]["state"] == "paused")
    assert one.parts["schedules"]["nightly"]["paused"]["reason"] == "the source moves"
    job.answer(value=True)
    drain(app_jobs)
    one.shows("it is answered", lambda: one.order["questions"] == [])


def test_a_store_that_was_away_is_told_once_and_everything_when_it_is_back(page, app_jobs, monkeypatch):
    from jobtrail.api.live.topics import JobsLook

    one = page()
    one.snapshot("jobs")
    away = threading.Event()
    away.set()
    real = JobsLook.read

    def read(self):
        if away.is_set():
            raise StoreUnavailable("the database is not there")
        return real(self)

    monkeypatch.setattr(JobsLook, "read", read)
    told = one.until("it is away", lambda told: told["type"] == "error")
    assert (told["problem"]["status"], told["problem"]["detail"]) == (503, "the database is not there")
    job = app_jobs.task_named("add").enqueue(a=1)
    away.clear()
    one.until("all of it again", lambda told: told["type"] == "snapshot" and job.id in told["parts"])
    assert [told["type"] for told in one.messages].count("error") == 1


# -- the trail -----------------------------------------------------------------------------------------


def test_each_line_of_the_trail_is_given_once_in_order_and_by_job_or_task_if_wanted(page, app_jobs, elsewhere):
    one = page()
    one.follow()
    one.follow("of_fail", task="fail")
    other = elsewhere.task_named("flaky").enqueue()
    job = elsewhere.task_named("fail").enqueue()
    drain(elsewhere)
    job.retry("once more", actor="person:ann")
    lines = []

    def collect(told):
        if told["type"] == "events" and told["id"] == "events":
            lines.extend(told["events"])
        return len(lines) >= 3

    one.until("three lines", collect)
    assert {(line["job"], line["name"], line["task"]) for line in lines} == {
        (other.id, "retry_planned", "flaky"), (job.id, "finished", "fail"), (job.id, "retried", "fail"),
    }  # fmt: skip
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    assert next(line["actor"] for line in lines if line["name"] == "retried") == "person:ann"
    one.until("those of one task", lambda told: told.get("id") == "of_fail" or any(m.get("id") == "of_fail" and m["events"] for m in one.messages))
    assert {line["task"] for told in one.messages if told.get("id") == "of_fail" for line in told["events"]} == {"fail"}


def test_c33_after_a_restart_of_the_server_the_page_is_as_the_api_says_and_no_line_is_missing(app_jobs, make_jobs):
    cancelled = [app_jobs.task_named("add").using(delay=600).enqueue(a=n) for n in range(4)]
    with serving(app_jobs.asgi()) as server:
        one = Live(server)
        one.snapshot("jobs")
        one.follow()
        cancelled[0].cancel()
        last = one.until("the line", lambda told: told.get("events"))["last"]
    assert one.closed() == 1012
    for job in cancelled[1:]:
        job.cancel()
    new = app_jobs.task_named("add").enqueue(a=9)
    drain(app_jobs)
    with serving(add_tasks(make_jobs()).asgi()) as server:
        again = Live(server)
        again.snapshot("jobs")
        again.subscribe("events", after=last)
        told = again.until("what was missed", lambda told: told.get("events"))
        again.close()
    assert again.order["jobs"] == sorted((job.id for job in (*cancelled, new)), reverse=True)
    assert statuses(again) == ["completed"] + ["cancelled"] * 4
    missed = [line for line in told["events"] if line["id"] > last]
    assert [line["job"] for line in missed] == [job.id for job in cancelled[1:]]


def test_what_is_not_known_any_more_is_told_as_lost(page, app_jobs, monkeypatch):
    from jobtrail.queries import trail_reader

    monkeypatch.setattr(trail_reader, "AT_ONCE", 3)
    monkeypatch.setattr(trail_reader.missed_since, "__kwdefaults__", {"limit": 3})
    jobs = [app_jobs.task_named("add").using(delay=600).enqueue(a=n) for n in range(6)]
    for job in jobs:
        job.cancel()
    one = page()
    for after in (0, 10**9):
        one.subscribe("events", f"after{after}", after=after)
        told = one.until("lost", lambda told, after=after: told["type"] == "reset" and told["id"] == f"after{after}")
        assert told["reason"].startswith(f"the events after {after}")


def test_scripts_follow_by_server_sent_events_and_go_on_where_they_were(server, app_jobs):
    jobs = [app_jobs.task_named("add").using(delay=600).enqueue(a=n) for n in range(2)]
    jobs[0].cancel()
    begin, *first = sse(server, "/api/live/events?after=0", 2)
    assert (begin["event"], first[0]["event"]) == ("begin", "event")
    assert json.loads(first[0]["data"])["name"] == "cancelled"
    jobs[1].cancel()
    begin, *again = sse(server, "/api/live/events", 2, {"Last-Event-ID": first[0]["id"]})
    assert begin == {"id": first[0]["id"], "event": "begin", "data": "{}"}
    assert json.loads(again[0]["data"])["job"] == jobs[1].id
    listed = sse(server, "/api/live/events?topic=jobs&filter=task:add", 1)
    assert listed[0]["event"] == "snapshot"
    assert json.loads(listed[0]["data"])["order"] == [jobs[1].id, jobs[0].id]
    until("nobody follows", lambda: clients(server) == 0)


def sse(server, path, number, headers=None):
    """So many events of a stream."""
    import urllib.request

    found, one = [], {}
    with urllib.request.urlopen(urllib.request.Request(server.address + path, headers=headers or {}), timeout=15) as answer:
        for raw in answer:
            line = raw.decode().rstrip("\r\n")
            if not line and one:
                found.append(one)
                one = {}
                if len(found) == number:
                    return found
            elif line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                one[name] = value
    raise AssertionError(f"the stream ended after {len(found)}")


# -- who may, and what is not understood -----------------------------------------------------------------


def refused(server, **options):
    with pytest.raises(InvalidStatus) as told:
        Live(server, **options)
    return told.value.response.status_code


def test_c37_a_page_of_another_site_and_a_foreign_name_are_refused_at_the_handshake(server):
    assert refused(server, additional_headers={"Origin": "https://evil.example"}) == 403
    Live(server, additional_headers={"Origin": server.address}).close()
    assert refused(server, additional_headers={"Host": "evil.example"}) in {400, 421}


def test_c37_nobody_is_let_in_and_a_login_that_ends_ends_the_conversation(app_jobs, monkeypatch):
    monkeypatch.setattr(connections, "LOGIN_EVERY", 0.2)
    known = {"person": None}
    with serving(app_jobs.asgi(login=lambda _: known["person"])) as server:
        assert refused(server) == 401
        known["person"] = Person("ann", "viewer")
        one = Live(server)
        one.snapshot("jobs")
        known["person"] = None
        assert one.closed() == connections.LOGGED_OUT


def test_what_is_not_understood_is_told_and_nonsense_ends_it(page, monkeypatch):
    monkeypatch.setattr(connections, "MOST_TOPICS", 3)
    one = page()
    for words, why in (
        ({"type": "dance"}, "the type of a message must be subscribe, unsubscribe or ping"),
        ({"type": "subscribe", "id": "a", "topic": "nothing"}, "there is no topic 'nothing'; there are: events, job, jobs"),
        ({"type": "subscribe", "id": "a", "topic": "jobs", "filter": "stat:x"}, "a filter has no key 'stat:'"),
        ({"type": "subscribe", "id": "a", "topic": "job"}, "the topic job needs the id of a job"),
        ({"type": "subscribe", "id": "a", "topic": "jobs", "limit": 10**9}, "limit must be"),
        ({"type": "subscribe", "topic": "jobs"}, "id is missing"),
    ):
        one.say(**words)
        told = one.until("an error", lambda told: told["type"] == "error")
        assert told["problem"]["detail"].startswith(why)
    for name in "abcd":
        one.subscribe("stats", name)
    told = one.until("too many", lambda told: told["type"] == "error")
    assert (told["id"], told["problem"]["detail"]) == ("d", "one connection watches at most 3 topics")
    one.say(type="unsubscribe", id="a")
    one.subscribe("stats", "d")
    one.until("room again", lambda told: told.get("id") == "d" and told["type"] == "snapshot")
    one.say(type="ping")
    one.until("pong", lambda told: told["type"] == "pong")
    one.socket.send("{")
    assert one.closed() == connections.NOT_UNDERSTOOD


def test_what_cannot_be_streamed_is_refused_with_its_status(client):
    problem(client.get("/api/live/events?topic=nothing"), 422, "invalid-option")
    problem(client.get("/api/live/events?topic=jobs&filter=stat:x"), 422, "invalid-filter")


def test_a_server_that_stops_does_not_wait_for_streams_and_sockets_that_are_open(app_jobs):
    with serving(app_jobs.asgi()) as server:
        page = Live(server)
        page.snapshot("jobs")
        ended = []

        def follow():
            with pytest.raises(AssertionError, match="the stream ended after [01]"):
                sse(server, "/api/live/events", 2)
            ended.append(True)

        script = threading.Thread(target=follow)
        script.start()
        until("both follow", lambda: clients(server) == 2)
        began = time.monotonic()
    assert time.monotonic() - began < 4
    script.join(10)
    assert ended
    assert page.closed() == 1012
