"""Whether an action on a job is allowed, and what is in the way: one rule for pages, bulk actions and commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from jobtrail.messages import Message

from .model import FINAL, WAITING_FOR_A_PERSON, Mode, Status

if TYPE_CHECKING:
    from datetime import datetime

RETRYABLE = (Status.FAILED, Status.PARTIAL, Status.INTERRUPTED, Status.CANCELLED)


class ActionRule(StrEnum):
    """What forbids an action, or leaves it without effect."""

    STATE = "state"
    ENDED = "ended"
    STOPPING = "stopping"
    BODY_RUNNING = "body-running"
    UNIT_ACTIVE = "unit-active"
    NOT_NEWEST = "not-newest"
    CONTINUED = "continued"
    WAITS_FOR = "waits-for"
    DUE = "due"
    NOTHING_FAILED = "no-items"
    COMPLETE = "complete"
    NO_FILE = "no-file"
    NOT_ENDED = "not-ended"
    NEEDED = "needed"
    GROUP_OPEN = "group-open"


# The codes that programs are given; a rule that is not here is its own code.
_CODES = {ActionRule.ENDED: "state", ActionRule.STOPPING: "state", ActionRule.UNIT_ACTIVE: "in-way", ActionRule.CONTINUED: "in-way",
          ActionRule.NOT_ENDED: "state", ActionRule.NEEDED: "in-way", ActionRule.GROUP_OPEN: "in-way"}  # fmt: skip
_WITHOUT_EFFECT = frozenset({ActionRule.DUE, ActionRule.NOTHING_FAILED, ActionRule.COMPLETE})
_REASONS = {
    ActionRule.ENDED: "job.skip-ended",
    ActionRule.STOPPING: "job.skip-stopping",
    ActionRule.BODY_RUNNING: "job.skip-body-runs",
    ActionRule.UNIT_ACTIVE: "job.skip-active",
    ActionRule.NOT_NEWEST: "job.skip-newer",
    ActionRule.CONTINUED: "job.skip-continued",
    ActionRule.WAITS_FOR: "job.skip-waits",
    ActionRule.DUE: "job.skip-due",
    ActionRule.NOTHING_FAILED: "job.skip-no-failed",
    ActionRule.COMPLETE: "job.skip-complete",
    ActionRule.NO_FILE: "job.skip-no-file",
    ActionRule.NEEDED: "job.skip-needed",
    ActionRule.GROUP_OPEN: "job.skip-group-open",
}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why an action is not offered.

    Attributes:
        rule: The rule that forbids it.
        sentence: The reason as a page shows it beside the job.
        job: The job in the way.
    """

    rule: ActionRule
    sentence: Message
    job: str | None = None

    def reason(self, status: Status) -> Message:
        """The reason without ids, so that jobs can be counted by it; ``status`` is that of the job."""
        if self.rule in {ActionRule.STATE, ActionRule.NOT_ENDED}:
            return Message("job.skip-status", status=status)
        return Message(_REASONS[self.rule])

    @property
    def code(self) -> str:
        """The reason for programs: state, in-way, not-newest, body-running, waits-for, due, no-items, complete, no-file."""
        return _CODES.get(self.rule, self.rule.value)

    @property
    def forbids(self) -> bool:
        """False where the action would only have no effect: it is not offered, and a command may do it."""
        return self.rule not in _WITHOUT_EFFECT


@dataclass(frozen=True, slots=True)
class ActionState:
    """What the rules depend on.

    Attributes:
        id: The job.
        status: Its status.
        run_at: When it is due.
        body_running: Whether its body still runs although its end was forced.
        waits_for: The job that it waits for.
        active: The job that holds its unit.
        newest: The newest job of its unit.
        continued: An active job that continues its generation.
        mended: A completed job that has done again all that failed in its generation.
        failed: How many of its items failed.
        has_file: Whether it worked on a file.
    """

    id: str
    status: Status
    run_at: datetime | None = None
    body_running: bool = False
    waits_for: str | None = None
    active: str | None = None
    newest: str | None = None
    continued: str | None = None
    failed: int = 0
    has_file: bool = False
    mended: str | None = None


