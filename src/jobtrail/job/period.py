"""Temporary."""
from __future__ import annotations
from dataclasses import dataclass
from datetime import datetime, UTC, timedelta
@dataclass(frozen=True, slots=True)
class Period:
    start: datetime
    end: datetime
    zone: str = "UTC"
    text: str = ""
    @property
    def key(self): return f"{self.start.isoformat()}/{self.end.isoformat()}"
    @classmethod
    def parse(cls, text, zone=None):
        if isinstance(text, Period): return text
        y, m = map(int, text.split("-"))
        s = datetime(y, m, 1, tzinfo=UTC)
        e = datetime(y + (m == 12), m % 12 + 1, 1, tzinfo=UTC)
        return cls(s, e, "UTC", text)
