"""The console: ``path("jobs/", include("jobtrail.django.urls"))``."""

from __future__ import annotations

from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt

from .console import console

app_name = "jobtrail"
urlpatterns = [re_path(r"^(?P<path>.*)$", csrf_exempt(console), name="console")]  # the API has a check of its own
