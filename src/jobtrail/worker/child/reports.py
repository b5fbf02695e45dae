"""What a body in a child process reports, gathered and sent to the worker; and its steps, which the worker keeps."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from jobtrail.job.items import ItemOutcome
from jobtrail.job.json_value import encode_result, safe_text
from jobtrail.runtime.recorder import MESSAGE_LIMIT

if TYPE_CHECKING:
    from jobtrail.executors.process.wire import Wire, WireMessage
    from jobtrail.job.model import Claim
    from jobtrail.store.items import Recorded

_FAR = frozenset({"percent", "done", "total"})
SEND_EVERY = 0.1  # seconds between two batches of records; the worker writes them at most 4 times a second
LINES = 10_000  # of the log, held between two batches


class WorkerChannel(Protocol):
    """The way to the worker."""

    wire: Wire
    main_error: BaseException | None

    def ask(self, message: WireMessage) -> WireMessage:
        """A question to the worker and its answer."""


class RemoteRecorder:
    """Gathers what a body reports and sends it at most ten times a second; what `Recorder` is for the context."""

    def __init__(self, order: WireMessage, child: WorkerChannel) -> None:
        self.overtaken = False
        self.has_items = bool(order["prior"])
        self._child = child
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._standing = {(loop, key): ItemOutcome(outcome) for loop, key, outcome in order["prior"]}
        self._tried_again = [tuple(place) for place in order["tried_again"]]
        self._items: list[tuple[Any, ...]] = []
        self._progress: dict[str, Any] | None = None
        self._log: list[str] = []
        self._wanted = threading.Event()
        self._over = False
        self._no = order["no"]

    def start(self) -> None:
        """Send from a thread until `stop`."""
        threading.Thread(target=self._repeat, name="jobtrail-records", daemon=True).start()

    def _repeat(self) -> None:
        while not self._over:
            self._wanted.wait()
            self._wanted.clear()
            with contextlib.suppress(Exception):  # no memory now: it is still there the next time
                self.send()
            time.sleep(SEND_EVERY)

    def stop(self) -> None:
        """Send what is left; what a body's threads report later is dropped."""
        self.send()
        with self._sending:
            self._over = True
        self._wanted.set()

    def send(self) -> None:
        """One batch, if there is anything."""
        with self._sending:
            if self._over:
                return
            with self._lock:
                items, progress, log = self._items[:], self._progress, self._log[:]
                has_items = self.has_items
            reported = [] if progress is None else [progress]
            if items or reported or log or has_items:
                batch = {"kind": "records", "no": self._no, "has_items": has_items}
                self._child.wire.send({**batch, "items": items, "progress": reported, "log": log})
            with self._lock:
                del self._items[: len(items)], self._log[: len(log)]
                if self._progress is progress:  # a newer report is sent the next time
                    self._progress = None

    def sign(self) -> None:
        """What is sent is a sign of life."""

    def item(self, recorded: Recorded) -> None:
        """Take an item's outcome."""
        one = recorded
        with self._lock:
            self._standing[one.loop, one.key] = one.outcome
            self._items.append((one.loop, one.key, one.position, one.outcome.value, one.reason, one.error_type, one.final))
        self._wanted.set()

    def prior(self, loop: str) -> dict[str, ItemOutcome]:
        """The outcomes recorded for a loop, by key."""
        with self._lock:
            return {key: outcome for (name, key), outcome in self._standing.items() if name == loop}

    def tried_again(self, loop: str) -> set[str]:
        """The failed items of a loop that were given again already, by key."""
        return {key for name, key in self._tried_again if name == loop}

    def progress(
        self, percent: Any = None, message: Any = None, metadata: Any = None, done: Any = None, total: Any = None
    ) -> None:
        """Take over how far the job is; the worker reads the values as it reads those of its own bodies."""
        given = {"percent": percent, "message": message, "metadata": metadata, "done": done, "total": total}
        report = {name: _sendable(name, value) for name, value in given.items() if value is not None}
        with self._lock:
            # As the worker would read the reports one after the other: percent, done and total replace each other, the rest stays.
            before = self._progress or {}
            stays = before if report.keys().isdisjoint(_FAR) else {name: before[name] for name in before.keys() - _FAR}
            self._progress = {**stays, **report}
        self._wanted.set()

    def log(self, line: str) -> None:
        """Take a line; a flood waits for the line to the worker rather than fill the memory."""
        while len(self._log) >= LINES and not self._over:
            self.send()
        with self._lock:
            self._log.append(line)
        self._wanted.set()

    def flush(self) -> None:
        """Have all written and committed before going on."""
        self.send()
        self.overtaken = self._child.ask({"kind": "flush", "no": self._no})["overtaken"] or self.overtaken


def _sendable(name: str, value: Any) -> Any:
    """As much of a value as the worker would look at."""
    try:
        if name == "metadata":
            text = encode_result(value, 65_536)[0]
            return json.loads(text) if text is not None else None
        if name == "message":
            return safe_text(str(value), MESSAGE_LIMIT)
        return float(value) if name == "percent" else int(value)
    except Exception:
        return f"<unprintable {type(value).__name__}>" if name == "message" else "unknown"


class RemoteSteps:
    """Steps are found and kept by the worker."""

    def __init__(self, child: WorkerChannel, no: int) -> None:
        self._child = child
        self._no = no

    def find(self, _claim: Claim, name: str, digest: str) -> str | None:
        """The kept result as JSON text."""
        found: str | None = self._child.ask({"kind": "find", "no": self._no, "name": name, "digest": digest})["value"]
        return found

    def save(self, _claim: Claim, name: str, digest: str, result: str, seconds: float) -> bool:
        """Keep a result; False when a newer run owns the job."""
        message = {"kind": "save", "no": self._no, "name": name, "digest": digest, "result": result, "seconds": seconds}
        return bool(self._child.ask(message)["value"])

    def answer(self, _claim: Claim, name: str, digest: str, *, remembered: bool) -> str | None:
        """The answer that a question has already, as JSON text."""
        message = {"kind": "answer_to", "no": self._no, "name": name, "digest": digest, "remembered": remembered}
        given: str | None = self._child.ask(message)["value"]
        return given
