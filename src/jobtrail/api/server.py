"""The application for the network: its routes, the guard before them, the console's files."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Match, Mount, Route

from jobtrail.messages import Message, render
from jobtrail.store import workers

from . import description, plugin_pages, problems
from .assets import Assets
from .auth.access import Access
from .auth.guard import ANYONE, Guard, needs
from .context import ApiContext
from .live import connections
from .routes import (
    audit,
    bulk,
    contents,
    errors,
    plugins,
    questions,
    schedules,
    stats,
    system,
    tasks,
    units,
    uploads,
)
from .routes import (
    jobs as job_routes,
)
from .routes import (
    workers as worker_routes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

    from jobtrail import JobTrail

# One file each, with a function make(context) that gives an APIRouter.
PARTS = (
    system, job_routes, contents, uploads, bulk, units, questions, tasks, schedules, worker_routes, errors, audit, stats, connections,
    plugins, plugin_pages,
)  # fmt: skip
STATIC = Path(__file__).parent / "static"


def create_api(
    jobs: JobTrail,
    *,
    login: Callable[[Any], Any] | None = None,
    tokens: bool = True,
    proxy_header: str | None = None,
    trusted_proxies: Iterable[str] = (),
    proxy_roles: Mapping[str, str] | None = None,
    local: bool | None = None,
    allowed_hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    prefix: str = "",
) -> FastAPI:
    """The API and the console of an application, as an ASGI application to be served or mounted.

    login: a callable (sync or async) that gets the request and returns a `Person`, or None for nobody.
    tokens: are API tokens accepted? proxy_header: the header in which a proxy at ``trusted_proxies`` says who somebody
    is; ``proxy_roles`` gives the role by name, ``*`` for all others.
    local: is whoever is on this machine an admin? Default: yes, as long as there is neither login nor proxy_header.
    allowed_hosts: the names of this server (where ``local``, loopback names always count). origins: pages of other
    origins that may change something. prefix: the path below which a proxy serves this.

    Raises: InvalidOption.
    """
    access = Access.of(
        login=login, tokens=tokens, proxy_header=proxy_header, trusted_proxies=trusted_proxies,
        proxy_roles=proxy_roles, local=local,
    )  # fmt: skip
    context = ApiContext(jobs, access)
    app = FastAPI(
        title="jobtrail", version=workers.our_version(), openapi_url=None, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )  # fmt: skip
    app.state.context = context
    problems.install(app)
    for part in PARTS:
        app.router.routes.extend(part.make(context).routes)  # flat, so that the guard sees each of them
    _describe(app)
    plugin_pages.add_files(app, context)
    _add_console(app)
    said: dict[str, Any] = {"allowed_hosts": allowed_hosts, "origins": origins, "prefix": prefix.rstrip("/")}
    app.add_middleware(Guard, context=context, table=app.router, **said)
    return app


def _describe(app: FastAPI) -> None:
    app.openapi = lambda: description.of(app)  # type: ignore[method-assign]

    @needs("viewer")
    async def openapi(request: Request) -> Response:
        home = request.scope.get("root_path", "") or "/"
        return JSONResponse({**app.openapi(), "servers": [{"url": home}]})

    app.router.routes.append(Route("/api/openapi.json", openapi, include_in_schema=False))


def _add_console(app: FastAPI) -> None:
    """The built files, and their page at every address that is no file: the console makes its own addresses."""

    @needs(ANYONE)
    async def page(request: Request) -> Response:
        index = STATIC / "index.html"
        if not index.is_file():
            return HTMLResponse(f"<!doctype html><title>jobtrail</title><p>{render(Message('api.no-console'))}</p>")
        # The page asks for its files and for the API relative to this, wherever it is mounted and however deep it is.
        base = f'<head><base href="{escape(request.scope.get("root_path", ""))}/">'
        return HTMLResponse(index.read_text("utf-8").replace("<head>", base, 1), headers={"Cache-Control": "no-cache"})

    if (STATIC / "assets").is_dir():
        files = needs(ANYONE)(Assets(STATIC / "assets"))
        app.router.routes.append(Mount("/assets", files, name="assets"))
    app.router.routes.append(_Page("/{path:path}", page, name="console", include_in_schema=False))


class _Page(Route):
    """Every address that is not the API's."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """What the API does not know is no page either."""
        match, found = super().matches(scope)
        of_api = found.get("path_params", {}).get("path", "").startswith("api/")
        return (Match.NONE, {}) if of_api else (match, found)
