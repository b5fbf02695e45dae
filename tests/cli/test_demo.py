"""The demonstration: all of the data once and once more, small or altered data for everything else."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import warm
from services import database_name
from starlette.testclient import TestClient
from trails import until

from jobtrail import JobTrail
from jobtrail.cli.operate.demo import part

ITEMS = {
    "sync_weather": {"ok": 26_109, "failed": 6, "skipped": 0},
    "import_file": {"ok": 3_252 + 1_455 + 16, "failed": 70 + 3, "skipped": 0},
}
PARTIAL = [
    "files/airports",
    "files/planes",
    "weather/EWR 2013-02",
    "weather/EWR 2013-03",
    "weather/EWR 2013-08",
    "weather/JFK 2013-05",
    "weather/JFK 2013-07",
]
ROWS = {"weather": 26_115, "planes": 3_322, "airports": 1_458, "airlines": 16}

QUICK = Path(__file__).parents[1] / "apps" / "quick_demo.py"

pytestmark = pytest.mark.timeout(180)


def jobtrail(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("JOBTRAIL_")}
    return warm.run("-m", "jobtrail", *words, cwd=Path.cwd(), env=known | environment, timeout=500)


def demo(*words: str) -> dict[str, Any]:
    """Run the demonstration to its end and read what it tells."""
    done = jobtrail("demo", "--once", "--json", *words)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def warehouse(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Ask the warehouse."""
    with closing(sqlite3.connect(folder / "warehouse.db")) as connection:
        return connection.execute(query).fetchall()


