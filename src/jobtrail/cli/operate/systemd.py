"""Notifications to systemd (``Type=notify``): ready, stopping, and the watchdog."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket


def tell(word: str) -> bool:
    """Send a notification such as ``READY=1``; return False if no systemd listens."""
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
    """Return half of the watchdog time in seconds; None if systemd does not watch this process."""
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    mine = os.environ.get("WATCHDOG_PID")
    if not microseconds.isdecimal() or (mine is not None and mine != str(os.getpid())):
        return None
    return int(microseconds) / 2_000_000


async def keep_watchdog_quiet() -> None:
    """Notify the watchdog from the event loop, so that it notices a blocked loop."""
    interval = watchdog_interval()
    while interval is not None:
        tell("WATCHDOG=1")
        await asyncio.sleep(interval)
