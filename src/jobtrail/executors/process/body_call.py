"""One body on its way through a child process: the conversation about it, and the ways to stop it."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from jobtrail.messages import Message

from .child_process import ChildGone

if TYPE_CHECKING:
    from .child_process import ChildProcess
    from .wire import WireMessage

TICK = 0.25  # seconds between two looks at a child


class BodyConversation(Protocol):
    """What a worker has to say and to hear about one body; called in a thread of the pool."""

    order: WireMessage
    memory_limit: int | None
    max_jobs: int

    def on_message(self, message: WireMessage) -> WireMessage | None:
        """Take a report or a question of the child; the answer is sent back."""

    def cause_to_stop(self) -> str | None:
        """A cause to stop the body for, or None; called several times a second."""


class BodyCall:
    """One body on its way through a child."""

    def __init__(self, conversation: BodyConversation) -> None:
        self.conversation = conversation
        self.future: Future[WireMessage] = Future()
        self._child: ChildProcess | None = None
        self._lock = threading.Lock()
        self._stop: tuple[str, float] | None = None
        self._killed: ChildGone | None = None
        self._over = False

    @property
    def pid(self) -> int | None:
        """The child that has the job."""
        return self._child.pid if self._child is not None else None

    def stop(self, cause: str, grace: float) -> None:
        """Ask the body to stop; after ``grace`` seconds SIGTERM raises inside it, and SIGKILL ends it. Never blocks."""
        with self._lock:
            if self._over or self._stop is not None:
                return
            self._stop = (cause, grace)
            if self._child is not None:
                self._tell_stop(self._child)

    def kill(self, why: Message, cause: str | None = None) -> None:
        """End it now."""
        with self._lock:
            self._killed = ChildGone(why, cause=cause)
            if self._child is not None and not self._over:
                self._child.kill(self._killed)

    def begin(self, child: ChildProcess) -> None:
        """This child has the job from now on."""
        with self._lock:
            self._child = child
            child.memory_limit = self.conversation.memory_limit
            if self._killed is not None:
                child.kill(self._killed)
            elif self._stop is not None:
                self._tell_stop(child)

    def end(self) -> None:
        """The child has nothing to do with it any more."""
        with self._lock:
            self._over = True
            if self._child is not None:
                self._child.disarm()
                self._child.memory_limit = None

    def _tell_stop(self, child: ChildProcess) -> None:
        cause, grace = self._stop or ("cancel", 0.0)
        child.arm(cause, grace)
        # In a thread of its own: a child that does not read must not hold up the caller.
        message = {"kind": "stop", "cause": cause, "no": child.jobs}
        threading.Thread(target=_quietly_send, args=(child, message), name="jobtrail-stop", daemon=True).start()


def _quietly_send(child: ChildProcess, message: WireMessage) -> None:
    with contextlib.suppress(OSError):
        child.wire.send(message)


def converse(call: BodyCall, child: ChildProcess) -> WireMessage:
    """Exchange messages with the child until its last one, which is returned.

    Raises:
        ChildGone: if the child ended before.

    """
    try:
        child.wire.send({**call.conversation.order, "no": child.jobs})
        while True:
            message = child.wire.receive(TICK)
            if message is None and not child.lives:
                message = child.wire.receive(0)
                if message is None:
                    raise EOFError  # what it forked still holds the line open
            if message is not None and message["no"] == child.jobs:  # else a thread that an earlier body left behind
                if message["kind"] == "end":
                    return message
                answer = call.conversation.on_message(message)
                if answer is not None:
                    child.wire.send(answer)
            cause = call.conversation.cause_to_stop()
            if cause is not None:
                call.stop(cause, TICK)
    except (EOFError, OSError):
        raise child.end() from None
