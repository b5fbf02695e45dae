"""Files handed over for jobs: taken as they come, under a name of their own until they are whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.bodies import takes_files
from jobtrail.api.problems import Problem
from jobtrail.commands import uploads
from jobtrail.messages import Message
from jobtrail.queries.base import Model
from jobtrail.store import events

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext

PIECE = 1 << 20  # bytes gathered before they are written


class Uploaded(Model):
    """A file that can be named in a submission or a re-run. One that no job takes goes after a day."""

    upload: str
    name: str
    size: int = Field(description="bytes")
    sha256: str


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("files")

    @router.post(
        "/files",
        operation_id="uploadFile",
        summary="Hand over a file",
        status_code=201,
        responses=also(413, 507),
        description="The body is the file itself, whatever its type.",
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    @takes_files
    @needs("operator")
    async def upload(
        request: Request,
        who: Who,
        name: Annotated[str, Query(min_length=1, max_length=1000, description="Its name.", examples=["planes.csv"])],
    ) -> Uploaded:
        return await _receive(context, request, name, who.actor)

    return router


async def _receive(context: ApiContext, request: Request, name: str, actor: str) -> Uploaded:
    settings = context.jobs.settings
    folder = await context.call(uploads.folder_of, settings, context.store)
    incoming = await context.call(_begin, folder, name, settings.upload_limit)
    try:
        gathered = bytearray()
        async for data in request.stream():
            gathered += data
            if len(gathered) >= PIECE:
                await context.call(incoming.write, bytes(gathered))
                gathered.clear()
        await context.call(incoming.write, bytes(gathered))
        found = await context.call(incoming.finish)
    except OSError as error:
        incoming.abandon()
        raise Problem(507, "not-kept", Message("api.file-not-kept", error=error.strerror or error)) from error
    except BaseException:  # also a client that has gone
        incoming.abandon()
        raise
    await context.call(_record, context, found, actor)
    return Uploaded(upload=found.id, name=found.file.name, size=found.file.size, sha256=found.file.sha256)


def _begin(folder: Path, name: str, limit: int) -> uploads.Incoming:
    try:
        return uploads.Incoming(folder, name, limit)
    except OSError as error:
        message = Message("api.folder-unwritable", folder=folder, error=error.strerror or error)
        raise Problem(507, "not-kept", message) from error


def _record(context: ApiContext, found: uploads.Upload, actor: str) -> None:
    file = found.file
    detail = {"name": file.name, "size": file.size, "sha256": file.sha256}
    said: dict[str, Any] = {"actor": actor, "name": "file_uploaded", "target": found.id, "detail": detail}
    context.store.write(lambda conn: events.record_action(conn, context.store.dialect, context.store.now(), **said))