def contents(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the warehouse, by table."""
    return {table: warehouse(folder, f"SELECT * FROM {table} ORDER BY 1, 2") for table in ROWS}


def assert_right(told: dict[str, Any]) -> None:
    """The figures of the data as it is shipped."""
    assert [told[name] for name in ("jobs", "completed", "partial", "failed")] == [39, 32, 7, 0]
    assert told["items"] == ITEMS
    assert told["partial_units"] == PARTIAL
    assert told["rerun"] == {"jobs": 7, "items": 79, "completed": 7}
    assert told["asked"] == {
        "jobs": 2, "questions": 1, "corrected": 1, "remembered": 1, "items": 3_322, "completed": 2,
    }  # fmt: skip


@pytest.fixture(scope="module")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data with two days of each month, one month of EWR, and every reading that the strict rule refuses."""
    copy = tmp_path_factory.mktemp("small") / "data"
    shutil.copytree(part("demo.place").shipped_data(), copy)
    alter(copy / "weather.csv.gz", lambda rows: [row for row in rows if kept(row) or refused(row)])
    return copy


def kept(row: dict[str, str]) -> bool:
    return int(row["day"]) <= 2 or (row["origin"], row["month"]) == ("EWR", "1")


def refused(row: dict[str, str]) -> bool:
    return "NA" in {row["temp"], row["wind_speed"]} or float(row["wind_speed"]) > 200


@pytest.fixture
def data(small_data: Path, tmp_path: Path) -> Path:
    """A copy of the small data, to be altered."""
    shutil.copytree(small_data, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one run over all of the data, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = jobtrail("demo", "--once", "--dir", str(folder), COLUMNS="200")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def alter(path: Path, change: Any) -> None:
    """Rewrite a packed CSV file: ``change`` is given its rows and returns others."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    changed = change(rows)
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(changed)


def test_the_figures_and_the_same_again_on_the_same_folder(shown: tuple[Path, str], tmp_path: Path) -> None:
    """The second run is over a copy of what the first one left, so that the order of tests is free."""
    before = contents(shown[0])
    assert {table: len(rows) for table, rows in before.items()} == ROWS
    folder = tmp_path / "again"
    shutil.copytree(shown[0], folder)

    assert_right(demo("--dir", str(folder)))
    assert contents(folder) == before
    with closing(sqlite3.connect(folder / "jobs.db")) as connection:
        query = "SELECT count(*), count(rerun_of) FROM jobtrail_jobs WHERE source {} 'files/registry'"
        assert connection.execute(query.format("<>")).fetchone() == (2 * (39 + 7), 2 * 7)
        assert connection.execute(query.format("=")).fetchone() == (2 * 2, 0)


def test_the_reasons_of_what_was_run_again_are_still_to_be_seen(shown: tuple[Path, str]) -> None:
    """79 items failed in seven jobs, and came in by their re-runs: Python, the command and the API show both."""
    with closing(JobTrail(f"sqlite:///{shown[0].as_posix()}/jobs.db", plugins=[])) as jobs:
        partial = [job for job in jobs.find("status:partial", limit=100) if job.rerun_of is None]
        client = TestClient(jobs.asgi(), "http://127.0.0.1", client=("127.0.0.1", 50_000))
        found: list[dict[str, Any]] = []
        for job in partial:
            page = client.get(f"/api/jobs/{job.id}/items", params={"outcome": "failed", "limit": 1000}).json()["items"]
            whole = client.get(f"/api/jobs/{job.id}").json()
            assert len(page) == whole["items"]["failed"] == len(job.items("failed")) == job.item_counts()["failed"]
            assert sum(whole["items"].values()) == len(job.items())
            file = client.get(f"/api/jobs/{job.id}/items.csv", params={"outcome": "failed"}).text
            assert [row["reason"] for row in csv.DictReader(io.StringIO(file))] == [one["reason"] for one in page]
            (again,) = whole["reruns"]
            assert {(one["since"]["outcome"], one["since"]["job"]) for one in page} == {("ok", again["id"])}
            told = client.get(f"/api/jobs/{again['id']}/items/history", params={"key": page[0]["key"]}).json()["records"]
            assert [(one["outcome"], one["job"], one["reason"]) for one in told] == [
                ("failed", job.id, page[0]["reason"]), ("ok", again["id"], None),
            ]  # fmt: skip
            found += page
    assert (len(partial), len(found)) == (7, 79)
    assert Counter(one["reason"] for one in found) == {
        "no year of manufacture": 70, "no time zone": 3, "no wind speed": 4, "no temperature": 1,
        "wind speed of 1048 mph is impossible (limit 200)": 1,
    }  # fmt: skip
    there = {"JOBTRAIL_DEMO_DIR": str(shown[0]), "JOBTRAIL_APP": "jobtrail.cli.operate.demo:app"}
    most = max(partial, key=lambda job: job.items_failed or 0)
    listed = json.loads(jobtrail("items", most.id, "--failed", "--json", **there).stdout)["items"]
    assert listed == [one for one in found if one["job"] == most.id]
    assert len(listed) == 70


def test_the_reasons_are_for_people_and_the_commands_it_names_work(shown: tuple[Path, str], tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(shown[0], folder)
    settings = json.loads((folder / "demo.json").read_text("utf-8"))
    settings["database"] = f"sqlite:///{folder.as_posix()}/jobs.db"
    (folder / "demo.json").write_text(json.dumps(settings), "utf-8")
    for reason in (
        "wind speed of 1048 mph is impossible (limit 200)",
        "no wind speed",
        "no temperature",
        "no year of manufacture",
        "no time zone",
        "39 of 39 units are complete",
        "The columns of registry-1.csv have other names: which one is which?",
        "Corrected by person:administrator: year ← Built.",
        "The next delivery of this source asks nothing",
    ):
        assert reason in shown[1]

    there = {"JOBTRAIL_DEMO_DIR": str(folder), "JOBTRAIL_APP": "jobtrail.cli.operate.demo:app"}
    listed = jobtrail("list", "status:partial", "--json", **there)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count('"partial"') >= 7
    covered = jobtrail("coverage", "sync_weather", **there)
    assert covered.returncode == 0, covered.stderr
    assert "weather/JFK" in covered.stdout
    again = jobtrail(
        "submit", "sync_weather", "--source", "weather/EWR", "--period", "2013-02", "--arg", "airport=EWR", **there
    )
    assert again.returncode == 0, again.stderr
    worked = jobtrail("worker", "--queues", "flights", "--burst", **there)
    assert worked.returncode == 0, worked.stderr
    assert jobtrail("list", "status:pending", "queue:flights", "--json", **there).stdout.count('"id"') == 0
    (asked,) = json.loads(jobtrail("list", "source:files/registry", "file:registry-1.csv", "--json", **there).stdout)["jobs"]
    told = jobtrail("questions", "--job", asked["id"], **there)
    assert "person:administrator" in told.stdout, told.stderr
    assert jobtrail("questions", **there).stdout == "no question waits for an answer\n"


def test_a_demonstration_that_goes_on_serves_the_console_and_leaves_a_question(tmp_path: Path, small_data: Path) -> None:
    known = {name: value for name, value in os.environ.items() if not name.startswith("JOBTRAIL_")}
    there = {"JOBTRAIL_DEMO_DIR": str(tmp_path), "JOBTRAIL_APP": "jobtrail.cli.operate.demo:app"}
    command = [sys.executable, str(QUICK), "demo", "--dir", str(tmp_path), "--data", str(small_data), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=known | {"PYTHONUNBUFFERED": "1"})
    try:
        assert process.stdout is not None
        lines = []
        while "The console is at" not in (line := process.stdout.readline()):
            assert line, lines
            lines.append(line)
        flows_in(line.split()[-1])
        falls_silent(line.split()[-1])
        (told,) = [line.split()[-1] for line in lines if "jobtrail answer" in line]
        found: list[dict[str, Any]] = []
        end = time.monotonic() + 30
        while not found and time.monotonic() < end:
            found = json.loads(jobtrail("questions", "--json", **there).stdout)["questions"]
        (asked,) = found
        assert (asked["source"], asked["job"][-8:]) == ("files/lessor", told)
        answer = {"tailnum": "Registration", "year": "Year Built", "seats": "Capacity"}
        answered = jobtrail("answer", told, "--with", json.dumps(answer), "--wait", "--json", **there)
        assert (answered.returncode, json.loads(answered.stdout)["status"]) == (0, "completed"), answered.stderr
    finally:
        process.terminate()
        process.communicate(timeout=40)
    assert process.returncode == 0, "it leaves in order"


def test_the_weather_of_one_airport_no_longer_comes() -> None:
    submitted: list[str] = []

    class Jobs:
        """Notes what is submitted."""

        def task_named(self, name: str) -> Jobs:
            return self

        def using(self, **options: Any) -> Jobs:
            return self

        def enqueue(self, airport: str) -> None:
            submitted.append(airport)

    flow = part("demo.live").Flow(Jobs(), [(airport, "2013-01") for airport in ("EWR", "JFK", "LGA")])
    for number in range(2, 8):
        flow._submit(number)
    assert submitted == ["EWR", "JFK"] * 3


def flows_in(address: str) -> None:
    """Over the network: a month runs and says how far it is, and a source fails and is tried again."""

    def jobs(wanted: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{address}api/jobs?q={wanted}", timeout=10) as answer:
            return json.load(answer)["jobs"]

    until("the console answers", lambda: answers(address), timeout=30)
    until("a month is under way", lambda: [one for one in jobs("task:sync_weather%20status:running") if one["progress"]], timeout=30)
    until("the radar is tried again", lambda: [one for one in jobs("task:sync_radar") if one["retry_reason"]], timeout=30)
    assert "503 Service Unavailable" in jobs("task:sync_radar")[0]["retry_reason"]


def falls_silent(address: str) -> None:
    """Five modules are under watch; one of them no longer reports, although the others do."""

    def modules() -> dict[str, dict[str, Any]]:
        with urllib.request.urlopen(f"{address}api/modules", timeout=10) as answer:
            return {one["module"]: one for one in json.load(answer)["modules"]}

    begun = modules()
    assert sorted(begun) == ["files", "radar", "weather.EWR", "weather.JFK", "weather.LGA"]
    others = ("weather.EWR", "weather.JFK", "radar")
    until("the others report", lambda: all(beats_of(modules(), name) > beats_of(begun, name) for name in others), timeout=60)
    assert modules()["weather.LGA"]["beats"] == begun["weather.LGA"]["beats"] > 0
    until("the job of the radar reports its error", lambda: modules()["radar"]["status"] == "warning", timeout=30)
    assert "503 Service Unavailable" in modules()["radar"]["message"]


def beats_of(modules: dict[str, dict[str, Any]], name: str) -> int:
    return int(modules[name]["beats"])


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}healthz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_other_data_give_other_figures(tmp_path: Path, data: Path) -> None:
    def without_some_readings(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        march = [row for row in rows if row["origin"] == "LGA" and row["month"] == "3"]
        march[0]["temp"], march[1]["wind_speed"], march[2]["wind_speed"] = "NA", "200.5", "brisk"
        return [row for row in rows if not (row["origin"] == "JFK" and row["month"] == "7")]

    alter(data / "weather.csv.gz", without_some_readings)
    alter(data / "planes.csv.gz", lambda rows: rows[:100])
    folder = tmp_path / "demo"
    done = jobtrail("demo", "--once", "--json", "--dir", str(folder), "--data", str(data))
    told = json.loads(done.stdout)

    assert told["jobs"] == 39
    assert "weather/JFK 2013-07" not in told["partial_units"]
    assert "weather/LGA 2013-03" in told["partial_units"]
    assert told["items"]["sync_weather"]["failed"] == 4 + 3
    # A reading that is no number is nothing that the lenient rule forgives.
    assert (done.returncode, told["rerun"]["completed"]) == (1, told["rerun"]["jobs"] - 1)
    assert warehouse(folder, "SELECT count(*) FROM planes") == [(100,)]


def test_an_hour_told_twice_is_a_failed_item_and_not_a_failed_month(tmp_path: Path, data: Path) -> None:
    rows: list[dict[str, str]] = []

    def one_twice(read: list[dict[str, str]]) -> list[dict[str, str]]:
        rows.extend(read)
        return [read[0], *read]

    alter(data / "weather.csv.gz", one_twice)
    told = demo("--dir", str(tmp_path / "demo"), "--data", str(data))
    assert "weather/EWR 2013-01" in told["partial_units"]
    assert told["rerun"]["items"] == 80
    assert warehouse(tmp_path / "demo", "SELECT count(*) FROM weather") == [(len(rows),)]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda data: (data / "airports.csv").unlink(), "there is no airports.csv in"),
        (lambda data: (data / "planes.csv.gz").write_bytes(b"no gzip"), "planes.csv.gz cannot be read"),
        (lambda data: (data / "airlines.csv").write_text("carrier\n9E\n"), "lacks the column name"),
        (lambda data: (data / "weather.csv.gz").write_bytes((data / "weather.csv.gz").read_bytes()[:9000]), "be read"),
    ],
)
def test_data_that_cannot_be_read_are_refused_in_one_sentence(
    tmp_path: Path, data: Path, spoil: Any, sentence: str
) -> None:
    spoil(data)
    done = jobtrail("demo", "--once", "--json", "--dir", str(tmp_path / "demo"), "--data", str(data))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database for one test."""
    import psycopg

    name = database_name(uuid4().hex[:12])
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{postgres_server.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.mark.long
def test_the_figures_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    assert_right(demo("--dir", str(tmp_path), "--database", postgres_url))
    assert not (tmp_path / "jobs.db").exists()
    assert warehouse(tmp_path, "SELECT count(*) FROM weather") == [(26_115,)]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_figures_with_a_celery_worker(tmp_path: Path, broker: str) -> None:
    assert_right(demo("--dir", str(tmp_path), "--executor", "celery", "--broker", broker))
    assert warehouse(tmp_path, "SELECT count(*) FROM weather") == [(26_115,)]
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        assert connection.execute("SELECT count(*) FROM jobtrail_jobs WHERE executor IS NULL").fetchone() == (0,)
        alive = connection.execute("SELECT count(*) FROM jobtrail_workers WHERE state <> 'stopped'").fetchone()
    assert alive == (0,), "the Celery worker left in order"


def test_celery_needs_a_broker_and_ends_by_itself(tmp_path: Path) -> None:
    for words in (["--executor", "celery"], ["--broker", "redis://x", "--once"], ["--executor", "celery", "--broker", "redis://x"]):
        done = jobtrail("demo", "--dir", str(tmp_path), *words)
        assert done.returncode == 2
        assert "--once --executor celery --broker" in done.stderr
