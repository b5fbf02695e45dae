"""Tables of plug-ins: created and upgraded with jobtrail's own, by hand or where that is automatic, and told about."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text, inspect
from starlette.testclient import TestClient

from jobtrail import InvalidOption, JobTrail, Plugin, SchemaMismatch
from jobtrail.api import create_api
from jobtrail.cli import main
from jobtrail.database import migration
from jobtrail.testing import drain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PACKAGE = """
    from sqlalchemy import Column, Integer, MetaData, Table, Text
    from jobtrail import JobTrail, Plugin
    from jobtrail.database.types import Moment

    metadata = MetaData()
    notes = Table("notes_all", metadata, Column("id", Integer, primary_key=True), Column("text", Text), Column("at", Moment))

    def made(head="0001"):
        plugin = Plugin("notes", version="1")
        plugin.tables(metadata, "notes_package.migrations", head)

        @plugin.service
        def service(jobs):
            return Notes(jobs)

        @plugin.task
        def write(ctx, *, text):
            pass

        return plugin

    class Notes:
        def __init__(self, jobs):
            self.jobs = jobs

        def add(self, text):
            self.jobs.make_ready()
            row = {"text": text, "at": self.jobs.store.now()}
            self.jobs.store.write(lambda conn: conn.execute(notes.insert().values(row)))

        def texts(self):
            with self.jobs.store.read() as conn:
                return [row.text for row in conn.execute(notes.select())]

    def application():
        return JobTrail("sqlite:///jobs.db", plugins=[made()])
"""
FIRST = """
    import sqlalchemy as sa
    from alembic import op
    from jobtrail.database.types import Moment

    revision = "0001"
    down_revision = None

    def upgrade():
        op.create_table("notes_all", sa.Column("id", sa.Integer, primary_key=True), sa.Column("text", sa.Text), sa.Column("at", Moment))
"""
SECOND = """
    import sqlalchemy as sa
    from alembic import op

    revision = "0002"
    down_revision = "0001"

    def upgrade():
        op.add_column("notes_all", sa.Column("author", sa.Text))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package with a plug-in that has a table; in a folder whose name is hard to write into a file of settings."""
    site = tmp_path / "50% of it"
    versions = site / "notes_package/migrations/versions"
    versions.mkdir(parents=True)
    (site / "notes_package/__init__.py").write_text(textwrap.dedent(PACKAGE))
    (site / "notes_package/migrations/__init__.py").write_text("")
    (versions / "0001_first.py").write_text(textwrap.dedent(FIRST))
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    module: Any = importlib.import_module("notes_package")
    module.versions = versions
    yield module
    for name in [name for name in sys.modules if name.startswith("notes_package")]:
        del sys.modules[name]


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(request: pytest.FixtureRequest) -> str:
    """A database with jobtrail's tables alone, which no other test uses."""
    if request.param == "sqlite":
        found: str = request.getfixturevalue("sqlite_url")
        return found
    return str(request.getfixturevalue("new_database")())


def has(jobs: JobTrail, table: str) -> bool:
    with jobs.store.read() as conn:
        return inspect(conn).has_table(table)


# -- created, upgraded, refused --------------------------------------------------------------------------


@pytest.mark.both_databases
def test_migrate_creates_and_upgrades_the_tables_of_a_plugin(package: Any, fresh: str) -> None:
    with closing(JobTrail(fresh, plugins=[package.made()])) as jobs:
        assert (jobs.migrate(), jobs.migrate()) == (True, False)
        assert has(jobs, "notes_all")
        assert has(jobs, "notes_schema")
        jobs.notes.add("one")
        assert jobs.notes.texts() == ["one"]
    (package.versions / "0002_author.py").write_text(textwrap.dedent(SECOND))
    with closing(JobTrail(fresh, plugins=[package.made("0002")])) as jobs:
        assert jobs.migrate() is True
        with jobs.store.read() as conn:
            assert {one["name"] for one in inspect(conn).get_columns("notes_all")} == {"id", "text", "at", "author"}
        assert jobs.notes.texts() == ["one"]
    (package.versions / "0002_author.py").unlink()
    with closing(JobTrail(fresh, plugins=[package.made()])) as jobs:
        with pytest.raises(SchemaMismatch, match="'notes' have schema 0002, this program knows 0001: they are newer"):
            jobs.migrate()
        with pytest.raises(SchemaMismatch, match="update the plug-in on this machine"):
            jobs.make_ready()


def test_on_sqlite_they_are_created_before_the_first_statement(package: Any, lonely: str) -> None:
    with closing(JobTrail(lonely, plugins=[package.made()])) as jobs:
        jobs.notes.add("one")
        assert jobs.notes.texts() == ["one"]


def test_also_for_a_plugin_that_is_found_after_the_first_submission(package: Any, install: Any, lonely: str) -> None:
    """A program that only submits looks for no plug-ins; its worker does, in the same process."""
    install("notes", "from notes_package import made\nplugin = made()")
    with closing(JobTrail(lonely)) as jobs:
        own = jobs.task(name="own")(lambda: None)
        own.enqueue()
        assert not has(jobs, "notes_all")
        jobs.plugins.load()
        own.enqueue()
        assert has(jobs, "notes_all")


def test_a_task_finds_them_although_its_program_had_looked_for_no_plugins(package: Any, install: Any, lonely: str) -> None:
    install("notes", "from notes_package import made\nplugin = made()")
    with closing(JobTrail(lonely)) as jobs:
        job = jobs.task(name="own")(lambda: jobs.notes.texts()).enqueue()
        drain(jobs)
        assert job.result() == []


