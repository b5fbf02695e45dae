"""What Celery must be set up for, or jobs would wait, run elsewhere than they seem to, or be delivered again and again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from jobtrail.errors import InvalidOption
from jobtrail.executors.base import BAD, GOOD, NOTE, Examined
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from celery import Celery

RUN_TASK = "jobtrail.run"  # the one task in Celery that runs all of our jobs
POOLS = ("prefork", "solo", "thread")
VISIBILITY = 3600.0  # seconds: Celery's default
REPLY_WITHIN = 1.5  # seconds that workers have to answer
_log = logging.getLogger("jobtrail.celery")


def check_application(app: Celery) -> None:
    """Refuse a Celery application that would run jobs where they are submitted, or acknowledge messages early.

    Raises:
        InvalidOption: If it is set up so.
    """
    if app.conf.task_always_eager:
        raise InvalidOption(Message("integrations.celery-eager"))
    annotations = app.conf.task_annotations
    for one in annotations if isinstance(annotations, (list, tuple)) else [annotations]:
        given = one if isinstance(one, dict) else {}
        for name in ("*", RUN_TASK):
            if given.get(name, {}).get("acks_late") is False:
                raise InvalidOption(Message("integrations.celery-early-acks", name=name))


def check_worker(app: Celery, worker: Any, jobs: Any) -> None:
    """Refuse a pool in which bodies cannot be run; warn of a visibility timeout that is shorter than a task's limit.

    Raises:
        SystemExit: If the pool is of another kind than prefork, solo and threads.
    """
    pool = str(getattr(getattr(worker, "pool_cls", None), "__module__", "prefork")).rpartition(".")[2]
    if pool not in POOLS:
        raise SystemExit(str(Message("integrations.celery-pool", pool=pool)))
    warning = short_visibility(app, jobs.tasks.all())
    if warning is not None:
        _log.warning("%s", warning)


def short_visibility(app: Celery, tasks: Sequence[Any]) -> Message | None:
    """Return a warning where the broker would deliver a message again while its job still runs."""
    if app.connection_for_write().transport.driver_type != "redis":
        return None
    timeout = float(app.conf.broker_transport_options.get("visibility_timeout", VISIBILITY))
    handed = [task for task in tasks if task.handed_to == "celery"]
    longest = max(((task.timeout or 0.0, task.name) for task in handed), default=(0.0, ""))
    if longest[0] >= timeout:
        return Message("integrations.celery-visibility", timeout=timeout, limit=longest[0], task=longest[1])
    return None


def examined(
    app: Celery, queues: Mapping[str, str], tasks: Sequence[Any], depth: Callable[[str], int | None]
) -> Iterator[Examined]:
    """Ask the broker and the workers: who answers, who knows our task, which queue has no consumer, how many messages wait."""
    try:
        depths = {queue: depth(queue) for queue in queues}
    except Exception as error:
        yield Examined(BAD, Message("integrations.celery-broker-away", error=str(error)), Message("integrations.celery-start-broker"))
        return
    warning = short_visibility(app, tasks)
    if warning is not None:
        yield Examined(NOTE, warning)
    asked = app.control.inspect(timeout=REPLY_WITHIN)
    registered, active = asked.registered() or {}, asked.active_queues() or {}
    if not registered:
        yield Examined(BAD, Message("integrations.celery-no-worker"), Message("integrations.celery-start-worker"))
        return
    yield Examined(GOOD, Message("integrations.celery-workers", number=len(registered)))
    without = sorted(name for name, known in registered.items() if not any(one.split(" ")[0] == RUN_TASK for one in known))
    if without:
        yield Examined(NOTE, Message("integrations.celery-task-unknown", workers=without), Message("integrations.celery-import"))
    consumed = {one["name"] for served in active.values() for one in served}
    for queue, name in queues.items():
        waiting = depths[queue] or 0
        if name not in consumed:
            told = Message("integrations.celery-no-consumer", queue=queue, name=name, waiting=waiting)
            yield Examined(BAD, told, Message("integrations.celery-consume", name=name))
        else:
            yield Examined(GOOD, Message("integrations.celery-depth", queue=queue, name=name, waiting=waiting))
