"""The description of the API in the documentation has an example of every request and answer."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from jobtrail import JobTrail

SCRIPT = Path(__file__).parents[2] / "scripts/api_description.py"


def test_every_request_and_answer_has_an_example(tmp_path):
    spec = importlib.util.spec_from_file_location("api_description", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    jobs = JobTrail(f"sqlite:///{tmp_path / 'jobs.db'}", plugins=[])
    made = script.described(jobs)
    operations = [one for by_method in made["paths"].values() for one in by_method.values()]
    assert len(operations) > 60
    for operation in operations:
        media = [one for one in operation.get("requestBody", {}).get("content", {}).values()]
        for answer in operation["responses"].values():
            media += answer.get("content", {}).values()
        assert all("example" in one for one in media), operation["operationId"]
    (coverage,) = made["paths"]["/api/units"].values()
    assert coverage["responses"]["200"]["content"]["application/json"]["example"]["task"] == "sync_weather"
    assert "example" not in coverage["parameters"][0] or coverage["parameters"][0]["example"] == "sync_weather"
