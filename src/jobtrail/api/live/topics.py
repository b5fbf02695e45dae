"""The topics that can be watched: each is read as named parts, and only the parts that have changed are sent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import Field, ValidationError

from jobtrail.api.ids import job_id
from jobtrail.api.problems import unfit
from jobtrail.database.statement_timeout import time_limit
from jobtrail.errors import InvalidOption, NotFound, by_path
from jobtrail.messages import Message
from jobtrail.queries.base import Model, masked_text
from jobtrail.queries.jobs.job_list import job_line
from jobtrail.queries.jobs.waiting import waiting_codes
from jobtrail.store import events, runs
from jobtrail.store.search import search
from jobtrail.store.search.grammar import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from pydantic import BaseModel

    from jobtrail.api.context import ApiContext
    from jobtrail.store.search.masked_view import MaskedView

MOST_LINES = 200
LOG_PIECES = 32
LOG_BYTES = 131_072
_REPORTING = {"running", "cancelling", "pending"}


@dataclass(frozen=True, slots=True)
class Found:
    """A topic as it was read: its parts as JSON text by name, and their order if they have one."""

    parts: Mapping[str, str]
    order: list[str] | None = None


class Look(Protocol):
    """A way to read a topic, shared by all who watch the same."""

    @property
    def key(self) -> Hashable:
        """Equal for equal topics."""

    @property
    def every(self) -> float:
        """Seconds between two reads, if no change is reported before."""

    @property
    def slow(self) -> bool:
        """Whether it may have to read many jobs one by one, and must not delay other topics."""

    def read(self) -> Found:
        """Read the topic; called in a thread.

        Raises:
            JobTrailError: if it cannot be read.
        """


class Subscribe(Model):
    """What a client wants to watch; ``id`` is the name that the client gives it."""

    id: str = Field(min_length=1, max_length=5000)
    topic: str = Field(max_length=100)
    filter: str = Field("", max_length=4000, description="Of the topic jobs.")
    limit: int = Field(50, ge=1, le=MOST_LINES, description="Of the topic jobs.")
    job: str | None = Field(None, max_length=36, description="Of the topics job and events.")
    task: str | None = Field(None, max_length=200, description="Of the topic events.")
    after: int | None = Field(None, ge=0, description="Of the topic events: the last id that is known.")
    parameter: str = Field("", max_length=1000, description="Of the topics of plug-ins.")

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Subscribe:
        """Check the words of a client.

        Raises:
            InvalidOption: if a field is missing or not valid.
        """
        try:
            return cls.model_validate(said)
        except ValidationError as error:
            raise InvalidOption(by_path(unfit(error.errors()))) from None


def _text(shape: BaseModel, *without: str) -> str:
    return shape.model_dump_json(exclude=set(without))


# -- jobs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JobsLook:
    """A page of the job list: a part for each job by its id, and ``page`` for the rest."""

    context: ApiContext
    filter: str
    limit: int
    role: str
    every: float = 0.5

    @property
    def key(self) -> Hashable:
        """Filter, length of the page, and whether secrets can be searched."""
        return ("jobs", self.filter, self.limit, self._view is None)

    @property
    def _view(self) -> MaskedView | None:
        return self.context.queries.context.view(self.role)

    @property
    def slow(self) -> bool:
        """Whether the filter has free text, arguments or files, which have no index."""
        return bool(parse(self.filter).wide)

    def read(self) -> Found:
        """Read the newest jobs of the filter."""
        store = self.context.store
        with store.read() as conn, time_limit(conn, self.context.search_seconds):
            page = search.find(conn, self.filter, now=store.now(), limit=self.limit, view=self._view)
            ids = [row.id for row in page.rows if row.status.value in _REPORTING]
            reported: dict[str, Any] = runs.progress_of(conn, ids) if ids else {}
            waits = waiting_codes(conn, self.context.queries.context, page.rows, store.now())
        marked = self.context.marked
        parts = {
            row.id: _text(job_line(row, reported.get(row.id), marked(row.task), waiting=waits.get(row.id)))
            for row in page.rows
        }
        order = list(parts)
        parts["page"] = json.dumps({"next": page.next, "note": page.note, "searched": page.searched})
        return Found(parts, order)


@dataclass
class JobLook:
    """One job: ``job`` as a list shows it, ``version`` which changes with everything on its page, ``log:N`` its newest pieces."""

    context: ApiContext
    job: str
    every: float = 0.25
    slow: bool = False
    _pieces: dict[int, str] = field(default_factory=dict)

    @property
    def key(self) -> Hashable:
        """The job."""
        return ("job", self.job)

    def read(self) -> Found:
        """Read the job.

        Raises:
            NotFound: if it is gone.
        """
        with self.context.store.read() as conn:
            row = search.line(conn, self.job)
            if row is None:
                raise NotFound(Message("commands.no-job", job=self.job))
            reported = runs.progress_of(conn, [self.job]).get(self.job)
            newest = events.newest_of_job(conn, self.job)
            waits = waiting_codes(conn, self.context.queries.context, [row], self.context.store.now())
            self._read_log(conn)
        line = job_line(row, reported, self.context.marked(row.task), waiting=waits.get(row.id))
        version = [line.waiting, str(line.handed_over), row.status.value, row.run_no, newest, row.items_ok, row.items_failed, row.items_skipped]
        parts = {"job": _text(line), "version": json.dumps(json.dumps(version))}
        return Found(parts | {f"log:{seq}": text for seq, text in self._pieces.items()})

    def _read_log(self, conn: Any) -> None:
        """Read the newest pieces; the last one may have grown."""
        last = max(self._pieces, default=None)
        if last is None:
            last = max(runs.last_log_seq(conn, self.job) - LOG_PIECES + 1, 0)
        for chunk in runs.log_chunks(conn, self.job, after=last - 1):
            told = {"seq": chunk.seq, "text": masked_text(chunk.text), "dropped": chunk.dropped}
            self._pieces[chunk.seq] = json.dumps(told)
        while len(self._pieces) > LOG_PIECES or (
            len(self._pieces) > 1 and sum(map(len, self._pieces.values())) > LOG_BYTES
        ):
            del self._pieces[min(self._pieces)]


# -- the rest ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Whole:
    """A topic that one function reads."""

    key: Hashable
    every: float
    function: Callable[[], Found]
    slow: bool = False

    def read(self) -> Found:
        """Read the topic."""
        return self.function()


def _stats(context: ApiContext) -> Found:
    return Found({"stats": _text(context.queries.statistics(), "now")})


def _needs(context: ApiContext) -> Found:
    return Found({"needs": _text(context.queries.attention(), "now")})


def _questions(context: ApiContext) -> Found:
    found = context.queries.questions(limit=MOST_LINES)
    parts = {one.id: _text(one) for one in found.questions}
    return Found({**parts, "count": json.dumps(found.count)}, list(parts))


def _schedules(context: ApiContext) -> Found:
    found = context.queries.schedules()
    parts = {one.name: _text(one) for one in found.schedules}
    return Found({**parts, "rest": _text(found, "schedules", "now")}, list(parts))


def _workers(context: ApiContext) -> Found:
    workers, queues = context.queries.workers(), context.queries.queues()
    # The age of a beat changes at every read; the client knows the beat and the time.
    parts = {one.id: _text(one, "beat_age") for one in workers.workers}
    return Found({**parts, "queues": _text(queues, "now")}, list(parts))


Topics = dict[str, "Callable[[ApiContext, Subscribe, str], Look]"]


def topics() -> Topics:
    """The topics by name, each with the function that makes a `Look` from the words of a client and its role."""
    wholes = {
        "stats": (1.0, _stats), "needs": (2.0, _needs), "questions": (0.5, _questions), "schedules": (1.0, _schedules),
        "workers": (1.0, _workers),
    }  # fmt: skip
    made: Topics = {"jobs": _jobs_look, "job": _job_look}
    for name, (every, function) in wholes.items():
        made[name] = _whole(name, every, function)
    return made


def _whole(
    name: str, every: float, function: Callable[[ApiContext], Found]
) -> Callable[[ApiContext, Subscribe, str], Look]:
    return lambda context, _said, _role: Whole(name, every, lambda: function(context))


def _jobs_look(context: ApiContext, said: Subscribe, role: str) -> Look:
    """Raises: InvalidFilter."""
    parse(said.filter)
    return JobsLook(context, said.filter, said.limit, role)


def _job_look(context: ApiContext, said: Subscribe, _role: str) -> Look:
    if said.job is None:
        raise InvalidOption(Message("api.topic-needs-job"))
    return JobLook(context, job_id(said.job))
