"""Pages of plug-ins in the console: the list of them, and their modules below ``/plugin-pages/<plug-in>/``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from jobtrail.messages import current_language
from jobtrail.plugins.parts import PAGE_FILES, page_file
from jobtrail.queries.base import Model

from .auth.access import ROLES
from .auth.guard import Who, needs, routes

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from fastapi import APIRouter, FastAPI
    from starlette.requests import Request

    from jobtrail.plugins.parts import PluginPage

    from .context import ApiContext

HOME = "plugin-pages"


class PageLine(Model):
    """A page of a plug-in: its title in the language of the request, and the address of its module."""

    plugin: str = Field(examples=["office"])
    name: str = Field(examples=["modules"])
    title: str = Field(examples=["Modules"])
    module: str = Field(examples=["plugin-pages/office/page.js"], description="Relative to the console.")
    strip: bool = Field(description="It has something for the overview page.")


class PageList(Model):
    """The pages that the caller may see, in the order in which they are declared."""

    pages: list[PageLine]


def make(context: ApiContext) -> APIRouter:
    """The list of pages."""
    router = routes("plugins")

    @router.get("/plugin-pages", operation_id="listPluginPages", summary="The console's pages of plug-ins")
    @needs("viewer")
    async def pages(who: Who) -> PageList:
        found = [(plugin, page) for plugin, page in context.jobs.plugins.pages() if who.may(page.role)]
        return PageList(pages=[_line(plugin, page) for plugin, page in found])

    return router


def _line(plugin: str, page: PluginPage) -> PageLine:
    title = page.title.get(current_language()) or page.title["en"]
    module = f"{HOME}/{plugin}/{quote(page.module)}"
    return PageLine(plugin=plugin, name=page.name, title=title, module=module, strip=page.strip)


def add_files(app: FastAPI, context: ApiContext) -> None:
    """Serve the modules, each for the role of its page, and what they load for the lowest of these roles."""
    by_plugin: dict[str, list[PluginPage]] = {}
    for plugin, page in context.jobs.plugins.pages():
        by_plugin.setdefault(plugin, []).append(page)
    for plugin, pages in by_plugin.items():
        for page in pages:
            app.router.routes.append(_route(f"/{HOME}/{plugin}/{page.module}", [page.folder], page.role, page.module))
        folders = list(dict.fromkeys(page.folder for page in pages))
        lowest = min((page.role for page in pages), key=ROLES.index)
        app.router.routes.append(_route(f"/{HOME}/{plugin}/{{path:path}}", folders, lowest))


def _route(path: str, folders: Sequence[Path], role: str, name: str | None = None) -> Route:
    return Route(path, needs(role)(_serve(folders, name)), include_in_schema=False)


def _serve(folders: Sequence[Path], name: str | None) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def file(request: Request) -> Response:
        asked = name or str(request.path_params["path"])
        found = next((whole for folder in folders if (whole := page_file(folder, asked)) is not None), None)
        if found is None:
            raise HTTPException(404)
        content = found.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {"Cache-Control": "no-cache", "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=PAGE_FILES[found.suffix])

    return file
