"""A Django project whose databases are those of the test."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import make_url

HERE = Path(os.environ["SHOP_FOLDER"])
url = make_url(os.environ["SHOP_URL"])
if url.drivername == "sqlite":
    default = {"ENGINE": "django.db.backends.sqlite3", "NAME": url.database}
else:
    default = {
        "ENGINE": "django.db.backends.postgresql", "NAME": url.database, "USER": url.username or "",
        "PASSWORD": url.password or "", "HOST": url.host or url.query.get("host", ""), "PORT": url.port or url.query.get("port", ""),
    }  # fmt: skip
default["CONN_MAX_AGE"] = None  # kept for ever: what the server ends meanwhile is a broken connection
DATABASES = {"default": default, "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": HERE / "other.db"}}
SECRET_KEY = "of a test"
USE_TZ = True
ROOT_URLCONF = "urls"
ALLOWED_HOSTS = ["testserver"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "jobtrail.django", "orders"]
JOBTRAIL = {"POLL_INTERVAL": 0.2, "PLUGINS": []}
TEST_RUNNER = "jobtrail.django.testing.JobTrailRunner"
