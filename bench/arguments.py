"""What the check of arguments costs, in microseconds for each argument: `python bench/arguments.py`.

Submission is `Signature.accept` beside `Signature.bind`, arrival is `Signature.arrived`; the fastest of seven rounds.
"""

from __future__ import annotations

import json
import timeit
from datetime import date
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from jobtrail.job.arguments.signature import Signature

NUMBER = 5_000


class Order(BaseModel):
    id: int
    price: Decimal


def plain(a, b): ...
def texts(a: str, b: int): ...
def raw(a: Any, b: Any): ...
def dates(a: date, b: date): ...
def lists(a: list[int], b: list[int]): ...
def models(a: Order, b: Order): ...


DAY, ORDER = date(2013, 2, 1), Order(id=1, price=Decimal("1.1"))
CASES = [
    ("no annotation", plain, {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ("Any", raw, {"a": 1, "b": 2}, {"a": 1, "b": 2}),
    ("str, int", texts, {"a": "x", "b": 2}, {"a": "x", "b": 2}),
    ("date", dates, {"a": DAY, "b": DAY}, {"a": "2013-02-01", "b": "2013-02-01"}),
    ("list[int], 100 of them", lists, {"a": list(range(100)), "b": list(range(100))}, {"a": list(range(100)), "b": list(range(100))}),
    ("model", models, {"a": ORDER, "b": ORDER}, {"a": {"id": 1, "price": "1.1"}, "b": {"id": 1, "price": "1.1"}}),
]


def best(call) -> float:
    call()
    return min(timeit.repeat(call, number=NUMBER, repeat=7)) / NUMBER * 1e6


print(f"{'annotation':24} {'submitted':>10} {'arrived':>10}   µs for each argument")
for name, function, given, stored in CASES:
    signature = Signature.of(function)
    bare = best(lambda: signature.bind("t", (), given))
    submitted = max(best(lambda: signature.accept("t", (), given)) - bare, 0) / 2
    arrived = best(lambda: signature.arrived("t", stored)) / 2
    print(f"{name:24} {submitted:10.2f} {arrived:10.2f}")
assert json.dumps(Signature.of(models).accept("t", (), {"a": ORDER, "b": ORDER}))
