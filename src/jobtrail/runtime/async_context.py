"""The context of an ``async def`` task function."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from jobtrail.job.unit import step_digest

from .context import UNSET, BaseContext
from .parallel_items import AsyncItemLoop
from .unfinished import called_step, finished_step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

T = TypeVar("T")


class AsyncContext(BaseContext):
    """Context of an ``async def`` task function: the members of `Context`; `step` and `ask` are awaited."""

    def items(
        self, values: Iterable[T], *, key: Callable[[T], Any] | None = None, name: str = "items", durable: bool = False
    ) -> AsyncItemLoop[T]:
        """`BaseContext.items`; `AsyncItemLoop.run`, which is awaited, calls a function for each item, several at a time.

        Args:
            values: As for `BaseContext.items`.
            key: As for `BaseContext.items`.
            name: As for `BaseContext.items`.
            durable: As for `BaseContext.items`.
        """
        return self._item_loop(AsyncItemLoop[T], values, name, key=key, durable=durable)

    @overload
    async def ask(
        self, name: str, text: str, schema: type[T], *, kind: Literal["input"] = "input", expires: Any = None,
        default: Any = UNSET, columns: Any = None, remember: bool = False,
    ) -> T: ...
    @overload
    async def ask(
        self, name: str, text: str, schema: Any, *, kind: Literal["mapping"], expires: Any = None,
        default: Any = UNSET, columns: Any = None, remember: bool = False,
    ) -> dict[str, str | None]: ...
    @overload
    async def ask(
        self, name: str, text: str, schema: Mapping[str, Any], *, kind: str = "input", expires: Any = None,
        default: Any = UNSET, columns: Any = None, remember: bool = False,
    ) -> Any: ...
    async def ask(
        self,
        name: str,
        text: str,
        schema: Any,
        *,
        kind: str = "input",
        expires: Any = None,
        default: Any = UNSET,
        columns: Any = None,
        remember: bool = False,
    ) -> Any:
        """`Context.ask`, awaited.

        Args:
            name: As for `Context.ask`.
            text: As for `Context.ask`.
            schema: As for `Context.ask`.
            kind: As for `Context.ask`.
            expires: As for `Context.ask`.
            default: As for `Context.ask`.
            columns: As for `Context.ask`.
            remember: As for `Context.ask`.
        """
        options = {"kind": kind, "expires": expires, "default": default, "columns": columns, "remember": remember}
        question = self._question(name, text, schema, options)
        return await asyncio.to_thread(self._answer, question, schema)

    async def fence(self, connection: Any) -> None:
        """`Context.fence`, awaited; takes an AsyncSession or AsyncConnection too.

        Args:
            connection: SQLAlchemy Session or Connection, or their async kinds.
        """
        from .fence import holds

        if hasattr(connection, "run_sync"):
            held = await connection.run_sync(holds, self._claim)
        else:
            held = holds(connection, self._claim)
        self._fenced(held=held)

    async def step(self, name: str, function: Callable[..., Awaitable[T] | T], /, *args: Any, **kwargs: Any) -> T:
        """`Context.step`, awaited; a plain function runs in a thread.

        Args:
            name: As for `Context.step`.
            function: Function or coroutine function to call.
            *args: As for `Context.step`.
            **kwargs: As for `Context.step`.
        """
        self.check_cancelled()
        digest = step_digest(name, args, kwargs)
        found, value = await asyncio.to_thread(self._find, name, digest)
        if not found:
            started = time.monotonic()
            with self._around_step(name):
                result = finished_step(name, await called_step(function, args, kwargs))
            value = await asyncio.to_thread(self._keep, name, digest, result, time.monotonic() - started)
        kept: T = value
        return kept
