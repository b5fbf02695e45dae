"""Loops over items and batches, whose outcomes are recorded; an item that is done is not given again."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jobtrail.errors import RetryableError, StoreUnavailable, TooManyFailedItems, UsageError
from jobtrail.job.failure import describe
from jobtrail.job.items import Counts, ItemOutcome, item_key
from jobtrail.messages import Message, render
from jobtrail.store.items import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from jobtrail.job.items import FailedItemsLimit

    from .recorder import Reports

T = TypeVar("T")
REASON_LIMIT = 1000  # bytes
_ENDS_THE_RUN = (RetryableError, StoreUnavailable, TooManyFailedItems)  # says nothing of the item, which stays open


class LoopItem(Generic[T]):
    """One item of a loop. ``with item:`` records its outcome: ok, or the error, and the loop goes on."""

    __slots__ = ("_entered", "_loop", "_outcome", "_position", "_reason", "key", "value")

    def __init__(self, loop: ItemLoop[T], key: str, value: T, position: int) -> None:
        self.key = key
        self.value = value
        self._loop = loop
        self._position = position
        self._entered = False
        self._outcome: ItemOutcome | None = None
        self._reason: str | None = None

    def skip(self, reason: str) -> None:
        """Record inside the block that this item is skipped on purpose."""
        self._outcome, self._reason = ItemOutcome.SKIPPED, reason

    def fail(self, reason: str) -> None:
        """Record inside the block that this item failed, without an exception."""
        self._outcome, self._reason = ItemOutcome.FAILED, reason

    def __enter__(self) -> T:
        """Begin the item; its value is given to ``with item as row:``."""
        self._entered = True
        return self.value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Record the outcome. Retry, stop and anything that is no `Exception` pass through; the item stays open."""
        if error is None:
            self._loop.ended(self, self._outcome or ItemOutcome.OK, self._reason, None)
            return False
        if not isinstance(error, Exception) or isinstance(error, _ENDS_THE_RUN):
            return False
        failure = describe(error, limit=4096)
        final = not self._loop.may_help(error)
        self._loop.ended(self, ItemOutcome.FAILED, failure.message or failure.type, failure.type, final=final)
        return True

    @property
    def entered(self) -> bool:
        """Whether its ``with`` block has begun."""
        return self._entered

    @property
    def position(self) -> int:
        """Its position in the input, from 0."""
        return self._position


class ItemLoop(Generic[T]):
    """``ctx.items(...)``: iterate once. Where the loop is left early, the job is partial."""

    def __init__(
        self,
        recorder: Reports,
        values: Iterable[T],
        *,
        key: Callable[[T], Any],
        name: str,
        fresh: bool,
        failed_too: bool,
        chosen: frozenset[str] | None,
        anew: bool,
        limit: FailedItemsLimit | None,
        durable: bool,
        check_stop: Callable[[], None],
        stopped: Callable[[], bool],
        may_help: Callable[[BaseException], bool],
    ) -> None:
        self.name = name
        self.exhausted = False
        self._recorder = recorder
        self._values = values
        self._key = key
        self._limit = limit
        self._durable = durable
        self.check_stop = check_stop
        self.stops_here = stopped
        self.may_help = may_help
        self._prior = {} if fresh else recorder.prior(name)
        self._failed_too = failed_too
        self._chosen = chosen
        self._anew = anew
        self._tried_again = set() if fresh else recorder.tried_again(name)
        self._total = len(values) if isinstance(values, Sized) else None
        self._seen: set[str] = set()
        self._done = 0
        self._counts = Counts(0, 0, 0)

    @property
    def recorded(self) -> dict[str, ItemOutcome]:
        """The outcomes that earlier runs have recorded for this loop, by key."""
        return dict(self._prior)

    def __iter__(self) -> Iterator[LoopItem[T]]:
        """The items that have no outcome yet, and each failed one once where failed items are tried again."""
        for item in self.entries():
            yield item
            self._refuse_unentered(item)
            self.advance()
        self.close()

    def entries(self) -> Iterator[LoopItem[T]]:
        """The same items, for who records and counts them."""
        for key, value, position in self._to_do():
            yield LoopItem(self, key, value, position)

    def _to_do(self) -> Iterator[tuple[str, T, int]]:
        for position, value in enumerate(self._input()):
            self.check_stop()
            key = self._new_key(value)
            if self._is_settled(key):
                self.advance()
            else:
                yield key, value, position

    def _input(self) -> Iterator[T]:
        """The values; where they end with an error, it tells after which item."""
        count = 0
        try:
            for value in self._values:
                yield value
                count += 1
        except Exception as error:
            said = render(Message("runtime.input-raised", loop=self.name, type=type(error).__name__, after=count))
            self._recorder.log(said)
            error.add_note(said)
            raise

    def _new_key(self, value: T) -> str:
        key = item_key(self._key(value))
        if key in self._seen:
            raise UsageError(Message("runtime.key-twice", loop=self.name, key=repr(key)))
        self._seen.add(key)
        return key

    def _is_settled(self, key: str) -> bool:
        outcome = self._prior.get(key)
        if self._chosen is not None and key not in self._chosen:
            return True
        if self._chosen is not None and self._anew:
            return key in self._tried_again  # whatever it was before, once
        if outcome is ItemOutcome.FAILED and self._failed_too:
            return key in self._tried_again
        return outcome is not None

    def _refuse_unentered(self, item: LoopItem[T]) -> None:
        if not item.entered:
            raise UsageError(Message("runtime.item-not-entered", loop=self.name, key=repr(item.key)))

    def ended(
        self, item: LoopItem[T], outcome: ItemOutcome, reason: str | None, error_type: str | None, *, final: bool = False
    ) -> None:
        """An item's block is over; with ``final`` another try cannot help."""
        self.record(item.key, item.position, outcome, reason, error_type, final=final)
        self._check_limit(outcome)

    def record(
        self, key: str, position: int, outcome: ItemOutcome, reason: str | None = None, error_type: str | None = None,
        *, final: bool = False,
    ) -> None:  # fmt: skip
        """Give one outcome to the recorder."""
        from jobtrail.job.json_value import safe_text

        text = None if reason is None else safe_text(reason, REASON_LIMIT)
        self._recorder.has_items = True
        self._recorder.item(Recorded(self.name, key, position, outcome, text, error_type, final))
        if self._durable:
            self._recorder.flush()

    def _check_limit(self, outcome: ItemOutcome) -> None:
        ok, failed, skipped = self._counts.ok, self._counts.failed, self._counts.skipped
        ok, failed, skipped = (
            ok + (outcome is ItemOutcome.OK),
            failed + (outcome is ItemOutcome.FAILED),
            skipped + (outcome is ItemOutcome.SKIPPED),
        )
        self._counts = Counts(ok, failed, skipped)
        if outcome is ItemOutcome.FAILED and self._limit and self._limit.exceeded(self._counts, self._total):
            raise TooManyFailedItems(
                Message("runtime.too-many-failed", failed=failed, total=self._counts.total, limit=str(self._limit))
            )

    def advance(self, by: int = 1) -> None:
        """So many items more are behind."""
        self._done += by
        if self._total is not None or self._done % 64 == 0:
            self._recorder.progress(done=self._done, total=self._total)

    def close(self) -> None:
        """The input has ended."""
        self.exhausted = True
        self._recorder.has_items = True
        self._recorder.progress(done=self._done, total=self._total if self._total is not None else self._done)
        for key, outcome in self._prior.items():
            if outcome is ItemOutcome.FAILED and key not in self._seen:
                self.record(key, -1, ItemOutcome.SKIPPED, Message("runtime.item-gone").stored)


