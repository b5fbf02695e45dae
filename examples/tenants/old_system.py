"""The table that the application kept by hand: one row for each load of a customer's orders, and one for each order."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TENANTS = ("acme", "globex", "initech")
CUSTOMERS = 100
ROWS = 1_000
BEGIN = datetime(2013, 1, 1, tzinfo=UTC)


def make(file: Path) -> None:
    """Fill the table, as years of work have."""
    with closing(sqlite3.connect(file)) as conn, conn:
        conn.execute("CREATE TABLE loads (id INTEGER PRIMARY KEY, tenant, customer, begun, ended, error)")
        conn.execute("CREATE TABLE orders (load_id, number, problem)")
        for number in range(ROWS):
            begun = BEGIN + timedelta(hours=number)
            error = "no route to host" if number % 50 == 0 else None
            row = (number, tenant_of(number), number % CUSTOMERS, begun.isoformat(), (begun + timedelta(minutes=2)).isoformat(), error)
            conn.execute("INSERT INTO loads VALUES (?, ?, ?, ?, ?, ?)", row)
            orders = [(number, order, "no price" if (number + order) % 25 == 0 else None) for order in range(3)]
            conn.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders if error is None else [])


def tenant_of(customer: int) -> str:
    """The tenant of a customer (or of a row, which has the same remainder)."""
    return TENANTS[customer % CUSTOMERS % len(TENANTS)]


def records(file: Path) -> Iterator[dict[str, Any]]:
    """The old rows as records of ended jobs."""
    with closing(sqlite3.connect(file)) as conn:
        orders: dict[int, list[dict[str, Any]]] = {}
        for load, number, problem in conn.execute("SELECT load_id, number, problem FROM orders ORDER BY load_id, number"):
            outcome = "ok" if problem is None else "failed"
            orders.setdefault(load, []).append({"key": f"order {number}", "outcome": outcome, "reason": problem})
        for load, tenant, customer, begun, ended, error in conn.execute("SELECT * FROM loads ORDER BY id"):
            items = orders.get(load, [])
            partial = any(item["outcome"] == "failed" for item in items)
            yield {
                "key": f"loads-{load}", "task": "load_orders", "kind": "sync",
                "status": "failed" if error else "partial" if partial else "completed",
                "source": tenant, "created_at": begun, "started_at": begun, "finished_at": ended, "error": error,
                "labels": {"tenant": tenant, "customer": str(customer)},
                "args": {"tenant": tenant, "customer": customer, "name": name_of(customer)}, "items": items,
            }  # fmt: skip


def name_of(customer: int) -> str:
    """What must not stay when the customer asks for it."""
    return f"Customer Number-{customer:03}"
