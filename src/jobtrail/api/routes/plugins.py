"""The addresses that plug-ins bring, below ``/api/plugins/<plug-in>`` or without prefix, behind the guard of all others."""

from __future__ import annotations

import inspect
import logging
import re
from json import loads
from typing import TYPE_CHECKING, Annotated, Any, get_origin

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from jobtrail.api.auth.guard import accepts, also, needs, person_of, routes
from jobtrail.errors import InvalidOption
from jobtrail.job.json_value import encode_result
from jobtrail.job.masking import masked
from jobtrail.messages import Message
from jobtrail.store import events

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from jobtrail.api.context import ApiContext
    from jobtrail.plugins.parts import PluginRoute

_REQUEST = "request__"  # no parameter of a function is called so
_IDENTITY = "identity"
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_EMPTY = inspect.Parameter.empty
_log = logging.getLogger("jobtrail.plugins")


def make(context: ApiContext) -> APIRouter:
    """The routes of all plug-ins. One of an installed plug-in that cannot be served is logged and left out."""
    router = routes("plugins")
    for plugin, route in context.jobs.plugins.routes():
        try:
            _add(router, context, plugin, route)
        except Exception as error:
            message = Message("api.plugin-route", plugin=plugin, path=route.path, why=str(error))
            if context.jobs.plugins[plugin].package is None:
                raise InvalidOption(message) from error
            _log.warning("%s", message)
    return router


def _add(router: APIRouter, context: ApiContext, plugin: str, route: PluginRoute) -> None:
    words = route.path.replace("/", " ").replace("{", "").replace("}", "").split()
    about = (route.function.__doc__ or "").strip().partition("\n")[0] or None
    named = [*([] if route.plain else [plugin]), route.method.lower(), *words]
    path = route.path if route.plain else f"/plugins/{plugin}{route.path if route.path != '/' else ''}"
    router.add_api_route(
        path, _endpoint(context, plugin, route), methods=[route.method], operation_id="_".join(named), summary=about,
        response_class=JSONResponse, response_model=None, responses={**also(404, 409), **_answers(route)},
    )  # fmt: skip


def _endpoint(
    context: ApiContext, plugin: str, route: PluginRoute
) -> Callable[..., Coroutine[Any, Any, Response]]:
    """The function of a route as FastAPI calls it: with the request, and what it declares of path, body and query."""
    own = route.own_parameters(plugin)
    wants_identity = any(one.name == _IDENTITY for one in own)
    in_path = re.findall(r"\{(\w+)\}", route.path)

    @needs(route.role)
    async def answer(**given: Any) -> Response:
        request: Request = given.pop(_REQUEST)
        if wants_identity:
            given[_IDENTITY] = person_of(request)
        if route.method != "GET" and route.audit:
            await context.call(_record, context, person_of(request).actor, f"{route.method} {request.scope['path']}")
        if inspect.iscoroutinefunction(route.function):
            await context.call(_nothing)  # the tables are there
            return _answer(await route.function(context.jobs, **given))
        return _answer(await context.call(route.function, context.jobs, **given))

    answer.__signature__ = _signature(own, in_path)  # type: ignore[attr-defined]
    return accepts(route.accepts)(answer) if route.accepts is not None else answer


def _signature(own: Iterable[inspect.Parameter], in_path: list[str]) -> inspect.Signature:
    parameters = [inspect.Parameter(_REQUEST, _KEYWORD, annotation=Request)]
    known = {one.name: one for one in own}
    for name in in_path:
        annotation = known[name].annotation if name in known else str
        parameters.append(
            inspect.Parameter(name, _KEYWORD, annotation=str if annotation is _EMPTY else annotation)
        )
    for name, one in known.items():
        if name not in in_path and name != _IDENTITY:
            parameters.append(one.replace(kind=_KEYWORD, annotation=_sent_as(one.annotation)))
    return inspect.Signature(parameters)


def _sent_as(annotation: Any) -> Any:
    """A pydantic model is the body; everything else stands in the query, unless it says otherwise."""
    if get_origin(annotation) is Annotated or (inspect.isclass(annotation) and issubclass(annotation, BaseModel)):
        return annotation
    return Annotated[str if annotation is _EMPTY else annotation, Query()]


def _answers(route: PluginRoute) -> dict[int | str, dict[str, Any]]:
    """For the description: the model that the function says it returns."""
    told = getattr(route.function, "__annotations__", {}).get("return")
    if isinstance(told, str):
        told = getattr(inspect.unwrap(route.function), "__globals__", {}).get(told)
    return {200: {"model": told}} if inspect.isclass(told) and issubclass(told, BaseModel) else {}


def _nothing() -> None:
    pass


def _record(context: ApiContext, actor: str, target: str) -> None:
    said: dict[str, Any] = {"actor": actor, "name": "plugin_called", "target": target[:500]}
    context.store.write(lambda conn: events.record_action(conn, context.store.dialect, context.store.now(), **said))


def _answer(found: Any) -> Response:
    """As JSON, as far as it goes, and without secrets."""
    if isinstance(found, BaseModel):
        found = found.model_dump(mode="json", by_alias=True)  # as the description says
    text, note = encode_result(found)
    headers = {"X-Jobtrail-Note": note.encode("ascii", "backslashreplace").decode()} if note else None
    return JSONResponse(masked(loads(text)) if text else None, headers=headers)
