"""What a body may change of its process, set back at its end, so that no job finds what another has left.

A child process runs one body at a time: all of it is set back after each. In a process that only works (`jobtrail worker`)
several bodies may run at once and share one state: environment and locale are set back where a body ends and no other runs,
directory and blocked signals where the worker has no other job. In a process of the application nothing is set back, since it may be the application's change.
"""

from __future__ import annotations

import contextlib
import locale
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def _directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a Path costs ten times as much, and this is called twice for each job
    except OSError:
        return None  # it was removed


def _environment() -> dict[Any, Any]:
    return dict(os.environ._data)  # type: ignore[attr-defined] # decoding it costs ten times as much


def _set_environment(before: Mapping[Any, Any]) -> None:
    now, decode = _environment(), os.environ.decodekey
    for key in now.keys() - before.keys():
        del os.environ[decode(key)]
    for key in before.keys() - {key for key, value in now.items() if before.get(key) == value}:
        os.environ[decode(key)] = os.environ.decodevalue(before[key])


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


def _set_locale(before: str) -> None:
    locale.setlocale(locale.LC_ALL, before)


def _umask() -> int | None:
    """The umask as the system tells it; changing it to learn it would hold for the files of all threads meanwhile."""
    try:
        status = Path("/proc/self/status").read_bytes()
        return int(status.partition(b"Umask:")[2].split(None, 1)[0], 8)
    except (OSError, ValueError, IndexError):
        return None


def blocked_signals() -> set[Any] | None:
    """The signals that are blocked in this thread; None where the system has no such thing."""
    return signal.pthread_sigmask(signal.SIG_BLOCK, ()) if hasattr(signal, "pthread_sigmask") else None


def block_signals(before: set[Any] | None) -> None:
    """Block these signals in this thread, and no others."""
    if before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def _set_handlers(before: Mapping[int, Any]) -> None:
    for number, handler in before.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)


def _timer() -> tuple[float, float] | None:
    return signal.getitimer(signal.ITIMER_REAL) if hasattr(signal, "getitimer") else None


def _stop_timer(_before: object) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


_ASPECTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "directory": (_directory, os.chdir),
    "environment": (_environment, _set_environment),
    "locale": (_locale, _set_locale),
    "signals": (blocked_signals, block_signals),
    "umask": (_umask, os.umask),
    "handlers": (_handlers, _set_handlers),
    "timer": (_timer, _stop_timer),
}


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Set back what the block changes of a process that runs nothing else; in its main thread."""
    before = {name: read() for name, (read, _) in _ASPECTS.items()}
    try:
        yield
    finally:
        for name, (read, write) in _ASPECTS.items():
            if before[name] is not None and read() != before[name]:
                with contextlib.suppress(OSError, ValueError, locale.Error):
                    write(before[name])


class SharedState:
    """The state of a process while several bodies may run in it; used by one thread, that of the worker's event loop."""

    def __init__(self) -> None:
        self._inside = 0
        self.remember()

    def remember(self) -> None:
        """Take the present state for the right one; no body runs, and the program may have changed it."""
        self._directory, self._environment = _directory(), _environment()
        self._locale, self._signals = _locale(), blocked_signals()

    def enter(self) -> None:
        """A body begins."""
        self._inside += 1

    def leave(self) -> None:
        """A body has ended: set back environment and locale, unless another one runs."""
        self._inside -= 1
        if self._inside:
            return
        if os.environ._data != self._environment:  # type: ignore[attr-defined]
            _set_environment(self._environment)
        if _locale() != self._locale:
            _set_locale(self._locale)

    def settle(self) -> None:
        """Set back the rest, where the worker has no job: asking for it lets go of the interpreter, 20 µs for each job."""
        directory = _directory()
        if directory != self._directory and self._directory is not None:
            with contextlib.suppress(OSError):
                os.chdir(self._directory)
        if blocked_signals() != self._signals:
            block_signals(self._signals)


shared: SharedState | None = None  # where the process only works


def own_process() -> None:
    """Note that this process only works, so that what bodies change of it is set back."""
    global shared  # noqa: PLW0603 - there is one process
    shared = SharedState()


def own_decimal_context() -> None:
    """Give the current context variables a decimal context of their own: it is one object, which a copy would share."""
    decimal = sys.modules.get("decimal")
    if decimal is not None:
        decimal.setcontext(decimal.getcontext().copy())
