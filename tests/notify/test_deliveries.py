"""One delivery: once in the inbox, with one id to who knows ids, marked before anything else, and told elsewhere when it fails."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest
from receivers import MailServer, WebServer

from jobtrail import PermanentError, RetryableError
from jobtrail.notify import AlertRule, Mail, OutgoingMessage, Webhook, tables
from jobtrail.notify.channels.base import SendingFailed
from jobtrail.notify.channels.states import gives_up
from jobtrail.testing import drain

pytestmark = pytest.mark.both_databases
RULE = AlertRule("modules", kinds="module.error", channels=["ops"], group=0)


@dataclass
class Line:
    """A channel that does what a test says, and keeps what it took."""

    knows_ids: bool = False
    fallback: str | None = None
    fails: SendingFailed | Exception | None = None
    taken: list[OutgoingMessage] = field(default_factory=list)
    kind = "line"
    target = "here"
    secrets = ("hunter2",)

    def send(self, message: OutgoingMessage) -> None:
        if self.fails is not None:
            raise self.fails
        self.taken.append(message)


def delivery(world, **options):
    """Announce an event and give the delivery that its turn makes, unsent."""
    world.announce(**options)
    world.jobs.notify.turn()
    return world.rows(tables.deliveries)[-1].id


def tell(world, one: str, *, last_try: bool = False):
    return world.jobs.notify.deliver(one, last_try=last_try)


def state(world, name: str = "ops"):
    return next(row for row in world.rows(tables.channels) if row.name == name)


def row(world, one: str):
    return next(row for row in world.rows(tables.deliveries) if row.id == one)


def test_a_delivery_that_is_sent_is_not_sent_again(telling):
    line = Line()
    world = telling(rules=[RULE], channels={"ops": line})
    one = delivery(world)
    for _ in range(3):
        assert tell(world, one).state == "sent"
    assert [message.id for message in line.taken] == [one]
    assert (row(world, one).tries, row(world, one).perhaps_twice) == (1, False)


def test_the_inbox_is_written_once(telling):
    world = telling(rules=[AlertRule("modules", kinds="module.error", group=0)])
    one = delivery(world)
    for _ in range(3):
        tell(world, one)
    assert world.inbox == ["module parser is in error"]


class Died(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("knows_ids", [True, False])
def test_who_dies_while_sending_sends_again_and_says_so_where_nobody_knows_ids(telling, monkeypatch, knows_ids):
    line = Line(knows_ids=knows_ids)
    world = telling(rules=[RULE], channels={"ops": line})
    one = delivery(world)

    def die(message):
        line.taken.append(message)
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(line, "send", die, raising=False)
        with pytest.raises(Died):
            tell(world, one)
    assert tell(world, one).perhaps_twice is not knows_ids
    assert [message.id for message in line.taken] == [one, one]
    assert [message.perhaps_twice for message in line.taken] == [False, not knows_ids]
    assert ("may have come before" in line.taken[1].body) is not knows_ids
    assert row(world, one).perhaps_twice is not knows_ids


def test_a_try_that_surely_failed_is_not_called_perhaps_twice(telling):
    line = Line(fails=SendingFailed("busy"))
    world = telling(rules=[RULE], channels={"ops": line})
    one = delivery(world)
    with pytest.raises(RetryableError, match="busy"):
        tell(world, one)
    line.fails = None
    assert not tell(world, one).perhaps_twice
    one = delivery(world, subject="other")
    line.fails = SendingFailed("no answer", uncertain=True)
    with pytest.raises(RetryableError):
        tell(world, one)
    line.fails = None
    assert tell(world, one).perhaps_twice


def test_a_channel_is_tried_again_when_it_asks_to_be(telling):
    world = telling(rules=[RULE], channels={"ops": Line(fails=SendingFailed("busy", after=1234))}, retry=3)
    one = delivery(world)
    with pytest.raises(RetryableError, match="busy") as caught:
        tell(world, one)
    assert caught.value.delay == 1234


def test_a_channel_that_is_down_is_retried_then_told_by_its_fallback(telling):
    ops, second = Line(fails=SendingFailed("down")), Line()
    world = telling(rules=[RULE], channels={"ops": ops, "second": second}, retry=3)
    ops.fallback = "second"
    one = delivery(world)
    drain(world.jobs)
    for _ in range(4):
        world.turn(3600)
    (job,) = world.jobs.find("status:failed kind:notification")
    assert job.attempt == 3
    assert world.deliveries == [("ops", "replaced"), ("second", "sent")]
    assert [message.title for message in second.taken] == ["module parser is in error"]
    assert (state(world).state, state(world).failures, state(world).last_error) == ("enabled", 3, "down")
    assert row(world, one).tries == 3


def test_a_fallback_that_fails_too_leaves_it_to_the_inbox(telling):
    ops, second = Line(fallback="second", fails=SendingFailed("no", permanent=True)), Line(fails=ValueError("broken hunter2"))
    world = telling(rules=[RULE], channels={"ops": ops, "second": second}, retry=1)
    delivery(world)
    for _ in range(4):
        world.turn(60)
    assert world.deliveries == [("ops", "replaced"), ("second", "replaced"), ("inbox", "sent")]
    assert world.inbox == ["module parser is in error"]
    assert "hunter2" not in state(world, "second").last_error


def test_two_channels_that_stand_for_each_other_end_in_the_inbox(telling):
    broken = {name: Line(fallback=other, fails=SendingFailed("no", permanent=True)) for name, other in (("a", "b"), ("b", "a"))}
    world = telling(rules=[AlertRule("modules", kinds="module.error", channels="a", group=0)], channels=broken, retry=1)
    delivery(world)
    for _ in range(4):
        world.turn(60)
    assert world.deliveries == [("a", "replaced"), ("b", "replaced"), ("inbox", "sent")]


def test_the_inbox_has_it_once_where_the_rule_tells_it_there_anyway(telling):
    rule = AlertRule("modules", kinds="module.error", channels=["inbox", "ops"], group=0)
    world = telling(rules=[rule], channels={"ops": Line(fails=SendingFailed("no", permanent=True))}, retry=1)
    delivery(world)
    for _ in range(3):
        world.turn(60)
    assert world.inbox == ["module parser is in error"]
    assert sorted(world.deliveries) == [("inbox", "sent"), ("ops", "failed")]


def test_a_channel_that_refuses_again_and_again_is_disabled_and_the_inbox_says_so(telling):
    line = Line(fails=SendingFailed("401", permanent=True))
    world = telling(rules=[RULE], channels={"ops": line})
    for i in range(3):
        with pytest.raises(PermanentError):
            tell(world, delivery(world, subject=f"m{i}"))
    assert (state(world).state, state(world).failures) == ("disabled", 3)
    assert "401" in state(world).message
    assert world.inbox == ["channel ops is disabled"]
    line.fails = None
    with pytest.raises(PermanentError, match="disabled"):
        tell(world, delivery(world, subject="m4"))
    assert line.taken == []
    world.jobs.notify.test("ops")
    assert state(world).state == "enabled"
    tell(world, delivery(world, subject="m5"))
    assert len(line.taken) == 2


def test_a_test_that_fails_writes_nothing(telling):
    world = telling(rules=[RULE], channels={"ops": Line(fails=SendingFailed("down"))})
    with pytest.raises(SendingFailed, match="down"):
        world.jobs.notify.test("ops")
    assert world.rows(tables.channels) == []


@pytest.mark.parametrize(
    ("failures", "refusals", "hours", "given_up"),
    [(1, 1, 0, False), (3, 3, 0, True), (9, 0, 48, False), (10, 0, 23, False), (10, 0, 24, True), (1000, 2, 1, False)],
)
def test_when_a_channel_is_given_up(failures, refusals, hours, given_up):
    from datetime import timedelta

    assert gives_up(failures, refusals, timedelta(hours=hours)) is given_up


def test_a_job_that_somebody_cancels_leaves_its_message_to_the_inbox(telling):
    world = telling(rules=[RULE], channels={"ops": Line()})
    delivery(world)
    for job in world.jobs.find("kind:notification"):
        job.cancel()
    world.turn(31)
    world.turn(1)
    assert world.deliveries == [("ops", "replaced"), ("inbox", "sent")]


def test_a_channel_that_is_not_declared_any_more(telling):
    world = telling(rules=[RULE], channels={"ops": Line()})
    delivery(world)
    later = telling(clock=world.clock)
    for _ in range(3):
        later.turn(60)
    assert later.deliveries == [("ops", "replaced"), ("inbox", "sent")]


def test_one_turn_to_three_real_channels(telling):
    mails, hook = MailServer(), WebServer()
    try:
        channels = {
            "mail": Mail("127.0.0.1", "jobtrail@example.org", "ops@example.org", security="none", port=mails.port),
            "hook": Webhook(f"{hook.address}/path-of-secrets", secret="hunter2hunter2"),
        }
        rule = AlertRule("hooks", kinds="module.*", channels="hook", group=0)
        world = telling(rules=[rule], channels=channels)
        world.announce(message="silent")
        world.turn()
        world.turn(30)
        assert world.inbox == ["module parser is in error"]
        assert [mail["Subject"] for mail in mails.messages] == ["module parser is in error"]
        ((_, headers, body),) = hook.requests
        assert json.loads(body)["events"][0]["facts"] == {"message": "silent"}
        assert headers["idempotency-key"] in {row.id for row in world.rows(tables.deliveries)}
        assert sorted(world.deliveries) == [("hook", "sent"), ("inbox", "sent"), ("mail", "sent")]
    finally:
        mails.close()
        hook.close()


def test_a_job_for_the_inbox_that_somebody_cancels_is_made_anew(telling):
    world = telling(rules=[AlertRule("modules", kinds="module.error", group=0)])
    delivery(world)
    for job in world.jobs.find("kind:notification"):
        job.cancel()
    world.turn(31)
    assert world.inbox == ["module parser is in error"]


def test_names_that_a_task_marks_are_masked_in_what_a_webhook_gets(telling):
    line = Line()
    world = telling(rules=[RULE], channels={"ops": line})
    world.jobs.task(name="load", secret={"pin"})(lambda pin="": None)
    tell(world, delivery(world, message="refused pin=hunter2", pin="hunter2"))
    assert "hunter2" not in repr(line.taken)


def test_a_job_that_died_with_its_workers_is_made_anew_a_few_times(telling):
    from sqlalchemy import update

    from jobtrail.database.tables import jobs as table

    line = Line()
    world = telling(rules=[RULE], channels={"ops": line})
    one = delivery(world)

    def die(tries: int) -> None:
        """As upkeep leaves a job whose workers died three times."""
        job = row(world, one).job_id
        world.jobs.store.write(lambda conn: conn.execute(update(table).where(table.c.id == job).values(status="failed", outcome="error")))
        world.jobs.store.write(lambda conn: conn.execute(update(tables.deliveries).values(tries=tries)))

    die(3)
    world.clock.move(seconds=31)
    world.jobs.notify.turn()
    assert row(world, one).state == "queued"
    die(12)
    world.turn(31)
    world.turn(1)
    assert line.taken == []
    assert world.deliveries == [("ops", "replaced"), ("inbox", "sent")]
