"""The page `django.md`: from an empty project to a tracked import, its blocks as they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "how-to" / "django.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', TEXT, re.DOTALL))
UPLOAD = """
import django; django.setup()
from django.test import Client
rows = [{"name": "apple", "cents": "120"}, {"name": "pear", "cents": "1,50"}]
answer = Client(SERVER_NAME="localhost").post("/upload/?day=2013-02-12", rows, content_type="application/json")
from django.contrib.auth.models import User
clerk = Client(SERVER_NAME="localhost")
clerk.force_login(User.objects.create(username="ann", is_staff=True))
print(answer.status_code, clerk.get("/jobs/").status_code, len(clerk.get("/jobs/api/jobs").json()["jobs"]))
"""


def test_the_day_takes_at_most_forty_lines_of_ones_own():
    lines = [line for title, text in BLOCKS.items() if title.startswith("shop/") for line in text.splitlines() if line.strip()]
    assert len(lines) <= 40


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_day_goes_as_the_page_says(tmp_path):
    names = {"PYTHONPATH": str(ROOT / "src")}

    def run(*words):
        """Run Python; the first program has no settings yet."""
        names["DJANGO_SETTINGS_MODULE"] = "shop.settings" if (tmp_path / "shop").exists() else "django.conf.global_settings"
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env={**os.environ, **names}, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("-c", "from django.core.management import call_command; call_command('startproject', 'shop', '.')")
    for title, text in BLOCKS.items():
        if title.startswith("shop/"):
            path = tmp_path / title.split(",")[0]
            path.write_text(path.read_text() + text if title.endswith("at the end") else text)
    make, migrate, worker, list_ = (line.split()[1:] for line in BLOCKS["commands"].splitlines())
    run(*make)
    run(*migrate)
    assert run("-c", UPLOAD).split() == ["200", "200", "1"]
    run(*worker)
    assert "partial" in run(*list_)
    [job] = json.loads(run(*list_, "--json"))["jobs"]
    assert (job["task"], job["status"], job["source"]) == ("load_prices", "partial", "shop")
