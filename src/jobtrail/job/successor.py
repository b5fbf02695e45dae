"""What follows a job: on which ends it comes, and which job it will be."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

from .json_value import decode, encode_arguments
from .model import FileInput, NewJob, Outcome, Status, new_id
from .period import Period, in_our_time
from .unit import Unit, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ENDS = ("success", "partial", "failure", "cancelled")
ENDED = "ended"  # all of them
END_OF = dict(zip((Status.COMPLETED, Status.PARTIAL, Status.FAILED, Status.CANCELLED), ENDS, strict=True))
END_OF_GROUP = {Outcome.SUCCESS: "success", Outcome.PARTIAL: "partial", Outcome.ERROR: "failure"}
LIMIT = 4 * 1_048_576  # bytes of arguments with the results that were put into them


def ends_option(on: str | Iterable[str]) -> tuple[str, ...]:
    """The ends that ``on`` names: one of success, partial, failure, cancelled, or several of them, or ended for all.

    Raises: InvalidOption.
    """
    words = (on,) if isinstance(on, str) else tuple(on)
    unknown = [word for word in words if word not in (*ENDS, ENDED)]
    if unknown or not words:
        wrong = repr(unknown[0]) if unknown else "empty"
        raise InvalidOption(Message("job.bad-on", wrong=wrong))
    return ENDS if ENDED in words else tuple(end for end in ENDS if end in words)


def shown_ends(ends: Sequence[str]) -> list[str]:
    """The ends as people read them: ended, where all are meant."""
    return [ENDED] if len(ends) == len(ENDS) else list(ends)


def when_option(when: Any) -> tuple[float | None, str | None]:
    """(seconds after the end, or a moment as ISO text) of "now", a timedelta, seconds, or an aware datetime.

    Raises: InvalidOption.
    """
    if when in (None, "now"):
        return None, None
    if in_our_time(when) is not None:
        return None, when.isoformat()
    seconds = when.total_seconds() if isinstance(when, timedelta) else when
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < 3.2e9:
        raise InvalidOption(Message("job.bad-when", when=repr(when)))
    return float(seconds), None


@dataclass(frozen=True, slots=True)
class Successor:
    """A job that comes when another one (or a group) ends in one of the ways ``ends``.

    ``id`` is the id that it will have. ``new`` are the columns of the job as in `NewJob`; ``wait`` (seconds after
    the end) or ``at`` (ISO) say when it is due; ``result_as`` names the argument that takes the result of what
    ended (of a group: the list of its results); ``next`` are its own successors; ``run`` is the run whose body
    named it, None where it was declared from outside.
    """

    id: str
    ends: tuple[str, ...]
    new: Mapping[str, Any]
    wait: float | None = None
    at: str | None = None
    if_active: str = "queue"
    if_done: str = "run"
    result_as: str | None = None
    next: tuple[Successor, ...] = field(default=())
    run: int | None = None

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Successor:
        """What `to_plain` gave, perhaps through JSON."""
        following = tuple(cls.from_plain(one) for one in plain["next"])
        return cls(**{**plain, "ends": tuple(plain["ends"]), "next": following})

    def to_json(self) -> str:
        """As text."""
        return dumps(self.to_plain())

    @classmethod
    def from_json(cls, text: str) -> Successor:
        """What `to_json` wrote."""
        return cls.from_plain(loads(text))

    def anew(self) -> Successor:
        """The same for another job: with an id of its own, and so on down."""
        return replace(self, id=new_id(), next=tuple(one.anew() for one in self.next))

    @property
    def task(self) -> str:
        """The task's name."""
        name: str = self.new["task"]
        return name

    def comes_after(self, status: Status) -> bool:
        """Does it come when the job ends so?"""
        return END_OF.get(status) in self.ends

    def comes_after_group(self, outcome: Outcome) -> bool:
        """Does it come when the group ends so?"""
        return END_OF_GROUP[outcome] in self.ends

    def job(
        self, now: datetime, *, parent: str, root: str, why: str, result: str | Sequence[str | None] | None
    ) -> NewJob:
        """The row that is stored; ``result`` is the JSON text of what ended, or of each member of a group."""
        new = NewJob(**self.new)
        run_at = datetime.fromisoformat(self.at) if self.at else None
        if self.wait:
            run_at = now + timedelta(seconds=self.wait)
        args = new.args if self.result_as is None else _with_result(new.args, self.result_as, result)
        return replace(
            new,
            id=self.id,
            args=args,
            run_at=run_at,
            parent=parent,
            root=root,
            reason=why,
            followed=bool(self.next) or None,
        )

    def unit(self) -> Unit | None:
        """The unit that its columns make."""
        file = FileInput(**loads(self.new["file"])) if self.new.get("file") else None
        period = Period.parse(self.new["period"]) if self.new.get("period") else None
        sha256, name = (file.sha256, file.name) if file else (None, None)
        own = loads(self.new["options"]).get("unit") if self.new.get("options") else None
        return unit_of(self.task, self.new.get("source"), period, sha256, name, own)


def _with_result(args: str, name: str, result: str | Sequence[str | None] | None) -> str:
    if result is None or isinstance(result, str):
        value = None if result is None else decode(result)
    else:
        value = [None if one is None else decode(one) for one in result]
    return encode_arguments({**decode(args), name: value}, LIMIT)


def outcome_of_group(ended: Iterable[str]) -> Outcome:
    """Success where all members completed (or there were none), error where none brought anything, else partial."""
    words = list(ended)
    if all(word == Status.COMPLETED for word in words):
        return Outcome.SUCCESS
    if all(word in (Status.FAILED, Status.CANCELLED) for word in words):
        return Outcome.ERROR
    return Outcome.PARTIAL
