"""In the programs of others: FastAPI with its own login, Django with its users, below a prefix, and alone as `jobtrail serve`."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from api_app import problem
from fastapi import FastAPI, Request
from starlette.applications import Starlette
from starlette.middleware.sessions import SessionMiddleware
from starlette.routing import Mount
from starlette.testclient import TestClient
from trails import until

from jobtrail.api import Person
from jobtrail.cli import main
from jobtrail.testing import drain

SUBMIT = {"task": "add", "args": {"a": 1}}
OURS = {"X-Jobtrail": "1"}


# -- FastAPI -------------------------------------------------------------------------------------------


def test_inside_fastapi_with_its_own_login(app_jobs):
    host = FastAPI(lifespan=app_jobs.lifespan)
    host.add_middleware(SessionMiddleware, secret_key="of the host")

    @host.post("/enter")
    def enter(request: Request, name: str):
        request.session["user"] = name

    async def who(request):
        user = request.session.get("user")
        return Person(user, "operator" if user == "ann" else "viewer") if user else None

    host.mount("/jobs", app_jobs.asgi(login=who))
    with TestClient(host, "https://shop.example") as browser:
        problem(browser.get("/jobs/api/jobs"), 401)
        assert browser.post("/jobs/api/jobs", json=SUBMIT, headers=OURS).status_code == 401
        browser.post("/enter", params={"name": "ann"})
        assert browser.get("/jobs/api/me").json()["name"] == "ann"
        here = {**OURS, "Origin": "https://shop.example"}
        job_id = browser.post("/jobs/api/jobs", json=SUBMIT, headers=here).json()["job"]["id"]
        until("the host's worker has run it", lambda: browser.get(f"/jobs/api/jobs/{job_id}").json()["status"] == "completed")
        assert app_jobs.get(job_id).actor == "person:ann"
        problem(browser.post("/jobs/api/jobs", json=SUBMIT, headers={**OURS, "Origin": "https://evil.example"}), 403)
        browser.post("/enter", params={"name": "bob"})
        problem(browser.post("/jobs/api/jobs", json=SUBMIT, headers=here), 403, "role-needed")
        assert browser.get("/enter").status_code == 405  # what is the host's stays the host's


def test_two_applications_in_one_host_do_not_know_of_each_other(make_jobs, tmp_path):
    from api_app import add_tasks

    from jobtrail import JobTrail

    one, two = add_tasks(make_jobs()), add_tasks(JobTrail(f"sqlite:///{tmp_path / 'two.db'}"))
    host = Starlette(routes=[Mount("/one", one.asgi()), Mount("/two", two.asgi())])
    client = TestClient(host, "http://127.0.0.1", client=("127.0.0.1", 1), headers=OURS)
    client.post("/one/api/jobs", json=SUBMIT)
    assert len(client.get("/one/api/jobs").json()["jobs"]) == 1
    assert client.get("/two/api/jobs").json()["jobs"] == []
    two.close()


# -- below a prefix --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [True, False], ids=["the proxy cuts it off", "the proxy leaves it"])
def test_below_a_prefix_the_session_and_the_addresses_are_its_own(app_jobs, clients, cut):
    from jobtrail.store import tokens

    app_jobs.service.make_ready()
    store = app_jobs.store
    text = store.write(
        lambda conn: tokens.create(conn, store.dialect, store.now(), name="ann", role="operator", actor="person:ann")
    )[1]
    client, place = clients(prefix="/ops/jobs/", local=False), "" if cut else "/ops/jobs"
    cookie = client.post(f"{place}/api/login", json={"token": text}).headers["set-cookie"]
    assert "Path=/ops/jobs/" in cookie
    name = cookie.split(";")[0]
    made = client.post(f"{place}/api/jobs", json=SUBMIT, headers={"Cookie": name})
    assert made.status_code == 201
    # Relative to the address that was asked, so right below any prefix.
    assert made.headers["location"] == f"jobs/{made.json()['job']['id']}"
    problem(client.get(f"{place}/api/nothing"), 404)


# -- Django --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def django(tmp_path_factory):
    """A Django project in a database of its own, with three users; gives its ASGI application."""
    from django.conf import settings

    where = tmp_path_factory.mktemp("django")
    (where / "shop_urls.py").write_text(
        "from django.http import HttpResponse\nfrom django.urls import path\n"
        "urlpatterns = [path('hello', lambda request: HttpResponse('hello from Django'))]\n"
    )
    sys.path.insert(0, str(where))
    apps = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"]
    settings.configure(
        SECRET_KEY="of the host", ALLOWED_HOSTS=["*"], INSTALLED_APPS=apps, ROOT_URLCONF="shop_urls", USE_TZ=True,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(where / "shop.db")}},
    )  # fmt: skip
    import django as package

    package.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    User.objects.create_superuser("root", password="x")
    User.objects.create_user("ann", password="x", is_staff=True)
    User.objects.create_user("bob", password="x")
    from django.core.asgi import get_asgi_application

    yield get_asgi_application()
    sys.path.remove(str(where))


def session_of(name):
    """The cookie that Django's own login gives this user."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    user = User.objects.get(username=name)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return {"Cookie": f"sessionid={session.session_key}"}


