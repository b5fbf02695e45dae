"""What the tests of the API share: an application with a few tasks, and what a problem looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jobtrail import Context, JobTrail, PermanentError, Retry

HERE = "http://127.0.0.1"
OURS = {"X-Jobtrail": "1"}
OPEN = {
    "/api/me", "/api/login", "/api/logout", "/healthz", "/readyz",
    "/{path:path}", "/assets",  # the console's files, which tell nothing
}  # fmt: skip
LOOKS = {"/api/schedules/preview"}  # asked with a body by a viewer, and changes nothing


def add_tasks(jobs: JobTrail) -> JobTrail:
    """Small tasks for each way that a job can go."""

    @jobs.task(kind="sync")
    def load(ctx: Context, *, rows: int = 4, bad: int = 0) -> dict[str, Any]:
        """Load some rows, of which some are bad."""
        ctx.log.info("loading %d rows", rows)
        for item in ctx.items(list(range(rows)), key=str):
            with item:
                if item.value < bad:
                    message = f"=row {item.value} has no price"
                    raise PermanentError(message)
        return {"rows": rows}

    @jobs.task
    def add(*, a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @jobs.task(secret={"pin"})
    def fail(ctx: Context, *, message: str = "no way", **secrets: Any) -> None:
        """End badly."""
        ctx.log.warning("about to say: %s", message)
        raise PermanentError(message)

    @jobs.task(retry=Retry(attempts=3, wait=3600))
    def flaky() -> None:
        """Fail in a way that is tried again."""
        message = "not today"
        raise ConnectionError(message)

    @jobs.task
    def asks(ctx: Context) -> Any:
        """Ask a person."""
        return ctx.ask("go_on", "Shall it go on?", bool)

    @jobs.task(kind="file")
    def read(ctx: Context) -> str:
        """Read its file."""
        return Path(ctx.file.path).read_text()

    return jobs


def problem(response: Any, status: int, code: str | None = None) -> dict[str, Any]:
    """The problem that was answered, which must be one."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = response.json()
    assert told["status"] == status
    assert told["detail"]
    assert "Traceback" not in response.text
    if code is not None:
        assert told["code"] == code, told
    return told
