"""Questions over the network: the open ones, one with its form, and answering it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from jobtrail.api.auth.guard import Who, also, needs, routes
from jobtrail.api.bodies import takes_arguments
from jobtrail.api.ids import question_id
from jobtrail.api.requests import WithReason
from jobtrail.commands import answers
from jobtrail.errors import AnswerRefused
from jobtrail.job.masking import left_masked, restored
from jobtrail.messages import Message
from jobtrail.queries import questions

if TYPE_CHECKING:
    from jobtrail.api.context import ApiContext


class GivenAnswer(WithReason):
    """An answer: what the form gave, or for a mapping the name of a column for each field."""

    value: Any = Field(examples=[{"date": "Flight Date"}])
    remember: bool | None = Field(None, description="Keep it for the task and source; default: as the question says.")


def make(context: ApiContext) -> APIRouter:
    """The routes of this file."""
    router = routes("questions")

    @router.get("/questions", operation_id="listQuestions", summary="Open questions, the nearest deadline first")
    @needs("viewer")
    async def inbox(limit: Annotated[int, Query(ge=1, le=500)] = 100) -> questions.QuestionList:
        return await context.call(context.queries.questions, limit=limit)

    @router.get(
        "/questions/remembered",
        operation_id="listRememberedAnswers",
        summary="Answers that are kept for a task and source",
    )
    @needs("viewer")
    async def remembered(limit: Annotated[int, Query(ge=1, le=10_000)] = 200) -> questions.RememberedAnswers:
        return await context.call(context.queries.remembered_answers, limit=limit)

    @router.get(
        "/questions/{question}", operation_id="showQuestion", summary="One question with its form", responses=also(404)
    )
    @needs("viewer")
    async def one(question: str) -> questions.QuestionDetail:
        return await context.call(context.queries.question, question_id(question))

    @router.post(
        "/questions/{question}/answer",
        operation_id="answerQuestion",
        summary="Answer a question",
        responses=also(404, 409, 410),
        description="422 with `errors` by field where the answer does not fit; the question stays open. 409 where somebody "
        "else has answered (`actor`, `at`), 410 where nobody waits for it any more. The same answer again is no error.",
    )
    @takes_arguments
    @needs("operator")
    async def answer(question: str, given: GivenAnswer, who: Who) -> questions.QuestionDetail:
        return await context.call(_answer, context, question_id(question), given, who.actor)

    return router


def _answer(context: ApiContext, question: str, given: GivenAnswer, actor: str) -> questions.QuestionDetail:
    context.jobs.service.make_ready()
    kept = answers.default_of(context.store, question)
    value = restored(given.value, kept)
    path = left_masked(value, kept)
    if path is not None:
        raise AnswerRefused({path: Message("api.masked-answer")})
    answers.answer(context.store, question, value, actor=actor, reason=given.reason, remember=given.remember)
    return context.queries.question(question)
