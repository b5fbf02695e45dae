"""SQLite: how soon does another process have the job: a datagram after the commit, or polling PRAGMA data_version?

Latency from before the insert (durable) to the claim's commit in the other process.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import selectors
import socket
import statistics
import tempfile
import time

from .common import arguments
from .sqlite_hot import INDEXES, INSERT, TABLE, Raw, blob_id, claim_union, rows_for


def take(path: str, how: str, count: int, pipe: multiprocessing.connection.Connection) -> None:
    """The worker's process: wait, claim, report when it had the job and what waiting cost."""
    db = Raw(path)
    mailbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    watch = selectors.DefaultSelector()
    if how == "datagram":
        mailbox.bind(path + ".wake")
        mailbox.setblocking(False)
        watch.register(mailbox, selectors.EVENT_READ)
    worker, version, got = blob_id(), -1, 0
    pipe.send("ready")
    cpu, begin = time.process_time(), time.monotonic()
    while got < count:
        if how == "datagram":
            if watch.select(timeout=1.0):
                mailbox.recv(64)
        else:
            time.sleep(0.020 if how == "poll 20 ms" else 0.005)
            seen = db.run("pragma data_version").fetchone()[0]
            if seen == version:
                continue
            version = seen
        db.begin()
        rows = claim_union(db, 10, worker)
        db.commit()
        at = time.monotonic()
        got += len(rows)
        for row in rows:
            pipe.send((row[0], at))
    pipe.send((time.process_time() - cpu) / (time.monotonic() - begin))


def measure(folder: str, how: str, count: int) -> tuple[float, float, float]:
    """p50 and p99 in ms, CPU share of the waiting process."""
    path = os.path.join(folder, random.randbytes(8).hex())
    db = Raw(path)
    db.run(TABLE.format(id="blob", tail=""))
    for index in INDEXES:
        db.run(index)
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=take, args=(path, how, count, there))
    process.start()
    here.recv()
    bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    bell.setblocking(False)
    spent = []
    for _ in range(count):
        time.sleep(random.uniform(0.005, 0.030))
        row = rows_for(1, blob_id)[0]
        begin = time.monotonic()
        db.run(INSERT, row)
        if how == "datagram":
            bell.sendto(b"1", path + ".wake")
        key, at = here.recv()
        assert key == row[0]
        spent.append((at - begin) * 1000)
    share = here.recv()
    process.join()
    spent.sort()
    return statistics.median(spent), spent[int(len(spent) * 0.99)], share


def main() -> None:
    """Print the table."""
    args = arguments(rounds=3, jobs=200)
    hows = ("datagram", "poll 20 ms", "poll 5 ms")
    seen: dict[str, list[tuple[float, float, float]]] = {how: [] for how in hows}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.rounds):
            for how in hows:
                seen[how].append(measure(folder, how, args.jobs))
    print("\n### 7 SQLite, insert to claim in another process\n\n| variant | p50 ms | p99 ms | CPU of the waiter |\n"
          "| --- | --- | --- | --- |")
    for how, figures in seen.items():
        p50, p99, share = (statistics.median(values) for values in zip(*figures, strict=True))
        print(f"| {how} | {p50:.2f} | {p99:.2f} | {share:.1%} |")


if __name__ == "__main__":
    main()
