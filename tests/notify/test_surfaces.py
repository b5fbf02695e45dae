"""What people see and set: routes by role, the live topic, commands, jobtrail.toml; and a secret of a URL that stands nowhere."""

from __future__ import annotations

import json
import logging
import sqlite3

import pytest
from receivers import WebServer
from starlette.testclient import TestClient

from jobtrail import InvalidOption, JobTrail
from jobtrail.api import Person, create_api
from jobtrail.cli import main
from jobtrail.notify import AlertRule, Mail, Notify, Webhook, tables
from jobtrail.notify.routes import unread
from jobtrail.testing import drain

SECRET = "hunter2hunter2"
RULE = AlertRule("modules", kinds="module.error", channels=["inbox", "hook"], group=0)


@pytest.fixture
def hook():
    server = WebServer()
    yield server
    server.close()


@pytest.fixture
def world(telling, hook):
    return telling(rules=[RULE], channels={"hook": Webhook(f"{hook.address}/{SECRET}", timeout=5)}, retry=1)


@pytest.fixture
def ask(world):
    def login(request):
        role = request.headers.get("x-role")
        return Person("ann", role) if role else None

    with TestClient(create_api(world.jobs, login=login)) as client:

        def request(method: str, path: str, role: str = "viewer"):
            return client.request(method, f"/api/plugins/notify{path}", headers={"X-Role": role, "X-Jobtrail": "1"})

        yield request


def test_the_inbox_is_listed_and_marked_as_read(world, ask):
    for i in range(3):
        world.announce(subject=f"m{i}")
        world.turn(1)
    page = ask("GET", "/inbox").json()
    assert [one["title"] for one in page["entries"]] == [f"module m{i} is in error" for i in (2, 1, 0)]
    assert page["unread"] == 3
    first, second, _ = page["entries"]
    assert [one["id"] for one in ask("GET", f"/inbox?before={first['id']}&limit=1").json()["entries"]] == [second["id"]]
    assert ask("POST", f"/inbox/{first['id']}/read").status_code == 403
    assert ask("POST", f"/inbox/{first['id']}/read", "operator").json() == {"read": 1}
    assert ask("POST", f"/inbox/{first['id']}/read", "operator").json() == {"read": 0}
    assert ask("GET", "/inbox?unread=true").json()["unread"] == 2
    assert ask("GET", "/inbox").json()["entries"][0]["read_by"] == "person:ann"
    assert ask("POST", "/inbox/read", "operator").json() == {"read": 2}
    assert ask("POST", "/inbox/0197e2c4-8a1b-7c3d-9e4f-1a2b3c4d5e6f/read", "operator").status_code == 404
    assert unread(world.jobs) == {"entries": [], "unread": 0}


def test_the_live_topic_is_sent_to_who_listens(world):
    topic = world.jobs.plugins["notify"].plugin.topics["inbox"]
    assert topic.role == "viewer"
    world.announce()
    world.turn(1)
    sent = topic.function(world.jobs, "")
    assert (sent["unread"], json.loads(json.dumps(sent))["entries"][0]["title"]) == (1, "module parser is in error")


def test_an_id_that_is_none_is_refused(ask):
    assert ask("GET", "/inbox?before=x").status_code == 422
    assert ask("POST", "/inbox/x/read", "operator").status_code == 422


def test_channels_rules_and_deliveries(world, ask, hook):
    world.announce()
    world.turn(1)
    inbox, own = ask("GET", "/channels").json()
    assert (inbox["name"], inbox["state"]) == ("inbox", "enabled")
    assert (own["name"], own["kind"], own["target"], own["rules"]) == ("hook", "webhook", f"{hook.address}/•••", ["modules"])
    (rule,) = ask("GET", "/rules").json()
    assert (rule["name"], rule["kinds"], rule["channels"]) == ("modules", ["module.error"], ["inbox", "hook"])
    assert {one["channel"] for one in ask("GET", "/deliveries?state=sent").json()} == {"inbox", "hook"}
    assert ask("GET", "/deliveries?channel=nobody").json() == []


