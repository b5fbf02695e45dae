"""Turns of the loop: events become grouped messages, each told once, with reminders, quiet hours and what is over."""

from __future__ import annotations

from datetime import UTC, datetime

from jobtrail.notify import AlertRule, tables
from jobtrail.testing import MovableClock, drain


def test_a_module_in_error_is_in_the_inbox_after_the_window(telling):
    world = telling()
    world.announce(message="no file since 06:00")
    world.turn()
    assert world.deliveries == [("inbox", "collecting")]
    world.turn(29)
    assert world.inbox == []
    world.turn(1)
    assert world.inbox == ["module parser is in error"]
    (entry,) = world.rows(tables.inbox)
    assert "no file since 06:00" in entry.body
    world.turn(60)
    assert len(world.inbox) == 1


def test_each_delivery_is_a_job_of_kind_notification(telling):
    world = telling()
    world.announce()
    world.turn()
    world.turn(30)
    (job,) = world.jobs.find("kind:notification")
    (delivery,) = world.rows(tables.deliveries)
    assert (job.task, job.status, job.id) == ("notify_deliver", "completed", delivery.job_id)
    assert job.arguments == {"delivery": delivery.id, "channel": "inbox"}


def test_five_hundred_modules_at_once_are_one_message(telling):
    world = telling()
    for i in range(500):
        world.announce(subject=f"m{i:03}")
    world.turn()
    world.turn(30)
    assert world.inbox == ["500 events: 500 × module.error"]
    assert world.rows(tables.deliveries)[0].events == 500
    assert world.rows(tables.inbox)[0].body.splitlines()[-1] == "and 480 more"
    assert len({row.event_id for row in world.rows(tables.delivery_events)}) == 500


def test_a_module_that_does_not_stay_ok_is_told_once_and_its_recovery_ends_nothing_of_it(telling):
    world = telling()
    world.announce("module.flapping", falls=6)
    world.announce("module.recovered", resolved=True)
    world.turn()
    world.turn(30)
    assert world.inbox == ["module parser does not stay ok: it fell 6 times within an hour"]


def test_the_end_of_a_problem_is_told_where_its_beginning_was(telling):
    world = telling(rules=[AlertRule("modules", kinds="module.error", group=0)])
    world.announce()
    world.announce("module.recovered", "other")
    world.turn()
    world.announce("module.recovered")
    world.announce("module.recovered")
    world.turn(10)
    assert world.inbox == ["module parser is in error", "module parser is all right again"]


def test_reminders_until_it_is_over(telling):
    world = telling(rules=[AlertRule("modules", kinds="module.error", group=0, remind=600)])
    world.announce()
    world.turn()
    world.turn(599)
    assert len(world.inbox) == 1
    world.turn(6)
    world.turn(6)
    assert world.inbox[1:] == ["still: module parser is in error"]
    world.announce(resolved=True)
    world.turn(1)
    world.turn(3600)
    assert world.inbox[2:] == ["module parser is not in error any more"]


def test_quiet_hours_end_in_one_message(telling):
    clock = MovableClock(datetime(2026, 3, 2, 22, 30, tzinfo=UTC))
    world = telling(clock=clock, rules=[AlertRule("modules", kinds="module.error", quiet="22:00-07:00")])
    world.announce(subject="a")
    world.turn()
    world.announce(subject="b")
    world.turn(3600)
    assert world.inbox == []
    clock.set(datetime(2026, 3, 3, 7, 0, tzinfo=UTC))
    world.turn()
    assert world.inbox == ["2 events: 2 × module.error"]


def test_names_that_a_task_marks_are_masked_in_messages(telling):
    world = telling(rules=[AlertRule("loads", kinds="job.*", group=0)])

    @world.jobs.task(secret={"pin"})
    def load() -> None:
        raise RuntimeError("the gate refused pin=hunter2")

    load.enqueue()
    drain(world.jobs)
    world.turn(1)
    world.turn(1)
    (entry,) = world.rows(tables.inbox)
    assert "hunter2" not in f"{entry.title} {entry.body}"
    assert "pin=***" in entry.body


def test_failed_jobs_are_told_by_filter_and_over_when_they_succeed(telling):
    world = telling(rules=[AlertRule("loads", kinds="job.*", where="task:load source:weather/*", group=0, text="{task} of {source}: {error}")])
    broken = [True]

    @world.jobs.task
    def load() -> None:
        if broken[0]:
            raise RuntimeError("no route to host")

    for source in ("weather/EWR", "planes"):
        load.using(source=source).enqueue()
    drain(world.jobs)
    world.turn(1)
    world.turn(1)
    assert world.inbox == ["load of weather/EWR: RuntimeError: no route to host"]
    broken[0] = False
    world.jobs.find("source:weather/EWR")[0].retry()
    drain(world.jobs)
    world.turn(6)
    world.turn(1)
    assert world.inbox[1:] == ["load (weather/EWR) needs nobody any more"]


