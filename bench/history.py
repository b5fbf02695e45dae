"""Import and export of old jobs: `python bench/history.py [JOBS]` on SQLite and on a private PostgreSQL.

Each record has arguments, a label, a unit of its own (source and month) and two items; a tenth has failed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import services

from jobtrail import JobTrail
from jobtrail.commands.history.files import JsonLines
from jobtrail.queries.history.tables import write_json_lines

BEGIN = datetime(2012, 1, 1, tzinfo=UTC)


def record(number):
    begun = BEGIN + timedelta(minutes=number)
    failed = number % 10 == 0
    return {
        "key": f"loads-{number}", "task": f"load_{number % 7}", "status": "failed" if failed else "completed",
        "source": f"shop/{number % 500}", "period": f"{2012 + number // 500 // 12 % 900}-{number // 500 % 12 + 1:02}",
        "created_at": begun.isoformat(), "started_at": (begun + timedelta(seconds=2)).isoformat(),
        "finished_at": (begun + timedelta(seconds=30)).isoformat(), "args": {"shop": number % 500, "full": False},
        "labels": {"tenant": f"t{number % 50}"}, "error": {"type": "ValueError", "message": f"no price in row {number}"} if failed else None,
        "result": None if failed else {"rows": 2},
        "items": [{"key": "a", "outcome": "ok"}, {"key": "b", "outcome": "failed" if failed else "ok"}],
    }  # fmt: skip


def measure(name, url, file, folder, number):
    with closing(JobTrail(url)) as jobs:
        jobs.migrate()
        begun, busy = time.perf_counter(), time.process_time()
        done = jobs.import_ended(JsonLines(file))
        imported, computed = time.perf_counter() - begun, time.process_time() - busy
        assert done.jobs == number, done
        begun = time.perf_counter()
        assert jobs.import_ended(JsonLines(file)).there == number
        again = time.perf_counter() - begun
        begun = time.perf_counter()
        with (folder / "out.jsonl").open("w") as out:
            assert write_json_lines(out, jobs.export()) == number
        exported = time.perf_counter() - begun
        begun = time.perf_counter()
        deleted = jobs.delete("label:tenant=t7").jobs
        print(f"| {name} | {imported:.1f} | {computed:.1f} | {again:.1f} | {exported:.1f} | {deleted / (time.perf_counter() - begun):,.0f} |", flush=True)


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        file = folder / "jobs.jsonl"
        with file.open("w") as out:
            for one in range(number):
                out.write(json.dumps(record(one)) + "\n")
        print("| database | import, s | of it in our process, s | the same again, s | export, s | deleted, jobs/s |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        measure("SQLite", f"sqlite:///{folder / 'jobs.db'}", file, folder, number)
        with services.start_postgres() as server:
            measure("PostgreSQL", server.address, file, folder, number)


if __name__ == "__main__":
    main()
