"""The addresses that plug-ins bring, below ``/api/plugins/<plug-in>`` or without prefix, behind the guard of all others."""

from __future__ import annotations

import inspect
from json import loads
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from jobtrail.api.auth.guard import also, needs, person_of, routes
from jobtrail.job.json_value import encode_result
from jobtrail.job.masking import masked
from jobtrail.store import events

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext
    from jobtrail.plugins.parts import PluginRoute


def make(context: ApiContext) -> APIRouter:
    """The routes of all plug-ins."""
    router = routes("plugins")
    for plugin, route in context.jobs.plugins.routes():
        _add(router, context, plugin, route)
    return router


def _add(router: APIRouter, context: ApiContext, plugin: str, route: PluginRoute) -> None:
    @needs(route.role)
    async def answer(request: Request) -> Response:
        if route.method != "GET":
            await context.call(_record, context, person_of(request).actor, f"{route.method} {request.scope['path']}")
        if inspect.iscoroutinefunction(route.function):
            found = await route.function(context.jobs, **request.path_params)
        else:
            found = await context.call(route.function, context.jobs, **request.path_params)
        return _answer(found)

    words = route.path.replace("/", " ").replace("{", "").replace("}", "").split()
    about = (route.function.__doc__ or "").strip().partition("\n")[0] or None
    named = [*([] if route.plain else [plugin]), route.method.lower(), *words]
    path = route.path if route.plain else f"/plugins/{plugin}{route.path if route.path != '/' else ''}"
    router.add_api_route(
        path, answer, methods=[route.method], operation_id="_".join(named), summary=about,
        response_class=JSONResponse, response_model=None, responses=also(404, 409),
    )  # fmt: skip


def _record(context: ApiContext, actor: str, target: str) -> None:
    said: dict[str, Any] = {"actor": actor, "name": "plugin_called", "target": target[:500]}
    context.store.write(lambda conn: events.record_action(conn, context.store.dialect, context.store.now(), **said))


def _answer(found: Any) -> Response:
    """As JSON, as far as it goes, and without secrets."""
    text, note = encode_result(found)
    headers = {"X-Jobtrail-Note": note.encode("ascii", "backslashreplace").decode()} if note else None
    return JSONResponse(masked(loads(text)) if text else None, headers=headers)
