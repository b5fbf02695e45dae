"""What systemd is told of a worker (``Type=notify``): ready, stopping, and that its loop still turns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket


def tell(word: str) -> bool:
    """Send one word, ``READY=1`` or the like; False where no systemd listens."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address or not hasattr(socket, "AF_UNIX"):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
        sock.connect(address)
        sock.sendall(word.encode())
        return True
    return False


def watchdog_interval() -> float | None:
    """Half of the time after which systemd gives up on us, in seconds; None where it does not watch."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    mine = os.environ.get("WATCHDOG_PID")
    if not microseconds.isdecimal() or (mine is not None and mine != str(os.getpid())):
        return None
    return int(microseconds) / 2_000_000


async def keep_watchdog_quiet() -> None:
    """From the event loop itself: a loop that does not turn is what the watchdog is to notice."""
    interval = watchdog_interval()
    while interval is not None:
        tell("WATCHDOG=1")
        await asyncio.sleep(interval)
