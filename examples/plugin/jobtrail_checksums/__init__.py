"""Check that the files of an archive have not changed."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobtrail import Context, Plugin, RetryableError

if TYPE_CHECKING:
    from jobtrail import JobTrail

LIST = "checksums.json"

plugin = Plugin("checksums", about="Checks that the files of an archive have not changed.", options={"kind": "file", "retry": 3})


@plugin.middleware(options=["must_be_there"])
async def only_when_mounted(run: Any, call_next: Any) -> Any:
    """Retry later if the disk is not mounted, instead of reporting all files as lost."""
    folder = run.arguments.get(run.task.options.get("must_be_there"))
    if folder is not None and not await asyncio.to_thread(Path(folder).is_dir):
        message = f"the folder {folder} is not there"
        raise RetryableError(message)
    return await call_next(run)


@plugin.task(must_be_there="folder")
def record(ctx: Context, *, folder: str = "archive") -> dict[str, int]:
    """Record the checksum of every file that is not in the list yet."""
    known = listed(folder)
    names = (path.relative_to(folder).as_posix() for path in sorted(Path(folder).rglob("*")) if path.is_file())
    for item in ctx.items([name for name in names if name != LIST and name not in known], key=str):
        with item:
            known[item.value] = digest(Path(folder, item.value))
    Path(folder, LIST).write_text(json.dumps(known, indent=1), encoding="utf-8")
    return {"files": len(known)}


@plugin.schedule("0 3 * * SUN")
@plugin.task(must_be_there="folder", executor="process", timeout=3600)
def verify(ctx: Context, *, folder: str = "archive") -> dict[str, int]:
    """Compare every file with its checksum; a missing or changed file is a failed item."""
    known = listed(folder)
    for item in ctx.items(sorted(known), key=str):
        with item:
            if digest(Path(folder, item.value)) != known[item.value]:
                message = "its content has changed"
                raise ValueError(message)
    return {"files": len(known)}


def listed(folder: str) -> dict[str, str]:
    """Return the recorded checksums, by path inside the folder."""
    path = Path(folder, LIST)
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@plugin.route("/bad", role="viewer")
def bad(jobs: JobTrail) -> list[dict[str, Any]]:
    """Return the files that the newest verification found missing or changed."""
    newest = jobs.find("task:checksums.verify", limit=1)
    return [{"file": item.key, "why": item.reason} for job in newest for item in job.items("failed", generation=True)]


@plugin.command("bad")
def print_bad(jobs: JobTrail, *, as_json: bool) -> int:
    """Print the files that the newest verification found missing or changed; exit code 1 if there are any."""
    found = bad(jobs)
    print(json.dumps(found) if as_json else "\n".join(f"{one['file']}: {one['why']}" for one in found) or "all is well")
    return 1 if found else 0


@plugin.channel("paper")
def paper(notification: Any) -> None:
    """Also write each notification to a text file."""
    with Path("checksums.txt").open("a", encoding="utf-8") as file:
        file.write(f"{notification}\n")