def test_a_channel_is_tested_and_enabled_by_admins(world, ask, hook):
    assert ask("POST", "/channels/hook/test", "operator").status_code == 403
    assert ask("POST", "/channels/hook/test", "admin").json() == {"channel": "hook", "sent": True}
    hook.status = 404
    refused = ask("POST", "/channels/hook/test", "admin")
    assert (refused.status_code, "404" in refused.json()["detail"]) == (409, True)
    assert ask("POST", "/channels/nobody/test", "admin").status_code == 404
    for i in range(3):
        world.announce(subject=f"m{i}")
        world.turn(1)
    assert ask("GET", "/channels").json()[1]["state"] == "disabled"
    assert ask("POST", "/channels/hook/enable", "admin").json()["state"] == "enabled"


def test_a_secret_in_a_url_stands_nowhere(world, ask, hook, caplog, tmp_path):
    """Not in jobs, deliveries, the inbox, states of channels, logs or answers: whatever the other side does."""
    with caplog.at_level(logging.DEBUG):
        for status in (200, 404, 500, 302):
            hook.status = status
            world.announce(subject=f"m{status}", message=f"see {hook.address}/x?token={SECRET}")
            world.turn(1)
        hook.close()
        world.announce(subject="gone")
        for _ in range(3):
            world.turn(60)
        paths = ("/inbox", "/channels", "/rules", "/deliveries")
        answers = [ask(*call, "admin").text for call in (*(("GET", path) for path in paths), ("POST", "/channels/hook/test"))]
    jobs = [json.dumps(job.arguments) + repr(job.error) for job in world.jobs.find("kind:notification")]
    for text in (*answers, *jobs, caplog.text):
        assert SECRET not in text
    if world.jobs.store.database.is_sqlite:
        with sqlite3.connect(world.jobs.store.database.path) as conn:
            assert SECRET not in "\n".join(conn.iterdump())


# -- commands -------------------------------------------------------------------------------------------


