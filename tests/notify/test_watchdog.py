"""The ping stops when we stop; a store or a folder that cannot be written is told, by whoever still can."""

from __future__ import annotations

import pytest
from receivers import WebServer

from jobtrail.errors import StoreUnavailable
from jobtrail.notify import AlertRule, Ping, watchdog
from jobtrail.notify.channels.base import SendingFailed
from jobtrail.notify.watchdog import Watch


@pytest.fixture
def web():
    server = WebServer()
    yield server
    server.close()


def pings(world, web, seconds: float) -> int:
    world.clock.move(seconds=seconds)
    watchdog.ping(world.jobs.notify, Ping(f"{web.address}/alive", every=60))
    return len(web.requests)


def test_the_ping_is_called_once_an_interval_while_turns_go_on(telling, web):
    world = telling()
    world.turn()
    assert pings(world, web, 0) == 1
    world.turn(59)
    assert pings(world, web, 0) == 1
    world.turn(1)
    assert pings(world, web, 0) == 2


def test_the_ping_stops_when_turns_stop_or_the_store_cannot_be_written(telling, web, monkeypatch):
    world = telling()
    world.turn()
    assert pings(world, web, 0) == 1
    assert pings(world, web, 61) == 1
    world.turn()
    assert pings(world, web, 0) == 2
    world.turn(60)

    def away(_):
        raise StoreUnavailable("away")

    monkeypatch.setattr(world.jobs.store, "write", away)
    with pytest.raises(StoreUnavailable):
        pings(world, web, 0)
    assert len(web.requests) == 2


def test_a_ping_that_fails_ends_nothing_and_names_no_secret(telling, web, caplog):
    world = telling()
    world.turn()
    web.status = 500
    assert pings(world, web, 0) == 1
    assert "500" in caplog.text
    assert "/alive" not in caplog.text


class Keeps:
    """A channel that keeps what it takes."""

    kind, target, secrets, knows_ids, fallback = "keeps", "here", (), True, None

    def __init__(self) -> None:
        self.taken = []

    def send(self, message) -> None:
        if message is None:
            raise SendingFailed("no")
        self.taken.append(message)


def test_a_store_that_is_away_is_told_directly_once_for_each_outage(telling, monkeypatch):
    ops = Keeps()
    world = telling(rules=[AlertRule("store", kinds="store.away", channels=["inbox", "ops"], group=0)], channels={"ops": ops})
    seconds = [0.0]
    watch = Watch(world.jobs.notify, clock=lambda: seconds[0])
    watch.turn()

    def away(_):
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(world.jobs.store, "write", away)
        for seconds[0] in (30, 59, 61, 300):
            watch.turn()
    assert ["the disk is full" in message.body for message in ops.taken] == [True]
    seconds[0] = 301
    watch.turn()
    with monkeypatch.context() as patched:
        patched.setattr(world.jobs.store, "write", away)
        for seconds[0] in (330, 362, 400):
            watch.turn()
    assert len(ops.taken) == 2


def test_a_folder_that_cannot_be_written_is_told_once_and_when_it_can_again(telling, tmp_path, monkeypatch):
    world = telling(rules=[AlertRule("disk", kinds="disk.unwritable", group=0)])
    folder = tmp_path / "spool"
    watch = Watch(world.jobs.notify, [folder, tmp_path / "none"])
    watch.turn()
    folder.mkdir()
    watch.turn()
    world.turn(1)
    assert world.inbox == []

    def full(**_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(watchdog.tempfile, "TemporaryFile", full)
        for _ in range(3):
            watch.turn()
    world.turn(1)
    (title,) = world.inbox
    assert "cannot be written" in title
    watch.turn()
    world.turn(1)
    assert len(world.inbox) == 2


def test_workers_that_lose_the_store_are_told_of(telling):
    """The row of a living worker says that the store was away, and until when."""
    from sqlalchemy import update

    from jobtrail.database.tables import workers as table
    from jobtrail.job.model import new_id
    from jobtrail.store import workers

    world = telling(rules=[AlertRule("ops", kinds=["store.away", "worker.lost"], group=0)])
    store = world.jobs.store
    world.turn(10)
    one, other = new_id(), new_id()
    for name in (one, other):
        store.write(lambda conn, name=name: workers.register(conn, store.dialect, name, ["default"], 1, store.now()))
    since = store.now().isoformat()
    store.write(lambda conn: workers.note(conn, one, {"store_away": {"since": since, "until": None, "why": "locked"}}))
    store.write(lambda conn: workers.mark_dead(conn, other, '@recovery.worker-silent {"seconds":17}', store.now()))
    world.turn(6)
    world.turn(6)
    assert len(world.inbox) == 1
    assert world.inbox[0].startswith("2 events")
    store.write(lambda conn: conn.execute(update(table).where(table.c.id == one).values(
        detail=f'{{"store_away": {{"since": "{since}", "until": "{store.now().isoformat()}", "why": "locked"}}}}')))  # fmt: skip
    world.turn(6)
    assert "answers again" in world.inbox[1]
