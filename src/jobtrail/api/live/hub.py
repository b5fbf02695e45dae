"""One reader for all clients of a process: a topic that many watch is read once, and each client gets its changes.

The trail has a line for most of what happens, but none for a submission, a start or a plain success (they would cost the
hot path). So topics are read as they stand and compared, at most four times a second, and no oftener than a tenth of
the time goes into it; while nobody watches, nothing is read. What is said after commits (`Wake`) only makes it sooner.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from json import dumps
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread

from jobtrail.api import problems
from jobtrail.api.problems import Problem
from jobtrail.errors import JobTrailError
from jobtrail.job.masking import masked
from jobtrail.messages import Message, current_language
from jobtrail.queries import trail_reader
from jobtrail.queries.base import masked_text
from jobtrail.queries.monitoring import audit

from .send_buffer import Following, Watching

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from jobtrail.api.context import ApiContext
    from jobtrail.database.wakeup import Listener
    from jobtrail.store.events import Event

    from .send_buffer import SendBuffer
    from .topics import Found, Look

THREADS = 4  # that read for clients
SLOW_THREADS = 1  # and those for what may take long
SOONEST = 0.25  # seconds between two looks at the same
SHARE = 10  # a look that took a second is followed by ten seconds of rest
LONGEST_REST = 60.0
AFTER_FAILURE = 1.0  # seconds
MOST_LOOKS = 500
MOST_CLIENTS = 500
TRAIL_EVERY = 0.5
_log = logging.getLogger("jobtrail.api")
T = TypeVar("T")


class Hub:
    """The topics that are watched in one event loop. ``dropped`` counts clients that were closed because they read too slowly."""

    def __init__(self, context: ApiContext) -> None:
        self.context = context
        self.clients = 0
        self.dropped = 0
        self.leaving = asyncio.Event()  # the server stops
        self._limiters = {False: anyio.CapacityLimiter(THREADS), True: anyio.CapacityLimiter(SLOW_THREADS)}
        self._watched: dict[Hashable, Watched] = {}
        self._trails: dict[str, Trail] = {}  # by language
        self._listener: Listener | None = None
        self._loop = asyncio.get_running_loop()

    # -- joining and leaving -------------------------------------------------------------------------

    def watch(self, look: Look, name: str, buffer: SendBuffer) -> Callable[[], None]:
        """Send a topic to ``buffer``, first all of it, then its changes; call the returned function to end that.

        Raises: Problem 503 where too much is watched already.
        """
        key = (look.key, current_language())
        watched = self._watched.get(key)
        if watched is None:
            if len(self._watched) >= MOST_LOOKS:
                raise Problem(503, "too-much-watched", Message("api.too-much-watched"))
            watched = self._watched[key] = Watched(self, look)
        one = Watching(name, buffer, watched)
        watched.join(one)
        self._listen()

        def leave() -> None:
            buffer.forget(one)
            if watched.leave(one) and self._watched.get(key) is watched:
                del self._watched[key]
            self._listen()

        return leave

    def follow(
        self, name: str, buffer: SendBuffer, fits: Callable[[dict[str, Any]], bool], after: int | None
    ) -> Callable[[], None]:
        """Send the lines of the trail that fit to ``buffer``: those after the id ``after``, else those from now on."""
        language = current_language()
        reader = self._trails.setdefault(language, Trail(self))
        follower = Following(name, buffer)
        reader.join(follower, fits, after)
        self._listen()

        def leave() -> None:
            buffer.forget(follower)
            if reader.leave(follower) and self._trails.get(language) is reader:
                del self._trails[language]
            self._listen()

        return leave

    async def read(self, function: Callable[[], T], *, slow: bool = False) -> tuple[T, float]:
        """Call a blocking function in a thread; returns its result and how many seconds it took."""
        return await anyio.to_thread.run_sync(self._timed, function, limiter=self._limiters[slow])

    def _timed(self, function: Callable[[], T]) -> tuple[T, float]:
        began = time.monotonic()
        self.context.jobs.service.make_readable()
        return function(), time.monotonic() - began

    # -- what is said after commits --------------------------------------------------------------------

    def _listen(self) -> None:
        """Repeat as long as somebody watches."""
        wanted = bool(self._watched) or bool(self._trails)
        wake = self.context.store.wake
        if wanted and self._listener is None:
            wake.subscribe(self._heard)
            self._listener = wake.listener(self._heard)
            self._listener.start()
        elif not wanted and self._listener is not None:
            wake.unsubscribe(self._heard)
            self._listener.stop()
            self._listener = None

    def _heard(self, _words: frozenset[str]) -> None:
        """Wake the readers; may be called from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._look_soon)

    def _look_soon(self) -> None:
        for watched in self._watched.values():
            watched.look_soon()
        for trail in self._trails.values():
            trail.look_soon()


class Repeated:
    """Reads repeatedly while somebody watches; the pause is longer after a slow read.

    The task that looks inherits the language of whoever came first; `Hub` has one of each for every language.
    """

    def __init__(self, hub: Hub, every: float) -> None:
        self._hub = hub
        self._every = every
        self._soon = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def look_soon(self) -> None:
        """Read soon, because something may have changed."""
        self._soon.set()

    def _start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._repeat())

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _repeat(self) -> None:
        before, failing = 0.0, ""
        while True:
            began = time.monotonic()
            try:
                took = await self.look()
                # One that was held up, by a busy machine say, or the first, is no measure of what looking costs.
                least, before, failing = SHARE * min(took, before), took, ""
            except JobTrailError as error:
                least = max(SHARE * (time.monotonic() - began), AFTER_FAILURE)
                self.cannot(problems.of(error))
            except Exception as error:
                least = AFTER_FAILURE
                known, failing = failing, f"{type(error).__name__}: {error}"
                if failing != known:
                    _log.exception("a look for those who watch has failed and is repeated")
                self.cannot(Problem(500, "internal", Message("api.internal")))
            await self._rest(min(max(SOONEST, least), LONGEST_REST))

    async def _rest(self, least: float) -> None:
        await asyncio.sleep(least)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(self._every - least, 0.0)):
                await self._soon.wait()
        self._soon.clear()

    async def look(self) -> float:
        """Read once; returns how many seconds it took."""
        raise NotImplementedError

    def cannot(self, problem: Problem) -> None:
        """Handle a failed read."""
        raise NotImplementedError