def test_a_function_of_a_route_finds_them(package: Any, lonely: str) -> None:
    plugin = package.made()

    @plugin.route("/texts", role="viewer")
    async def texts(jobs: JobTrail) -> list[str]:
        found: list[str] = jobs.notes.texts()
        return found

    with closing(JobTrail(lonely, plugins=[plugin])) as jobs:
        client = TestClient(create_api(jobs, local=True), base_url="http://127.0.0.1", client=("127.0.0.1", 5))
        assert client.get("/api/plugins/notes/texts").json() == []


def test_on_postgresql_a_program_says_who_must_create_them(package: Any, new_database: Callable[[], str]) -> None:
    with closing(JobTrail(new_database(), plugins=[package.made()])) as jobs:
        with pytest.raises(SchemaMismatch, match=r"'notes' needs schema 0001 .* run 'jobtrail migrate' once"):
            jobs.notes.add("one")
        assert not has(jobs, "notes_all")
    with closing(JobTrail(new_database(), plugins=[package.made()], migrate=True)) as jobs:
        jobs.notes.add("one")
        assert jobs.notes.texts() == ["one"]


def test_a_migration_that_fails_changes_nothing_and_names_its_plugin(package: Any, lonely: str) -> None:
    (package.versions / "0002_broken.py").write_text(textwrap.dedent(SECOND) + "    1 / 0\n")
    with closing(JobTrail(lonely, plugins=[package.made("0002")])) as jobs:
        with pytest.raises(SchemaMismatch, match="'notes' could not be upgraded: ZeroDivisionError"):
            jobs.migrate()
        assert not has(jobs, "notes_all")
        assert not has(jobs, "jobtrail_jobs")


def test_the_statements_are_printed_for_a_dba(package: Any, sqlite_url: str) -> None:
    with closing(JobTrail(sqlite_url, plugins=[package.made()])) as jobs:
        text = migration.sql(jobs.store.database, jobs.service.schemas.all())
        assert "CREATE TABLE notes_all" in text
        assert "INSERT INTO notes_schema (version_num) VALUES ('0001')" in text
        assert not has(jobs, "notes_all")


# -- refused when declared -------------------------------------------------------------------------------


def of_table(name: str) -> MetaData:
    metadata = MetaData()
    Table(name, metadata, Column("id", Integer, primary_key=True), Column("text", Text))
    return metadata


@pytest.mark.parametrize(
    ("name", "package_name", "head", "words"),
    [
        ("jobtrail_notes", "notes_package.migrations", "0001", "its tables begin with 'notes_'"),
        ("notes_schema", "notes_package.migrations", "0001", "'notes_schema' is the table of their version"),
        ("notes_all", "notes_package.migrations", "0009", "has no file versions/0009_"),
        ("notes_all", "notes_package.nowhere", "0001", "the package 'notes_package.nowhere' has no file"),
        ("notes_all", "no_such_package.migrations", "0001", "has no file versions/0001_"),
        ("notes_all", "", "0001", "the package '' has no file"),
    ],
)
def test_tables_that_cannot_be_the_plugin_s_are_refused(
    package: Any, name: str, package_name: str, head: str, words: str
) -> None:
    with pytest.raises(InvalidOption, match=words):
        Plugin("notes").tables(of_table(name), package_name, head)


def test_tables_and_a_service_are_declared_once_and_a_name_with_a_line_has_an_underscore(package: Any) -> None:
    plugin = Plugin("notes")
    plugin.tables(of_table("notes_all"), "notes_package.migrations", "0001")
    with pytest.raises(InvalidOption, match="has tables already"):
        plugin.tables(of_table("notes_all"), "notes_package.migrations", "0001")
    plugin.service(print)
    with pytest.raises(InvalidOption, match="has a service already"):
        plugin.service(print)
    with pytest.raises(InvalidOption, match="needs a function here; it has 5"):
        Plugin("x").service(5)  # type: ignore[type-var]
    assert Plugin("my-notes").prefix == "my_notes_"


def test_two_plugins_with_one_prefix_are_not_in_one_application(package: Any, lonely: str) -> None:
    one, two = Plugin("my-notes"), Plugin("my_notes")
    for plugin in (one, two):
        plugin.tables(of_table("my_notes_all"), "notes_package.migrations", "0001")
    with pytest.raises(InvalidOption, match="another plug-in has tables that begin with 'my_notes_'"):
        JobTrail(lonely, plugins=[one, two])


# -- the command line ------------------------------------------------------------------------------------


def test_migrate_and_doctor_on_the_command_line(
    package: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    app = ("--app", "notes_package:application")
    assert main([*app, "migrate", "--sql"]) == 0
    assert "CREATE TABLE notes_all" in capsys.readouterr().out
    JobTrail("sqlite:///jobs.db", plugins=()).migrate()
    assert main([*app, "doctor"]) == 1
    told = capsys.readouterr().out
    assert "notes: its tables do not exist" in told
    assert "✗ schema" in told
    assert main([*app, "migrate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "migrated": True, "schema": migration.HEAD, "plugins": {"notes": "0001"}
    }  # fmt: skip
    assert main([*app, "migrate"]) == 0
    assert "the tables of the plug-in 'notes' are at 0001" in capsys.readouterr().out
    assert main([*app, "doctor"]) == 0
    assert "notes: 0001, current" in capsys.readouterr().out
