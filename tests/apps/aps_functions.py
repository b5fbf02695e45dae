"""Functions that APScheduler jobs of the tests refer to."""

from __future__ import annotations

import threading

ran: list[tuple] = []
release = threading.Event()


def note(*args, **kwargs):
    ran.append((args, kwargs))
    return {"args": list(args)}


def other():
    ran.append(("other",))


def fails():
    raise ValueError("broken on purpose")


def waits():
    ran.append(("waits",))
    release.wait(20)


class Station:
    def load(self, a, b):
        return a + b

    @classmethod
    def load_all(cls, a, b):
        return a + b


station = Station()