class Watched(Repeated):
    """A topic that somebody watches: its last state, and who gets the changes."""

    def __init__(self, hub: Hub, look: Look) -> None:
        super().__init__(hub, look.every)
        self._look = look
        self._watchers: set[Watching] = set()
        self.parts: dict[str, str] = {}
        self.order: list[str] | None = None
        self.order_no = 0
        self.problem: Problem | None = None
        self.known = False

    def join(self, one: Watching) -> None:
        """Send the topic to a subscription, first all of it."""
        self._watchers.add(one)
        self._start()
        if self.problem is not None:
            one.has_problem(self.problem)
        if self.known:
            one.changed(())

    def leave(self, one: Watching) -> bool:
        """Remove a subscription; returns whether none is left."""
        self._watchers.discard(one)
        if not self._watchers:
            self._stop()
        return not self._watchers

    async def look(self) -> float:
        """Read the topic, and send what has changed."""
        found, took = await self._hub.read(self._look.read, slow=self._look.slow)
        self._take(found)
        return took

    def _take(self, found: Found) -> None:
        changed = {name for name, text in found.parts.items() if self.parts.get(name) != text}
        changed |= self.parts.keys() - found.parts.keys()
        reordered = found.order != self.order
        first, recovered = not self.known, self.problem is not None
        self.parts, self.order, self.known = dict(found.parts), found.order, True
        self.order_no += reordered
        self.problem = None
        for one in self._watchers:
            if recovered:
                one.begin_anew()
            if first or recovered or changed or reordered:
                one.changed(changed)

    def cannot(self, problem: Problem) -> None:
        """Report once that the topic cannot be read; the client keeps the last state."""
        if self.problem is None or self.problem.code != problem.code:
            self.problem = problem
            for one in self._watchers:
                one.has_problem(problem)


class Trail(Repeated):
    """The trail, read once for all who follow it."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub, TRAIL_EVERY)
        self._reader = trail_reader.TrailReader()
        self._followers: dict[Following, Callable[[dict[str, Any]], bool]] = {}
        self._joined: list[Following] = []
        self._catching_up: dict[Following, int | None] = {}

    def join(self, one: Following, fits: Callable[[dict[str, Any]], bool], after: int | None) -> None:
        """Send the lines that fit to a subscription."""
        self._followers[one] = fits
        self._joined.append(one)
        if after is not None:
            self._catching_up[one] = after
        self._start()
        self.look_soon()

    def leave(self, one: Following) -> bool:
        """Remove a subscription; returns whether none is left."""
        self._followers.pop(one, None)
        self._catching_up.pop(one, None)
        if not self._followers:
            self._stop()
        return not self._followers

    async def look(self) -> float:
        """Read the new lines, and for new subscriptions the lines that they missed."""
        catching_up, self._catching_up = self._catching_up, {}
        joined, self._joined = self._joined, []
        (found, missed), took = await self._hub.read(lambda: self._read(list(catching_up.values())))
        for one in joined:
            one.begins(catching_up.get(one) or self._reader.high or 0)
        for (one, after), lines in zip(catching_up.items(), missed, strict=True):
            if one not in self._followers:
                continue
            if lines is None:
                one.lose(Message("api.events-lost", after=after))
            else:
                one.missed(self._fitting(one, lines))
        for one in list(self._followers):
            one.add(self._fitting(one, found))
        return took

    def _fitting(self, one: Following, lines: list[dict[str, Any]]) -> list[tuple[int, str]]:
        fits = self._followers[one]
        return [(line["id"], dumps(line, separators=(",", ":"), default=str)) for line in lines if fits(line)]

    def _read(self, catching_up: list[int | None]) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]] | None]]:
        store = self._hub.context.store
        with store.read() as conn:
            # What is new first: what commits between the two reads is in both and told once.
            found = self._reader.read(conn, store.now())
            missed = [trail_reader.missed_since(conn, after or 0) for after in catching_up]
            about = audit.jobs_of(conn, {line.job_id for lines in (found, *(one or [] for one in missed)) for line in lines})
        if len(found) >= trail_reader.AT_ONCE:
            self._hub._loop.call_soon_threadsafe(self.look_soon)
        shown = [None if one is None else [_line(line, about) for line in one] for one in missed]
        return [_line(line, about) for line in found], shown

    def cannot(self, problem: Problem) -> None:
        """Log that the trail cannot be read; no line is lost, they are sent after the next read."""
        _log.warning("the trail cannot be read: %s", problem.detail)


def _line(line: Event, about: dict[str, Any]) -> dict[str, Any]:
    """A line as clients get it; a line of a schedule has no task."""
    job = about.get(line.job_id)
    return {
        "id": line.id, "at": line.at.isoformat(), "job": line.job_id, "name": line.name, "from": line.from_status,
        "to": line.to_status, "run_no": line.run_no, "actor": line.actor, "reason": masked_text(line.reason),
        "task": job and job.task, "kind": job and job.kind, "source": masked_text(job.source) if job else None,
        "period": job and job.period, "schedule": masked(line.detail.get("schedule")),
    }  # fmt: skip
