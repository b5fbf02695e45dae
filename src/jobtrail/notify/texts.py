"""The words of a message: a title and a body, for one event or for many, from rules, facts and the catalogue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any

from jobtrail.job.masking import mask_text
from jobtrail.messages import Message, render

from .rules import AlertRule, Occurrence

LINES = 20  # events that a message lists
TITLE, DETAIL, BODY = 200, 500, 8000  # characters
_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")

BEGUN = {
    "module.error": "notify.module-error",
    "module.warning": "notify.module-warning",
    "module.flapping": "notify.module-flapping",
    "job.failed": "notify.job-failed",
    "job.partial": "notify.job-partial",
    "job.interrupted": "notify.job-interrupted",
    "question.waiting": "notify.question-waiting",
    "question.deadline": "notify.question-deadline",
    "schedule.missed": "notify.schedule-missed",
    "task.silent": "notify.task-silent",
    "worker.lost": "notify.worker-lost",
    "store.away": "notify.store-away",
    "disk.unwritable": "notify.disk-unwritable",
}
ENDED = {
    "module.error": "notify.module-error-over",
    "module.warning": "notify.module-warning-over",
    "module.recovered": "notify.module-recovered",
    "job.failed": "notify.job-over",
    "job.partial": "notify.job-over",
    "job.interrupted": "notify.job-over",
    "question.waiting": "notify.question-over",
    "question.deadline": "notify.question-over",
    "task.silent": "notify.task-silent-over",
    "store.away": "notify.store-away-over",
    "disk.unwritable": "notify.disk-unwritable-over",
}


@dataclass(frozen=True, slots=True)
class MessageText:
    """Title and body, without secrets."""

    title: str
    body: str


def compose(rule: AlertRule, events: Sequence[Occurrence], language: str, *, again: bool = False) -> MessageText:
    """Write the message that tells some events.

    Args:
        rule: The rule that tells them.
        events: At least one event, in the order of the queue.
        language: "en" or "ru".
        again: It is a reminder.
    """
    lines = [_line(rule, event, language) for event in events[:LINES]]
    if len(events) > LINES:
        lines.append(render(Message("notify.and-more", count=len(events) - LINES), language))
    title = _one_line(_sentence(rule, events[0], language)) if len(events) == 1 else _several(events, language)
    if again:
        title = render(Message("notify.again", title=title), language)
    return MessageText(mask_text(title)[:TITLE], mask_text("\n".join(lines))[:BODY])


def _several(events: Sequence[Occurrence], language: str) -> str:
    kinds = Counter(_kind(event, language) for event in events)
    named = [f"{count} × {kind}" for kind, count in kinds.most_common()]
    return render(Message("notify.several", count=len(events), kinds=named), language)


def _kind(event: Occurrence, language: str) -> str:
    return render(Message("notify.kind-over", kind=event.kind), language) if event.resolved else event.kind


def _line(rule: AlertRule, event: Occurrence, language: str) -> str:
    sentence = _one_line(_sentence(rule, event, language))
    detail = "" if _template(rule, event) else _detail(event, language)
    return f"{event.at:%Y-%m-%d %H:%M:%S} UTC  {sentence}{f': {detail}' if detail else ''}"


def _template(rule: AlertRule, event: Occurrence) -> str | None:
    if event.ends:
        return rule.resolved if isinstance(rule.resolved, str) else None
    return rule.text


def _sentence(rule: AlertRule, event: Occurrence, language: str) -> str:
    template = _template(rule, event)
    if template is not None:
        values = {**event.facts, "subject": event.subject, "kind": event.kind, "at": f"{event.at:%Y-%m-%d %H:%M:%S} UTC"}
        return _PLACEHOLDER.sub(lambda found: render(_plain(values.get(found[1])), language), template)
    code = (ENDED if event.ends else BEGUN).get(event.kind)
    if code is None:
        code = "notify.other-over" if event.ends else "notify.other"
    facts = {name: _plain(event.facts.get(name)) for name in ("deadline", "question", "last", "times", "host", "falls")}
    return render(Message(code, subject=event.subject, kind=event.kind, what=_what(event), **facts), language)


def _what(event: Occurrence) -> str:
    """The job of an event as people know it: its task, and what it was about."""
    task, about = (_plain(event.facts.get(name)) for name in ("task", "source"))
    about = " ".join(part for part in (about, _plain(event.facts.get("period"))) if part)
    return f"{task or event.subject} ({about})" if about else task or event.subject


def _detail(event: Occurrence, language: str) -> str:
    found = event.facts.get("message") or event.facts.get("error") or event.facts.get("reason")
    return _one_line(render(_plain(found), language))[:DETAIL]


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)


def _one_line(text: str) -> str:
    """Control characters are spaces, so that nothing adds a line to a message or a header to a mail."""
    return _CONTROL.sub(" ", text).strip()
