"""What a client still has to receive: bounded, however slowly it reads, because two changes of one part are sent once."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.messages import Message, render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jobtrail.api.problems import Problem

MOST_CHANGES = 500  # of a topic; more are told as a whole anew
MOST_EVENTS = 1_000  # lines of the trail that wait for a client
AT_ONCE = 200  # of them in one message


class Told(Protocol):
    """The present state of a topic, shared by all who watch it."""

    parts: dict[str, str]
    order: list[str] | None
    order_no: int
    problem: Problem | None
    known: bool


class SendBuffer:
    """The subscriptions of one client, and which of them have something to send."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self._waiting: OrderedDict[str, Waiting] = OrderedDict()

    def has_news(self, one: Waiting) -> None:
        """Queue a subscription that has something to send."""
        self._waiting.setdefault(one.id, one)
        self.ready.set()

    def forget(self, one: Waiting) -> None:
        """Remove a subscription."""
        if self._waiting.get(one.id) is one:
            del self._waiting[one.id]

    def take(self) -> str | None:
        """The next message, from the subscription that has waited longest; None if there is none."""
        while self._waiting:
            _, one = self._waiting.popitem(last=False)
            message = one.message()
            if one.more():
                self._waiting[one.id] = one
            if message is not None:
                return message
        self.ready.clear()
        return None


class Waiting(Protocol):
    """A subscription that may have something to send."""

    id: str

    def message(self) -> str | None:
        """Take the next message, as JSON; None if there is none."""

    def more(self) -> bool:
        """Whether another message is left."""


class Watching:
    """A subscription of a topic: the parts whose present state the client does not have."""

    def __init__(self, name: str, buffer: SendBuffer, told: Told) -> None:
        self.id = name
        self._buffer = buffer
        self._told = told
        self._changed: set[str] = set()
        self._order_no = -1
        self._whole = True
        self._problem: Problem | None = None
        self._problem_is_new = False

    def changed(self, names: Iterable[str]) -> None:
        """Note that these parts, or their order, have changed or are gone."""
        if not self._whole:
            self._changed.update(names)
            if len(self._changed) > MOST_CHANGES:
                self.begin_anew()
        self._buffer.has_news(self)

    def begin_anew(self) -> None:
        """Send all parts with the next message."""
        self._whole = True
        self._changed.clear()

    def has_problem(self, problem: Problem | None) -> None:
        """Note that the topic cannot be read now; None if it can be read again."""
        self._problem, self._problem_is_new = problem, True
        self._buffer.has_news(self)

    def more(self) -> bool:
        """Whether there is a message beside a problem: all changes go into one."""
        return not self._problem_is_new and self._told.known and (self._whole or bool(self._changed))

    def message(self) -> str | None:
        """A problem, else all parts, else the changes."""
        if self._problem_is_new:
            self._problem_is_new = False
            if self._problem is not None:
                return _json({"type": "error", "id": self.id, "problem": self._problem.body()})
        if not self._told.known:
            return None
        return self._all() if self._whole else self._changes()

    def _all(self) -> str:
        told = self._told
        self._whole, self._order_no = False, told.order_no
        self._changed.clear()
        return _message("snapshot", self.id, told.parts, None, told.order)

    def _changes(self) -> str | None:
        told = self._told
        reordered = self._order_no != told.order_no
        if not self._changed and not reordered:
            return None
        changed = {name: told.parts[name] for name in sorted(self._changed) if name in told.parts}
        gone = sorted(self._changed - told.parts.keys())
        self._changed.clear()
        self._order_no = told.order_no
        return _message("change", self.id, changed, gone, told.order if reordered else None)


class Following:
    """A subscription of the trail: the lines that the client does not have yet."""

    def __init__(self, name: str, buffer: SendBuffer) -> None:
        self.id = name
        self._buffer = buffer
        self._lines: deque[tuple[int, str]] = deque()
        self._lost: Message | None = None
        self._begins: int | None = None
        self._given: set[int] = set()

    def begins(self, last: int) -> None:
        """Send each line after the one with the id ``last``."""
        self._begins = last
        self._buffer.has_news(self)

    def add(self, lines: Iterable[tuple[int, str]]) -> None:
        """Add lines (id, JSON); a line that waits already or was missed before is sent once."""
        for number, text in lines:
            if number in self._given:
                continue
            if len(self._lines) >= MOST_EVENTS:
                self.lose(Message("api.events-too-fast"))
                return
            self._lines.append((number, text))
        if self._lines:
            self._buffer.has_news(self)

    def missed(self, lines: Iterable[tuple[int, str]]) -> None:
        """Put the lines that the client missed before the new ones."""
        found = list(lines)
        self._given = {number for number, _ in found}
        self._lines = deque([*found, *(line for line in self._lines if line[0] not in self._given)])
        if self._lines:
            self._buffer.has_news(self)

    def lose(self, why: Message) -> None:
        """Report that lines are missing: the client must read its state again."""
        self._lines.clear()
        self._lost = why
        self._buffer.has_news(self)

    def more(self) -> bool:
        """Whether lines, their beginning or a loss are still to be sent."""
        return bool(self._lines) or self._lost is not None or self._begins is not None

    def message(self) -> str | None:
        """The beginning, a loss, or some lines."""
        if self._begins is not None:
            last, self._begins = self._begins, None
            return _json({"type": "events", "id": self.id, "last": last, "events": []})
        if self._lost is not None:
            why, self._lost = self._lost, None
            return _json({"type": "reset", "id": self.id, "reason": render(why)})
        lines = [self._lines.popleft() for _ in range(min(AT_ONCE, len(self._lines)))]
        if not lines:
            return None
        last = max(number for number, _ in lines)
        texts = ",".join(text for _, text in lines)
        return f'{{"type":"events","id":{_json(self.id)},"last":{last},"events":[{texts}]}}'


def _message(kind: str, name: str, parts: Mapping[str, str], gone: list[str] | None, order: list[str] | None) -> str:
    """A message of parts, which are JSON already."""
    told = ",".join(f"{_json(part)}:{text}" for part, text in parts.items())
    rest = (f',"gone":{_json(gone)}' if gone else "") + (f',"order":{_json(order)}' if order is not None else "")
    return f'{{"type":"{kind}","id":{_json(name)},"parts":{{{told}}}{rest}}}'


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)