def test_beside_django_with_its_users(app_jobs, django):
    from django.contrib.auth.models import User

    from jobtrail.api.auth.django import django_login

    host = Starlette(routes=[Mount("/jobs", app_jobs.asgi(login=django_login())), Mount("/", django)])
    client = TestClient(host, "https://shop.example", headers=OURS)
    assert client.get("/hello").text == "hello from Django"
    problem(client.get("/jobs/api/jobs"), 401)
    problem(client.get("/jobs/api/jobs", headers={"Cookie": "sessionid=forged"}), 401)
    User.objects.update(is_active=True)
    root, ann, bob = session_of("root"), session_of("ann"), session_of("bob")
    assert client.get("/jobs/api/me", headers=root).json()["role"] == "admin"
    made = client.post("/jobs/api/jobs", json=SUBMIT, headers={**ann, "Origin": "https://shop.example"})
    drain(app_jobs)
    assert app_jobs.get(made.json()["job"]["id"]).actor == "person:ann"
    problem(client.get("/jobs/api/jobs", headers=bob), 401)  # a customer is nobody here
    User.objects.filter(username="ann").update(is_active=False)
    problem(client.get("/jobs/api/jobs", headers=ann), 401)
    open_to_all = app_jobs.asgi(login=django_login(lambda user: "viewer"))
    assert TestClient(open_to_all).get("/api/me", headers=bob).json()["role"] == "viewer"


# -- alone ---------------------------------------------------------------------------------------------

APP = """
import time
from jobtrail import JobTrail
jobs = JobTrail({url!r}, poll_interval=0.1, graceful_shutdown_timeout=10)

@jobs.task
def add(*, a: int, b: int = 1) -> int:
    return a + b

@jobs.task
def nap(*, seconds: float) -> str:
    time.sleep(seconds)
    return "rested"

def who(request):
    from jobtrail.api import Person
    return Person("ann", "viewer") if request.headers.get("x-user") == "ann" else None
"""


class Serving:
    """`jobtrail serve` in a process of its own."""

    def __init__(self, folder, url, *words):
        (folder / "shop_app.py").write_text(APP.format(url=url))
        command = [sys.executable, "-m", "jobtrail", "serve", "--app", "shop_app:jobs", "--port", "0", "--json", *words]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        told = self.process.stdout.readline()
        assert told, self.process.stderr.read()
        self.told = json.loads(told)
        self.address = self.told["address"]

    def ask(self, path, body=None, **headers):
        """(status, JSON)."""
        data = None if body is None else json.dumps(body).encode()
        headers |= {"Content-Type": "application/json", **OURS}
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def status_of(self, job_id):
        return self.ask(f"api/jobs/{job_id}")[1]["status"]


