"""Files handed over for jobs, and files of the server: whole or not there, never another one, kept as long as needed."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path

import pytest
from api_app import problem

from jobtrail import JobTrail
from jobtrail.commands import uploads
from jobtrail.config import Settings
from jobtrail.errors import InvalidFile, InvalidOption
from jobtrail.testing import drain

CONTENT = b"tailnum,year\nN1,2013\n"


def upload(client, name="planes.csv", content=CONTENT):
    answer = client.post("/api/files", params={"name": name}, content=content)
    assert answer.status_code == 201, answer.text
    return answer.json()


def folder_of(jobs):
    return Path(jobs.settings.upload_folder)


def test_an_uploaded_file_is_loaded_by_a_job(app_jobs, client):
    sent = upload(client)
    assert (sent["name"], sent["size"], sent["sha256"]) == ("planes.csv", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    job_id = client.post("/api/jobs", json={"task": "read", "file": {"upload": sent["upload"]}}).json()["job"]["id"]
    drain(app_jobs)
    whole = client.get(f"/api/jobs/{job_id}").json()
    assert (whole["status"], whole["result"], whole["file"]) == ("completed", CONTENT.decode(), "planes.csv")
    assert whole["input"]["sha256"] == sent["sha256"]
    assert whole["input"]["uploaded"]


def test_the_same_content_is_the_same_unit_whatever_it_was_called(app_jobs, client):
    first, second = upload(client), upload(client, "again.csv")
    one = client.post("/api/jobs", json={"task": "read", "file": {"upload": first["upload"]}}).json()
    two = client.post("/api/jobs", json={"task": "read", "file": {"upload": second["upload"]}}).json()
    assert (one["job"]["id"], True, False) == (two["job"]["id"], one["created"], two["created"])


def test_a_corrected_file_goes_on_with_the_work(app_jobs, client):
    old = client.post("/api/jobs", json={"task": "read", "file": {"upload": upload(client)["upload"]}}).json()["job"]["id"]
    drain(app_jobs)
    corrected = upload(client, content=CONTENT + b"N2,2014\n")
    new = client.post(f"/api/jobs/{old}/rerun", json={"mode": "full", "file": {"upload": corrected["upload"]}})
    assert new.status_code == 201, new.text
    drain(app_jobs)
    assert client.get(f"/api/jobs/{new.json()['job']['id']}").json()["result"].endswith("N2,2014\n")


def test_uploads_are_for_their_owner_only(app_jobs, client):
    upload(client)
    kept = [folder_of(app_jobs), *folder_of(app_jobs).rglob("*")]
    assert len(kept) == 3
    assert [path for path in kept if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


@pytest.mark.parametrize("name", ["../../up.csv", "/etc/up.csv", "C:\\data\\up.csv", " up.csv "])
def test_a_name_leads_nowhere_else(app_jobs, client, name):
    assert upload(client, name)["name"] == "up.csv"
    (found,) = [path for path in folder_of(app_jobs).rglob("*") if path.is_file()]
    assert found.parent.parent == folder_of(app_jobs)


@pytest.mark.parametrize("name", ["..", "a\nb", "x" * 300, "/", "a\0"])
def test_a_name_that_cannot_be_is_refused_and_nothing_is_left(app_jobs, client, name):
    problem(client.post("/api/files", params={"name": name}, content=CONTENT), 422)
    assert [path for path in folder_of(app_jobs).rglob("*") if path.is_file()] == []


def test_a_file_that_is_too_large_is_refused_and_nothing_is_left(make_jobs, tmp_path):
    from starlette.testclient import TestClient

    jobs = make_jobs(upload_folder=tmp_path / "small", upload_limit=3_000_000)
    client = TestClient(jobs.asgi(), "http://127.0.0.1", client=("127.0.0.1", 1), headers={"X-Jobtrail": "1"})
    pieces = (b"x" * 100_000 for _ in range(40))
    told = problem(client.post("/api/files?name=big", content=pieces), 413, "too-large")
    assert "3,000,000 bytes" in told["detail"]
    assert list((tmp_path / "small").iterdir()) == []


def test_a_disk_that_is_full_is_said_so_and_nothing_is_left(app_jobs, client, monkeypatch):
    def full(_self, _data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads.Incoming, "write", full)
    told = problem(client.post("/api/files?name=a", content=b"x"), 507, "not-kept")
    assert told["detail"] == "the file cannot be stored: No space left on device"
    assert list(folder_of(app_jobs).iterdir()) == []


def test_without_a_place_for_them_uploads_are_refused_in_words(make_jobs, url):
    from starlette.testclient import TestClient

    if url.startswith("sqlite"):
        pytest.skip("a SQLite database has a folder beside it")
    client = TestClient(make_jobs().asgi(), "http://127.0.0.1", client=("127.0.0.1", 1), headers={"X-Jobtrail": "1"})
    told = problem(client.post("/api/files?name=a", content=b"x"), 422)
    assert "set upload_folder" in told["detail"]


# -- files of the server ---------------------------------------------------------------------------------


def test_only_what_lies_below_a_root_can_be_named(tmp_path):
    root, outside = tmp_path / "incoming", tmp_path / "incoming-other"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
    (root / "sub/a.csv").write_text("a")
    (outside / "b.csv").write_text("b")
    (root / "link.csv").symlink_to(outside / "b.csv")
    (root / "inner.csv").symlink_to(root / "sub/a.csv")
    roots = (str(root),)
    for allowed in ("sub/a.csv", str(root / "sub/a.csv"), "inner.csv"):
        assert uploads.below(roots, allowed) == str(root / "sub/a.csv")
    words: set[str] = set()
    for other in ("../incoming-other/b.csv", str(outside / "b.csv"), "link.csv", "none.csv", "/etc/passwd", "sub", "", "\0", "x" * 300):
        with pytest.raises(InvalidFile) as caught:
            uploads.below(roots, other)
        words.add(str(caught.value).replace(f"'{other[:200]}'", "it"))
    assert len(words) == 1  # whether it is there or not, the answer is the same


# -- what nobody needs any more --------------------------------------------------------------------------


def age(jobs):
    """A day and more has passed for all that lies there."""
    past = time.time() - uploads.UNCLAIMED - 10
    for path in folder_of(jobs).iterdir():
        os.utime(path, (past, past))


def sweep(jobs):
    return uploads.sweep(jobs.store, jobs.settings)


def test_an_upload_that_no_job_took_goes_after_a_day_and_so_does_half_a_one(app_jobs, client):
    upload(client)
    uploads.Incoming(folder_of(app_jobs), "half.csv", 100).write(b"x")
    assert sweep(app_jobs) == 0
    age(app_jobs)
    assert sweep(app_jobs) == 2
    assert list(folder_of(app_jobs).iterdir()) == []


def test_an_upload_stays_while_its_job_is_told_of_or_its_unit_is_not_complete(app_jobs, client):
    from jobtrail.store import retention

    @app_jobs.task
    def partly(ctx):
        for item in ctx.items([1, 2], key=str):
            with item:
                assert item.value == 1

    complete, broken = upload(client, "good.csv"), upload(client, "bad.csv", b"other")
    for task, sent in (("read", complete), ("partly", broken)):
        client.post("/api/jobs", json={"task": task, "file": {"upload": sent["upload"]}})
    age(app_jobs)
    assert sweep(app_jobs) == 0  # they wait
    drain(app_jobs)
    assert sweep(app_jobs) == 0  # they are told of
    nothing = retention.Retention(completed=0, cancelled=0, failed=0, partial=0)
    from datetime import timedelta

    retention.run_once(app_jobs.store, nothing, app_jobs.store.now() + timedelta(seconds=1))
    assert app_jobs.find() == []
    assert sweep(app_jobs) == 1
    (left,) = folder_of(app_jobs).iterdir()
    assert left.name.startswith(broken["upload"])


def test_it_is_swept_with_what_else_is_forgotten(app_jobs, monkeypatch):
    from jobtrail.recovery import retention as retention_loop

    swept = []
    monkeypatch.setattr(retention_loop.uploads, "sweep", lambda *given: swept.append(given))
    assert retention_loop.RetentionLoop(app_jobs.store, app_jobs.settings).run_once(float("inf"))
    assert swept == [(app_jobs.store, app_jobs.settings)]


# -- settings --------------------------------------------------------------------------------------------


def test_where_files_may_lie_is_a_setting(monkeypatch, tmp_path):
    base = Settings().with_values(upload_folder=tmp_path, input_roots=[tmp_path, "incoming"])
    assert (base.upload_folder, base.input_roots) == (str(tmp_path), (str(tmp_path), "incoming"))
    monkeypatch.setenv("JOBTRAIL_UPLOAD_FOLDER", "/srv/up")
    monkeypatch.setenv("JOBTRAIL_INPUT_ROOTS", os.pathsep.join(["/a", "/b"]))
    told = JobTrail(f"sqlite:///{tmp_path}/jobs.db", upload_folder=tmp_path).settings
    assert (told.upload_folder, told.input_roots) == ("/srv/up", ("/a", "/b"))
    for wrong in ({"upload_folder": 3}, {"upload_folder": ["/a"]}, {"input_roots": 3}, {"input_roots": [""]}, {"upload_limit": 0}):
        with pytest.raises(InvalidOption):
            base.with_values(**wrong)


# -- the folder ------------------------------------------------------------------------------------------


def test_a_folder_that_others_can_write_to_or_that_is_a_link_is_refused(app_jobs, client, tmp_path):
    kept = upload(client)["upload"]
    folder = folder_of(app_jobs)
    elsewhere = tmp_path / "elsewhere"

    def refused():
        told = problem(client.post("/api/files", params={"name": "a.csv"}, content=CONTENT), 507, "not-kept")
        assert "chmod 700" in told["detail"]
        assert "chmod 700" in problem(client.post("/api/jobs", json={"task": "read", "file": {"upload": kept}}), 422)["detail"]
        assert uploads.sweep(app_jobs.store, app_jobs.settings) == 0

    for mode in (0o770, 0o707, 0o1777):
        folder.chmod(mode)
        refused()
    folder.chmod(0o700)
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    refused()
    folder.unlink()
    elsewhere.rename(folder)
    assert upload(client)


def test_a_folder_of_somebody_else_is_refused(client, monkeypatch):
    kept = upload(client)["upload"]
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    problem(client.post("/api/files", params={"name": "a.csv"}, content=CONTENT), 507, "not-kept")
    problem(client.post("/api/jobs", json={"task": "read", "file": {"upload": kept}}), 422)


def test_a_link_inside_the_folder_is_no_upload(app_jobs, client, tmp_path):
    kept = upload(client)["upload"]
    (home,) = folder_of(app_jobs).glob(f"{kept}.*")
    (file,) = home.iterdir()
    (tmp_path / "hidden").write_bytes(CONTENT)
    file.unlink()
    file.symlink_to(tmp_path / "hidden")
    problem(client.post("/api/jobs", json={"task": "read", "file": {"upload": kept}}), 404)