class Batch(Generic[T]):
    """Several items whose work is committed at once; all are recorded after the block."""

    __slots__ = ("_entered", "_loop", "_members", "failed")

    def __init__(self, loop: BatchLoop[T], members: Sequence[tuple[str, T, int]]) -> None:
        self._loop = loop
        self._members = members
        self._entered = False
        self.failed = False

    @property
    def values(self) -> list[T]:
        """The values, in the order of the input."""
        return [value for _, value, _ in self._members]

    @property
    def keys(self) -> list[str]:
        """Their keys."""
        return [key for key, _, _ in self._members]

    @property
    def entered(self) -> bool:
        """Whether its ``with`` block has begun."""
        return self._entered

    def __enter__(self) -> list[T]:
        """Begin; the values are given to ``with batch as rows:``."""
        self._entered = True
        return self.values

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Record all as ok; after an error record a single item as failed, and give several again one by one."""
        if error is None:
            self._loop.settled(self._members, ItemOutcome.OK)
            return False
        if not isinstance(error, Exception) or isinstance(error, _ENDS_THE_RUN):
            return False
        self.failed = True
        if len(self._members) == 1:
            failure = describe(error, limit=4096)
            final = not self._loop.may_help(error)
            self._loop.settled(self._members, ItemOutcome.FAILED, failure.message or failure.type, failure.type, final=final)
        return True


class BatchLoop(ItemLoop[T]):
    """``ctx.batches(...)``: like items, in groups of ``size``."""

    def __init__(self, *args: Any, size: int, **options: Any) -> None:
        super().__init__(*args, **options)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(Message("runtime.bad-batch-size", size=repr(size)))
        self._size = size

    def __iter__(self) -> Iterator[Batch[T]]:  # type: ignore[override]
        """Batches of the items that have no outcome yet; after an error the members one by one."""
        members: list[tuple[str, T, int]] = []
        for member in self._to_do():
            members.append(member)
            if len(members) == self._size:
                yield from self._give(members)
                members = []
        if members:
            yield from self._give(members)
        self.close()

    def _give(self, members: list[tuple[str, T, int]]) -> Iterator[Batch[T]]:
        batch = Batch(self, members)
        yield batch
        self._refuse_unentered_batch(batch)
        if batch.failed and len(members) > 1:
            for member in members:
                self.check_stop()
                single = Batch(self, [member])
                yield single
                self._refuse_unentered_batch(single)
        self.advance(len(members))

    def _refuse_unentered_batch(self, batch: Batch[T]) -> None:
        if not batch.entered:
            raise UsageError(Message("runtime.batch-not-entered", loop=self.name))

    def settled(
        self,
        members: Sequence[tuple[str, T, int]],
        outcome: ItemOutcome,
        reason: str | None = None,
        error_type: str | None = None,
        *,
        final: bool = False,
    ) -> None:
        """A batch's block is over."""
        durable, self._durable = self._durable, False
        for key, _, position in members:
            self.record(key, position, outcome, reason, error_type, final=final)
        self._durable = durable
        if durable:
            self._recorder.flush()
        for _ in members:
            self._check_limit(outcome)