@pytest.fixture
def serve(tmp_path, sqlite_url):
    started = []

    def start(*words):
        started.append(Serving(tmp_path, sqlite_url, *words))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_served_alone_it_runs_jobs_and_drains_on_sigterm(serve, tmp_path, sqlite_url):
    server = serve()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", server.address)
    _, made = server.ask("api/jobs", SUBMIT)
    until("it has run", lambda: server.status_of(made["job"]["id"]) == "completed")
    _, nap = server.ask("api/jobs", {"task": "nap", "args": {"seconds": 1.5}})
    until("it runs", lambda: server.status_of(nap["job"]["id"]) == "running")
    server.process.send_signal(signal.SIGTERM)
    assert server.status_of(nap["job"]["id"]) == "running"  # the pages are there until the last job has drained
    assert server.process.wait(15) == 0
    from jobtrail import JobTrail

    jobs = JobTrail(sqlite_url)
    assert jobs.get(nap["job"]["id"]).status == "completed"
    jobs.close()


def test_without_a_worker_it_only_shows_and_takes(serve):
    server = serve("--no-worker", "--prefix", "/ops")
    assert server.address.endswith("/ops/")
    _, made = server.ask("api/jobs", {"task": "add", "args": {"a": 1}})
    assert server.status_of(made["job"]["id"]) == "pending"
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(10) == 0


@pytest.fixture
def run(tmp_path, sqlite_url, capsys, monkeypatch):
    """A command in this process: (code, what was said, what was said beside it)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JOBTRAIL_APP", raising=False)

    def call(*words):
        capsys.readouterr()
        code = main([*words, "--database", sqlite_url])
        return (code, *capsys.readouterr())

    return call


def test_c37_an_address_that_others_reach_needs_a_way_to_log_in(serve, run):
    code, _, told = run("serve", "--no-worker", "--host", "0.0.0.0", "--port", "0")
    assert code == 2
    assert "nobody could log in: create a token first" in told
    server = serve("--host", "0.0.0.0", "--new-token", "operator", "--no-worker")
    server.address = server.address.replace("0.0.0.0", "127.0.0.1")
    token = server.told["token"]
    assert server.ask("api/jobs")[0] == 401  # this machine too
    assert server.ask("api/jobs", Authorization=f"Bearer {token}")[0] == 200
    _, listed, _ = run("token", "list", "--json")
    assert [one["role"] for one in json.loads(listed)["tokens"]] == ["operator"]
    assert token not in listed
    assert run("token", "revoke", "serve-operator")[0] == 0
    assert server.ask("api/jobs", Authorization=f"Bearer {token}")[0] == 401


def test_served_with_a_login_of_the_application(serve):
    server = serve("--host", "0.0.0.0", "--no-worker", "--login", "shop_app:who")
    server.address = server.address.replace("0.0.0.0", "127.0.0.1")
    assert server.ask("api/jobs")[0] == 401
    assert server.ask("api/jobs", **{"X-User": "ann"})[0] == 200
    assert server.ask("api/jobs", SUBMIT, **{"X-User": "ann"})[0] == 403


def test_tokens_at_the_terminal(run):
    code, made, told = run("token", "create", "--role", "operator", "--name", "ci", "--days", "30")
    assert code == 0
    assert re.fullmatch(r"jt_[\w-]{43}\n", made)
    assert "shown only now" in told
    for words in (("create", "--name", "x"), ("create", "--role", "root", "--name", "x"), ("create", "--role", "admin"), ("burn",)):
        assert run("token", *words)[0] == 2
    assert run("token", "revoke", "nobody")[0] == 1
    assert run("token", "revoke", "n" * 36)[0] == 1
    _, listed, _ = run("token", "list")
    assert "ci" in listed
    assert made.strip() not in listed


def test_a_port_that_is_taken_is_said_in_a_sentence(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, told = run("serve", "--no-worker", "--port", str(port))
    assert code == 2
    assert f"the server cannot listen on 127.0.0.1:{port}" in told


def test_without_the_packages_the_rest_works_and_one_sentence_says_what_is_missing(tmp_path, sqlite_url):
    code = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name.split('.')[0] == 'fastapi':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name='fastapi')\n"
        "sys.meta_path.insert(0, Hidden())\n"
        f"import jobtrail; jobs = jobtrail.JobTrail({sqlite_url!r})\n"
        "print(jobs.find())\n"
        "try:\n    jobs.asgi()\n"
        "except jobtrail.JobTrailError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "[]\nthe API needs the package 'fastapi': install jobtrail[api]\n"
    assert Path(sqlite_url.removeprefix("sqlite:///")).exists()
