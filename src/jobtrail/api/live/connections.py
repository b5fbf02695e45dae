"""Live: one WebSocket for each page with its subscriptions, and a stream of server-sent events for scripts."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Header, Query, Request, WebSocket
from sse_starlette import EventSourceResponse
from starlette.responses import Response
from starlette.websockets import WebSocketDisconnect

from jobtrail.api import problems
from jobtrail.api.auth.guard import also, needs, person_of, routes
from jobtrail.api.bodies import is_too_deep
from jobtrail.api.problems import Problem
from jobtrail.errors import InvalidOption, JobTrailError
from jobtrail.messages import Message, render
from jobtrail.queries.base import Model

from . import hub as hubs
from .hub import Hub
from .plugin_topics import topics_of
from .send_buffer import SendBuffer
from .topics import Subscribe, topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence

    from starlette.requests import HTTPConnection

    from jobtrail.api.context import ApiContext

    from .topics import Topics

TOO_SLOW = 4008  # the code of a client that does not read
LOGGED_OUT = 4401
NOT_UNDERSTOOD = 1003
TOO_MANY = 1013
# A reason of a close frame has at most 123 bytes.
_REASONS = {TOO_SLOW: "api.read-too-slowly", LOGGED_OUT: "api.log-in-again", NOT_UNDERSTOOD: "api.not-understood"}
PATIENCE = 10.0  # seconds that a message may take to be sent
LOGIN_EVERY = 30.0  # seconds
MOST_TOPICS = 20  # of one client
MOST_ANSWERS = 200  # that wait for a client
LONGEST_SAID = 16_384  # characters
TRAIL = "events"
_STREAM: dict[str, Any] = {"content": {"text/event-stream": {}}, "description": "A stream that does not end."}


class Clients(Model):
    """How many clients follow here, and how many were closed since the start because they read too slowly."""

    clients: int
    dropped: int


class Station:
    """The hub of each event loop; a server has one."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context
        self._hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()
        context.topics.update({**topics(), **topics_of(context)})
        self.topics: Topics = context.topics

    def hub(self) -> Hub:
        """The hub of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._hubs.get(loop)
        if found is None:
            found = self._hubs[loop] = Hub(self._context)
        return found

    def shut_down(self) -> None:
        """End the streams of the running loop, because its server stops."""
        self.hub().leaving.set()

    def subscription(self, said: Subscribe, role: str) -> Callable[[SendBuffer], Callable[[], None]]:
        """Return a function that begins a subscription for a send buffer, and returns a function that ends it.

        Raises:
            JobTrailError: if there is no such topic, or its words are not valid.
        """
        if said.topic == TRAIL:
            return lambda buffer: self.hub().follow(said.id, buffer, _fits(said), said.after)
        make = self.topics.get(said.topic)
        if make is None:
            raise InvalidOption(Message("api.no-topic", topic=said.topic, known=sorted([TRAIL, *self.topics])))
        look = make(self._context, said, role)
        return lambda buffer: self.hub().watch(look, said.id, buffer)

    @contextlib.contextmanager
    def client(self) -> Iterator[Hub]:
        """Count a client as long as the block runs.

        Raises:
            Problem: 503, if there are too many clients.
        """
        hub = self.hub()
        if hub.clients >= hubs.MOST_CLIENTS:
            raise Problem(503, "too-many-clients", Message("api.too-many-clients", clients=hub.clients))
        hub.clients += 1
        try:
            yield hub
        finally:
            hub.clients -= 1


def _fits(said: Subscribe) -> Callable[[dict[str, Any]], bool]:
    return lambda line: said.job in (None, line["job"]) and said.task in (None, line["task"])


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("live")
    station = Station(context)
    context.shutdown_hooks.append(station.shut_down)

    @router.websocket("/live")
    @needs("viewer")
    async def live(websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            with station.client() as hub:
                await Conversation(context, station, websocket).run(hub)
        except Problem as problem:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await websocket.close(TOO_MANY, problem.detail)

    @router.get(
        "/live/events",
        operation_id="followEvents",
        summary="The trail, or a topic, as server-sent events",
        response_class=Response,
        responses={200: _STREAM, **also(404)},
        description="For curl and scripts. Lines of the trail have ids: reconnect with `Last-Event-ID` (or `after`) and "
        "what came meanwhile is given first; a line may come twice, with the same id. The event `reset` says that lines "
        "are missing.",
    )
    @needs("viewer")
    async def events(
        request: Request,
        topic: Annotated[str, Query(max_length=100, description="events, or a topic of the WebSocket.")] = TRAIL,
        filter: Annotated[str, Query(max_length=4000, description="Of the topic jobs.")] = "",  # noqa: A002 - as it is called everywhere
        job: Annotated[str | None, Query(max_length=36, description="Of the topics job and events.")] = None,
        task: Annotated[str | None, Query(max_length=200, description="Of the topic events.")] = None,
        parameter: Annotated[str, Query(max_length=1000, description="Of the topics of plug-ins.")] = "",
        after: Annotated[int | None, Query(ge=0, description="The last id that is known.")] = None,
        last_event_id: Annotated[str | None, Header(max_length=40)] = None,
    ) -> Response:
        known = int(last_event_id) if last_event_id and last_event_id.isdigit() else after
        words = {"topic": topic, "filter": filter, "job": job, "task": task, "after": known, "parameter": parameter}
        said = Subscribe.of({"id": topic, **words})
        return await _stream(context, station, said, request)

    @router.get("/live/clients", operation_id="countClients", summary="How many follow here")
    @needs("viewer")
    async def clients() -> Clients:
        hub = station.hub()
        return Clients(clients=hub.clients, dropped=hub.dropped)

    return router


# -- one WebSocket -------------------------------------------------------------------------------------


class Conversation:
    """The messages of one WebSocket: subscriptions in, changes out."""

    def __init__(self, context: ApiContext, station: Station, websocket: WebSocket) -> None:
        self._context = context
        self._station = station
        self._websocket = websocket
        self._buffer = SendBuffer()
        self._leave: dict[str, Callable[[], None]] = {}
        self._answers: list[str] = []

    async def run(self, hub: Hub) -> None:
        """Exchange messages until one side ends it."""
        self._answer(
            type="hello", now=self._context.store.now().isoformat(), topics=sorted([TRAIL, *self._station.topics])
        )
        tasks = [
            asyncio.ensure_future(one) for one in (self._listen(), self._speak(), _until_logged_out(self._context, self._websocket))
        ]  # fmt: skip
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            code = next(iter(done)).result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for leave in list(self._leave.values()):
                leave()
        if code == TOO_SLOW:
            hub.dropped += 1
        if code is not None:
            await self._close(code)

    async def _close(self, code: int) -> None:
        """Close with a reason; a client that does not read gets it when it reads again, if it does so soon."""
        with contextlib.suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
            async with asyncio.timeout(PATIENCE):
                await self._websocket.close(code, render(Message(_REASONS[code])))

    async def _listen(self) -> int | None:
        while True:
            try:
                said = await self._websocket.receive_text()
            except (WebSocketDisconnect, RuntimeError, KeyError):  # KeyError: bytes where text is due
                return None
            if len(said) > LONGEST_SAID or is_too_deep(said.encode(errors="replace")):
                return NOT_UNDERSTOOD
            try:
                words = json.loads(said)
            except (ValueError, RecursionError):
                return NOT_UNDERSTOOD
            if not isinstance(words, dict):
                return NOT_UNDERSTOOD
            self._take(words)
            if len(self._answers) > MOST_ANSWERS:
                return TOO_SLOW

    def _take(self, words: dict[str, Any]) -> None:
        kind = words.pop("type", None)
        try:
            if kind == "subscribe":
                self._subscribe(Subscribe.of(words))
            elif kind == "unsubscribe":
                self._unsubscribe(str(words.get("id")))
            elif kind == "ping":
                self._answer(type="pong", now=self._context.store.now().isoformat())
            else:
                raise InvalidOption(Message("api.message-type"))
        except JobTrailError as error:
            self._refuse(words, problems.of(error))
        except Problem as problem:
            self._refuse(words, problem)

    def _subscribe(self, said: Subscribe) -> None:
        self._unsubscribe(said.id)
        if len(self._leave) >= MOST_TOPICS:
            raise InvalidOption(Message("api.most-topics", most=MOST_TOPICS))
        self._leave[said.id] = self._station.subscription(said, person_of(self._websocket).role)(self._buffer)

    def _unsubscribe(self, name: str) -> None:
        leave = self._leave.pop(name, None)
        if leave is not None:
            leave()

    def _refuse(self, words: Mapping[str, Any], problem: Problem) -> None:
        self._answer(type="error", id=words.get("id"), problem=problem.body())

    def _answer(self, **told: Any) -> None:
        """Queue an answer to a message."""
        self._answers.append(json.dumps(told, default=str))
        self._buffer.ready.set()

    async def _speak(self) -> int | None:
        while True:
            await self._buffer.ready.wait()
            message = self._answers.pop(0) if self._answers else self._buffer.take()
            if message is None:
                continue
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._websocket.send_text(message)
            except TimeoutError:
                return TOO_SLOW
            except (WebSocketDisconnect, RuntimeError):
                return None


async def _until_logged_out(context: ApiContext, connection: HTTPConnection) -> int:
    """Check the login repeatedly: a token may be revoked or expire, and a person may get a lower role."""
    role = person_of(connection).role
    while True:
        await asyncio.sleep(LOGIN_EVERY)
        try:
            person = await context.access.person(connection.scope, context.logins)
        except Problem:
            person = None
        except JobTrailError:
            continue  # the database is away: nobody can be asked
        if person is None or not person.may(role):
            return LOGGED_OUT


# -- server-sent events --------------------------------------------------------------------------------


async def _stream(context: ApiContext, station: Station, said: Subscribe, request: Request) -> Response:
    begin = station.subscription(said, person_of(request).role)  # what cannot be watched is refused with its status
    with station.client():
        pass  # so is one too many

    async def messages() -> AsyncIterator[dict[str, str]]:
        buffer, hub = SendBuffer(), station.hub()
        leave = begin(buffer)
        ends = [asyncio.ensure_future(one) for one in (_until_logged_out(context, request), hub.leaving.wait())]
        try:
            with station.client():
                while not any(end.done() for end in ends):
                    message = buffer.take()
                    if message is None:
                        await _first_of(buffer.ready.wait(), ends)
                        continue
                    for one in _as_events(message):
                        yield one
        finally:
            for end in ends:
                end.cancel()
            leave()

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return EventSourceResponse(messages(), headers=headers, send_timeout=PATIENCE, ping=15)


async def _first_of(news: Coroutine[Any, Any, Any], ends: Sequence[asyncio.Future[Any]]) -> None:
    waiting = asyncio.ensure_future(news)
    try:
        await asyncio.wait({waiting, *ends}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _as_events(message: str) -> list[dict[str, str]]:
    """A message as server-sent events: one for each line of the trail, with its id; ``begin`` has that of the last one before."""
    told = json.loads(message)
    if told["type"] != "events":
        return [{"event": told.pop("type"), "data": json.dumps(told, separators=(",", ":"))}]
    if not told["events"]:
        return [{"event": "begin", "id": str(told["last"]), "data": "{}"}]
    return [
        {"event": "event", "id": str(line["id"]), "data": json.dumps(line, separators=(",", ":"))}
        for line in told["events"]
    ]
