"""Prints the description of the whole API, from which the console's types are made."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from jobtrail import JobTrail
from jobtrail.api import create_api


def without_examples(found: Any) -> Any:
    """They are for readers; as comments they would be most of the types."""
    if isinstance(found, list):
        return [without_examples(one) for one in found]
    if isinstance(found, dict):
        if "properties" in found:
            fields = found.pop("properties")  # one of them may bear such a name
            return {**without_examples(found), "properties": {name: without_examples(one) for name, one in fields.items()}}
        return {key: without_examples(one) for key, one in found.items() if key not in {"example", "examples"}}
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        described = create_api(JobTrail(f"sqlite:///{Path(folder) / 'jobs.db'}")).openapi()
        print(json.dumps(without_examples(described), indent=1))  # noqa: T201
