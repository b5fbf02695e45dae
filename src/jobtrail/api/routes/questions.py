"""Questions over the network: the inbox, one question with its form, and answering it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.ids import whole
from jobtrail.api.models import questions as question_models
from jobtrail.api.requests import WithReason
from jobtrail.commands import answers
from jobtrail.errors import AnswerRefused, NotFound
from jobtrail.job.masking import left_masked, restored
from jobtrail.messages import Message
from jobtrail.queries.base import parsed
from jobtrail.store import jobs, questions

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from jobtrail.api.context import Desk


class Answer(WithReason):
    """An answer: what the form gave, or for a mapping the name of a column for each field."""

    value: Any = Field(examples=[{"date": "Flight Date"}])
    remember: bool | None = Field(None, description="Keep it for the task and source; default: as the question says.")


def make(desk: Desk) -> APIRouter:
    """The routes of this file."""
    router = routes("questions")

    @router.get("/questions", operation_id="listQuestions", summary="Open questions, the nearest deadline first")
    @needs("viewer")
    async def inbox(limit: Annotated[int, Query(ge=1, le=500)] = 100) -> question_models.Inbox:
        return await desk.read(read_inbox, desk.store.now(), limit=limit)

    @router.get(
        "/questions/{question}", operation_id="showQuestion", summary="One question with its form", responses=also(404)
    )
    @needs("viewer")
    async def one(question: str) -> question_models.Question:
        return await desk.read(_one, desk, whole(question, "question"))

    @router.post(
        "/questions/{question}/answer",
        operation_id="answerQuestion",
        summary="Answer a question",
        responses=also(404, 409, 410),
        description="422 with `errors` by field where the answer does not fit; the question stays open. 409 where somebody "
        "else has answered (`actor`, `at`), 410 where nobody waits for it any more. The same answer again is no error.",
    )
    @needs("operator")
    async def answer(question: str, given: Answer, who: Who) -> question_models.Question:
        return await desk.call(_answer, desk, whole(question, "question"), given, who.actor)

    return router


def read_inbox(conn: Connection, now: datetime, *, limit: int = 100) -> question_models.Inbox:
    """The inbox, and how many are open in all."""
    found = questions.list_open(conn, limit=limit)
    count = len(found) if len(found) < limit else questions.count_open(conn)
    return question_models.Inbox(questions=[question_models.line(*one) for one in found], count=count, now=now)


def _one(conn: Connection, desk: Desk, question: str) -> question_models.Question:
    row = questions.get(conn, question)
    job = None if row is None else jobs.get(conn, row.job_id)
    if row is None or job is None:
        message = Message("commands.no-question", question=question)
        raise NotFound(message)
    return question_models.question(row, job, desk.marked(job.task))


def _answer(desk: Desk, question: str, given: Answer, actor: str) -> question_models.Question:
    desk.jobs.service.make_ready()
    with desk.store.read() as conn:
        row = questions.get(conn, question)
    kept = parsed(row.default) if row is not None else None
    value = restored(given.value, kept)
    path = left_masked(value, kept)
    if path is not None:
        raise AnswerRefused({path: "is masked: say what it is"})
    answers.answer(desk.store, question, value, actor=actor, reason=given.reason, remember=given.remember)
    with desk.store.read() as conn:
        return _one(conn, desk, question)
