"""Prints the description of the whole API, from which the console's types are made."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from jobtrail import JobTrail
from jobtrail.api import create_api

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(create_api(JobTrail(f"sqlite:///{Path(folder) / 'jobs.db'}")).openapi(), indent=1))  # noqa: T201