def test_what_was_before_is_not_told(telling, make_jobs):
    world = telling(rules=[AlertRule("loads", kinds="job.failed", group=0)])

    @world.jobs.task
    def load() -> None:
        raise RuntimeError

    load.enqueue()
    drain(world.jobs)
    world.turn()
    assert len(world.inbox) == 1
    # A process that begins anew goes on where the last one stored its position.
    later = telling(clock=world.clock, rules=[AlertRule("loads", kinds="job.failed", group=0)])
    later.turn(10)
    assert len(later.inbox) == 1


def test_a_failed_notification_is_not_told_by_a_notification(telling):
    world = telling(rules=[AlertRule("all", kinds="*", group=0)])
    world.announce()
    world.jobs.notify.turn()
    for job in world.jobs.find("kind:notification"):
        job.cancel()
    world.turn(10)
    assert [one for one in world.rows(tables.events) if one.kind.startswith("job.")] == []


def test_a_question_is_told_when_it_waits_and_near_its_deadline(telling):
    rules = [AlertRule("asked", kinds="question.waiting", group=0), AlertRule("late", kinds="question.deadline", group=0, before=600)]
    world = telling(rules=rules)

    @world.jobs.task
    def load(ctx) -> int:
        return ctx.ask("rows", "How many rows?", {"type": "integer"}, expires=3600)

    job = load.enqueue()
    drain(world.jobs)
    world.turn()
    assert world.inbox == ["load asks: rows"]
    world.turn(2990)
    assert len(world.inbox) == 1
    world.turn(20)
    assert world.inbox[1].startswith("load waits for an answer until")
    world.turn(10)
    assert len(world.inbox) == 2
    job.answer(7)
    drain(world.jobs)
    world.turn(1)
    assert world.inbox[2:] == ["load does not wait for an answer any more"] * 2


def test_a_task_that_is_silent_is_told_once_for_each_silence(telling):
    world = telling(rules=[AlertRule("silent", kinds="task.silent", task="load", since=600, group=0)])
    world.jobs.task(name="load")(lambda: None)
    world.turn()
    world.turn(599)
    assert world.inbox == []
    world.turn(6)
    world.turn(600)
    assert len(world.inbox) == 1
    world.jobs.task_named("load").enqueue()
    drain(world.jobs)
    world.turn(6)
    assert world.inbox[1:] == ["task load runs again"]
    world.turn(600)
    assert len(world.inbox) == 3


def test_a_rule_that_is_gone_still_tells_what_it_collected(telling):
    world = telling(rules=[AlertRule("modules", kinds="module.error", group=60)])
    world.announce()
    world.turn()
    later = telling(clock=world.clock, rules=[AlertRule("other", kinds="module.error"), AlertRule("modules", kinds="never.told")])
    later.turn(60)
    assert later.inbox == ["module parser is in error"]


def test_old_things_are_removed_and_what_is_open_stays(telling):
    world = telling(rules=[AlertRule("modules", kinds="module.error", group=0)])
    world.announce(subject="open")
    world.announce(subject="over")
    world.turn()
    world.announce("module.recovered", "over")
    world.turn(1)
    world.turn(91 * 86_400)
    world.turn(3601)
    assert [row.subject for row in world.rows(tables.events)] == ["open"]
    assert world.rows(tables.deliveries) == []
    assert world.inbox == []


def test_a_job_that_retention_removes_is_closed_without_a_word(telling):
    from sqlalchemy import delete

    from jobtrail.database.tables import jobs as table

    world = telling(rules=[AlertRule("loads", kinds="job.failed", group=0)])

    @world.jobs.task
    def load() -> None:
        raise RuntimeError

    job = load.enqueue()
    drain(world.jobs)
    world.turn(1)
    world.jobs.store.write(lambda conn: conn.execute(delete(table).where(table.c.id == job.id)))
    world.turn(3601)
    world.turn(6)
    assert world.inbox == ["load failed"]
    assert not any(row.open for row in world.rows(tables.events))


def test_a_worker_that_runs_tells_by_itself(telling):
    """The loops are there, and the job is claimed: nobody calls a turn."""
    import asyncio

    world = telling(rules=[AlertRule("modules", kinds="module.error", group=0)])

    async def run() -> None:
        async with world.jobs.running():
            world.announce()
            for _ in range(1500):
                if world.inbox:
                    return
                await asyncio.sleep(0.01)

    asyncio.run(run())
    assert world.inbox == ["module parser is in error"]


def test_what_tells_of_a_job_goes_with_the_job_that_a_person_deletes(telling):
    world = telling(rules=[AlertRule("loads", kinds="job.*", group=0)])

    @world.jobs.task
    def load(*, who: str) -> None:
        raise RuntimeError(f"no route to {who}")

    gone, kept = (load.enqueue(who=who) for who in ("ann", "bob"))
    drain(world.jobs)
    world.turn(1)
    world.turn(1)
    assert len(world.inbox) >= 1
    assert world.jobs.delete(f"id:{gone.id}").jobs == 1
    told = [str(tuple(row)) for table in (tables.events, tables.deliveries, tables.inbox) for row in world.rows(table)]
    assert not any("ann" in one or gone.id in one for one in told)
    assert world.jobs.get(kept.id)