@pytest.fixture
def jt(world, monkeypatch, capsys, tmp_path):
    import sys
    import types

    module = types.ModuleType("notified_app")
    module.make = lambda: world.jobs
    monkeypatch.setitem(sys.modules, "notified_app", module)
    monkeypatch.setattr(world.jobs, "close", lambda: None)
    monkeypatch.setenv("JOBTRAIL_APP", "notified_app:make")
    monkeypatch.setenv("JOBTRAIL_LANG", "en")

    def run(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(words) == code
        return capsys.readouterr().out

    return run


def test_commands_list_and_test_channels(jt, world, hook):
    assert f"hook (webhook, {hook.address}/•••): enabled" in jt("notify", "list")
    assert "left" in jt("notify", "test", "hook")
    assert len(hook.requests) == 1
    assert "left" in jt("notify", "test", "inbox")
    assert world.inbox == ["test of channel inbox"]
    hook.status = 500
    assert "500" in jt("notify", "test", "hook", code=1)
    assert json.loads(jt("notify", "list", "--json"))[1]["target"] == f"{hook.address}/•••"


# -- settings -------------------------------------------------------------------------------------------

TOML = """
[plugins.notify]
language = "ru"
ping = "env:PING_URL"
ping_every = 30

[plugins.notify.channels.ops]
type = "webhook"
url = "env:OPS_URL"
fallback = "mail"

[plugins.notify.rules.modules]
kinds = ["module.*"]
channels = ["ops"]
quiet = "22:00-07:00 Europe/Berlin"

[plugins.notify.rules.loads]
enabled = false
"""


def settings(tmp_path, text: str, **options):
    (tmp_path / "jobtrail.toml").write_text(text)
    return JobTrail(f"sqlite:///{tmp_path}/x.db", plugins=[Notify(**options)], config=tmp_path / "jobtrail.toml").notify


def test_a_file_adds_and_replaces_rules_and_channels(tmp_path, monkeypatch):
    monkeypatch.setenv("PING_URL", "https://ping.example.org/abcdef")
    monkeypatch.setenv("OPS_URL", "https://ops.example.org/abcdef")
    mail = Mail("127.0.0.1", "a@example.org", "b@example.org")
    loads = AlertRule("loads", kinds="job.failed")
    found = settings(tmp_path, TOML, channels={"mail": mail}, rules=[loads])
    assert [(rule.name, rule.kinds, rule.channels) for rule in found.rules] == [("modules", ("module.*",), ("ops",))]
    assert found.channels["ops"].target == "https://ops.example.org/•••"
    assert (found.language, found.ping.every) == ("ru", 30)


def test_the_default_rule_goes_to_the_inbox_and_by_mail_where_there_is_a_channel(tmp_path):
    assert [rule.channels for rule in settings(tmp_path, "").rules] == [("inbox",)]
    mail = Mail("127.0.0.1", "a@example.org", "b@example.org")
    assert [rule.channels for rule in settings(tmp_path, "", channels={"mail": mail}).rules] == [("inbox", "mail")]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[plugins.notify]\nchanels = 1", "chanels"),
        ("[plugins.notify]\nlanguage = 'de'", "de"),
        ("[plugins.notify.channels.ops]\nurl = 'https://x/hunter2'", "type"),
        ("[plugins.notify.channels.ops]\ntype = 'webhook'", "key"),
        ("[plugins.notify.channels.ops]\ntype = 'webhook'\nurl = 'ftp://x/hunter2'", "channels.ops"),
        ("[plugins.notify.channels.ops]\ntype = 'webhook'\nurl = 'https://x/hunter2'\nsecrt = 'hunter2'", "secrt"),
        ("[plugins.notify.channels.ops]\ntype = 'webhook'\nurl = 'env:NOT_SET'", "NOT_SET"),
        ("[plugins.notify.channels.inbox]\ntype = 'webhook'\nurl = 'https://x/hunter2'", "inbox"),
        ("[plugins.notify.channels.ops]\ntype = 'webhook'\nurl = 'https://x/hunter2'\nfallback = 'ops'", "fallback"),
        ("[plugins.notify.rules.a]\nchannels = ['inbox']", "kinds"),
        ("[plugins.notify.rules.a]\nkinds = 'job.failed'\nwhere = 'tusk:x'", "rules.a"),
        ("[plugins.notify.rules.a]\nkinds = 'job.failed'\nchannels = 'nobody'", "nobody"),
        ("[plugins.notify]\nrules = 1", "table"),
        ("[plugins]\nnotify = 1", "notify"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place_and_no_secret(tmp_path, text, wrong):
    with pytest.raises(InvalidOption, match=wrong) as caught:
        settings(tmp_path, text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"rules": ["x"]}, {"channels": {"inbox": 1}}, {"language": "de"}, {"ping": "x"}, {"retry": 0}, {"rules": [RULE, RULE]}]
)
def test_a_notify_that_cannot_be_is_refused(tmp_path, options):
    with pytest.raises(InvalidOption):
        settings(tmp_path, "", **{"channels": {"hook": Webhook("https://x.example.org")}, **options})


def test_the_channel_of_a_plug_in_is_used_by_its_full_name(telling):
    from jobtrail import Plugin

    taken, paper = [], Plugin("paper")
    paper.channel("file")(taken.append)
    world = telling(rules=[AlertRule("modules", kinds="module.error", channels="paper.file", group=0)], plugins=[paper])
    world.announce()
    world.turn()
    drain(world.jobs)
    assert [message.title for message in taken] == ["module parser is in error"]
    assert [row.state for row in world.rows(tables.deliveries)] == ["sent"]