def against_retry(state: ActionState) -> Obstacle | None:
    """What is in the way of one more attempt of the same job; None if it is allowed."""
    if state.status not in RETRYABLE:
        return Obstacle(ActionRule.STATE, Message("job.not-retryable", status=state.status))
    if state.body_running:
        return Obstacle(ActionRule.BODY_RUNNING, Message("job.body-runs"))
    if state.active == state.id:
        return None  # interrupted and held: it has the unit, and newer jobs wait behind it
    if state.active is not None:
        return _unit_active(state.active)
    if state.newest not in {None, state.id}:
        return Obstacle(ActionRule.NOT_NEWEST, Message("job.newer", job=state.newest), state.newest)
    return None


def against_rerun(state: ActionState, mode: Mode, *, corrected_file: bool = False) -> Obstacle | None:
    """What is in the way of a new job of the same unit; None if it is allowed.

    Args:
        state: The job.
        mode: How its generation is treated.
        corrected_file: Whether the new job is to work on another file.
    """
    if state.status not in FINAL:
        return Obstacle(ActionRule.STATE, Message("job.not-ended", status=state.status))
    if state.active is not None:
        return _unit_active(state.active)
    if corrected_file and not state.has_file:
        return Obstacle(ActionRule.NO_FILE, Message("job.without-file"))
    return None if mode is Mode.FULL else _against_continuing(state, mode)


def _against_continuing(state: ActionState, mode: Mode) -> Obstacle | None:
    if state.continued is not None:
        return Obstacle(ActionRule.CONTINUED, Message("job.continued", job=state.continued), state.continued)
    if state.mended is not None:
        return Obstacle(ActionRule.NOTHING_FAILED, Message("job.mended", job=state.mended), state.mended)
    if state.status is not Status.COMPLETED:
        return None
    if mode is Mode.RESUME:
        return Obstacle(ActionRule.COMPLETE, Message("job.complete"))
    return None if state.failed else Obstacle(ActionRule.NOTHING_FAILED, Message("job.skip-no-failed"))


def _unit_active(job_id: str) -> Obstacle:
    return Obstacle(ActionRule.UNIT_ACTIVE, Message("job.active", job=job_id), job_id)


def against_cancel(state: ActionState) -> Obstacle | None:
    """What is in the way of a cancel; None if it is allowed."""
    if state.status in FINAL:
        return Obstacle(ActionRule.ENDED, Message("job.ended", status=state.status))
    if state.status is Status.CANCELLING:
        return Obstacle(ActionRule.STOPPING, Message("job.stopping"))
    return None


def against_force(state: ActionState) -> Obstacle | None:
    """What is in the way of writing the end of a job that was asked to stop; None if it is allowed."""
    if state.status is Status.CANCELLING:
        return None
    return Obstacle(ActionRule.STATE, Message("job.not-stopping"))


def against_run_now(state: ActionState, now: datetime) -> Obstacle | None:
    """What is in the way of making a job due at once; None if it is allowed."""
    if state.status is not Status.PENDING:
        return Obstacle(ActionRule.STATE, Message("job.not-pending", status=state.status))
    if state.waits_for is not None:
        return Obstacle(ActionRule.WAITS_FOR, Message("job.waits-for", job=state.waits_for), state.waits_for)
    if state.run_at is None or state.run_at <= now:
        return Obstacle(ActionRule.DUE, Message("job.due"))
    return None


def against_answer(state: ActionState) -> Obstacle | None:
    """What is in the way of answering its question; None if it is allowed."""
    if state.status in WAITING_FOR_A_PERSON:
        return None
    return Obstacle(ActionRule.STATE, Message("job.asks-nothing", status=state.status))


def against_delete(
    status: Status, *, body_running: bool = False, needed_by: str | None = None, group: str | None = None
) -> Obstacle | None:
    """What is in the way of deleting a job; None if it is allowed.

    Args:
        status: Its status.
        body_running: Whether its body still runs although its end was forced.
        needed_by: An active job that refers to it: a re-run, a follower, its child or its parent.
        group: A group of which it is a member, if that has not ended.
    """
    if status not in FINAL:
        return Obstacle(ActionRule.NOT_ENDED, Message("job.not-deletable", status=status))
    if body_running:
        return Obstacle(ActionRule.BODY_RUNNING, Message("job.body-runs-on"))
    if needed_by is not None:
        return Obstacle(ActionRule.NEEDED, Message("job.needed", job=needed_by), needed_by)
    if group is not None:
        return Obstacle(ActionRule.GROUP_OPEN, Message("job.group-open", group=group))
    return None
