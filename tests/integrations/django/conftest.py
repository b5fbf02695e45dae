"""A Django project in processes of its own: Django has one set of settings for a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from services import fresh_database

pytest.importorskip("django")
SHOP = Path(__file__).parents[2] / "apps" / "django_shop"
ROOT = Path(__file__).parents[3]
BEGIN = """
import django; django.setup()
from django.db import connection, connections, transaction
from orders.models import Order
from orders.tasks import acount, count, count_in_child
from jobtrail.django import jobs
from jobtrail.testing import drain
def states(): return sorted((job.task, str(job.status)) for job in jobs.find())
"""


class Shop:
    """The project of ``tests/apps/django_shop`` on one database."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        path = os.pathsep.join([str(SHOP), str(ROOT / "src")])
        names = {"DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": path, "SHOP_FOLDER": str(folder), "SHOP_URL": url}
        self.environment = {**os.environ, **names}
        self.folder = folder

    def manage(self, *words: str) -> str:
        """Run ``manage.py`` to its end; what it prints."""
        return self._run("-m", "django", *words)

    def python(self, code: str) -> str:
        """Run a program of the project to its end; what it prints."""
        return self._run("-c", BEGIN + code)

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=50
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """The file of a project with tables, made once."""
    folder = tmp_path_factory.mktemp("shop")
    Shop(folder, f"sqlite:///{folder}/shop.db").manage("migrate", "-v", "0", "--run-syncdb")
    return folder / "shop.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request, tmp_path):
    """The project, its tables made, on a database of its own."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated"), tmp_path / "shop.db")
        yield Shop(tmp_path, f"sqlite:///{tmp_path}/shop.db")
        return
    with fresh_database(request.getfixturevalue("postgres_server")) as url:
        made = Shop(tmp_path, url)
        made.manage("migrate", "-v", "0", "--run-syncdb")
        yield made
