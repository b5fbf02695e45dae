"""Time rules in words, complete enough to check that the rule is the intended one.

`explain` decides what is said, as a message whose parts are messages; the catalogue (``rules.ftl``) has the words, plurals
and cases of each language. Weekdays are 1 (Monday) to 7, months 1 to 12, units have their English names.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, time, timedelta
from functools import lru_cache, reduce
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zoneinfo import ZoneInfo

from cronsim import CronSim

from jobtrail.errors import InvalidOption
from jobtrail.messages import LANGUAGES, Message, render

from .apscheduler_trigger import TriggerRule
from .rules import At, Calendar, Cron, Every, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CLOCK_TIMES = 6
_FEW = 4


@lru_cache(maxsize=1000)
def words(rule: Rule, language: str = "en") -> str:
    """Return a rule as a person would say it: "every day at 03:00 (Europe/Moscow)".

    Args:
        rule: The rule.
        language: ``"en"`` or ``"ru"``.

    Raises:
        InvalidOption: If there is no such language.

    """
    if language not in LANGUAGES:
        raise InvalidOption(Message("rules.no-language", language=repr(language)[:60], known=LANGUAGES))
    return render(explain(rule), language)


def explain(rule: Rule) -> Message:
    """Return what a rule means, as a message of the catalogue."""
    if isinstance(rule, Every):
        return _since(_interval(rule.interval), rule.start and shown(rule.start, rule.zone))
    if isinstance(rule, At):
        return Message("rules.once", moment=shown(rule.moment, rule.zone))
    if isinstance(rule, TriggerRule):
        times = Message("rules.of-trigger", trigger=str(rule.trigger))
        return Message("rules.in-zone", words=times, zone=rule.zone)
    text = _calendar(rule) if isinstance(rule, Calendar) else _cron(cast("Cron", rule))
    return Message("rules.in-zone", words=text, zone=rule.zone)


def shown(moment: datetime, zone: str) -> str:
    """Return a moment as the clock of a zone shows it, with its offset: "2024-10-27 02:30 +02:00 (Europe/Berlin)"."""
    here = moment.astimezone(ZoneInfo(zone))
    offset = here.isoformat()[-6:]
    return f"{here.date()} {_clock(here.time())} {offset} ({zone})"


def _clock(at: time) -> str:
    return at.isoformat("minutes" if at == at.replace(second=0, microsecond=0) else "auto")


def _phrase(*parts: Message | None) -> Message:
    """Join the parts that are there with spaces."""
    return reduce(lambda first, second: Message("rules.phrase", first=first, second=second), filter(None, parts))


def _joined(parts: Sequence[Any], code: str = "rules.and") -> Any:
    """Join with commas and a last "and"; a single part stays as it is."""
    return parts[0] if len(parts) == 1 else Message(code, first=list(parts[:-1]), last=parts[-1])


# -- intervals and calendar steps ----------------------------------------------------------------------


def _every(number: Any, unit: str, *more: tuple[Any, str]) -> Message:
    if not more:
        return Message("rules.every", number=number, unit=unit)
    counts = [Message("rules.count", number=number, unit=unit) for number, unit in ((number, unit), *more)]
    return Message("rules.every-span", span=_phrase(*counts))


def _since(text: Message, start: Any) -> Message:
    return Message("rules.counted-from", words=text, start=start) if start else text


def _interval(length: timedelta) -> Message:
    """Return an interval in hours, minutes and seconds, because a day of an interval always has 24 hours."""
    hours, rest = divmod(length, timedelta(hours=1))
    if not rest and hours % 24 == 0 and hours > 24:
        in_hours = Message("rules.count", number=hours, unit="hour")
        return Message("rules.days-in-hours", days=_every(hours // 24, "day"), hours=in_hours)
    minutes, rest = divmod(rest, timedelta(minutes=1))
    whole, fraction = rest.seconds, f"{rest.microseconds:06}".rstrip("0")
    seconds = Message("rules.decimal", whole=whole, fraction=fraction) if fraction else whole
    steps = ((hours, "hour"), (minutes, "minute"), (seconds, "second"))
    first, *more = (step for step in steps if step[0] != 0)
    return _every(*first, *more)


def _calendar(rule: Calendar) -> Message:
    years, months = divmod(rule.months, 12)
    weeks, days = divmod(rule.days, 7) if rule.days % 7 == 0 else (0, rule.days)
    steps = ((years, "year"), (months, "month"), (weeks, "week"), (days, "day"))
    first, *more = (step for step in steps if step[0])
    return _since(_phrase(_every(*first, *more), _calendar_day(rule), _at_times([_clock(rule.at)])), rule.start)


def _calendar_day(rule: Calendar) -> Message | None:
    """Return the day of the week, month or year that follows from the start."""
    if rule.start is None or (rule.months and rule.days) or rule.days % 7:
        return None
    if rule.days:
        return Message("rules.on-weekday", day=rule.start.isoweekday())
    day, month = rule.start.day, rule.start.month
    yearly = rule.months % 12 == 0
    text = Message("rules.on-dates", dates=_date(day, month)) if yearly else _month_days([day])
    late = (day, month) == (29, 2) if yearly else day > 28
    return Message("rules.clamped", days=text) if late else text


# -- cron: the day -------------------------------------------------------------------------------------


class _Day(NamedTuple):
    """The days of a rule: in words; whether these have two parts; whether they are all days, and of which months."""

    text: Message
    compound: bool = False
    all: bool = False
    months: Message | None = None


def _cron(rule: Cron) -> Message:
    sim = rule._sim
    day = _day(sim)
    times = _clock_times(sim)
    if times:
        code = "rules.comma" if day.compound else "rules.phrase"
        return Message(code, first=day.text, second=_at_times(times))
    often = _often_enough(sim)
    return _phrase(often, day.months) if day.all else Message("rules.comma", first=often, second=day.text)


def _day(sim: CronSim) -> _Day:
    """Follow cron: if day and weekday are given, one of them is enough, unless one begins with a star; then both must match."""
    any_date = sim.days >= set(range(1, 32))
    any_weekday = len(_plain_weekdays(sim)) == 7
    if (any_date or any_weekday) and not (sim.day_and and not (any_date and any_weekday)):
        months = _in_months(sim)
        return _Day(_phrase(Message("rules.every-day"), months), all=True, months=months)
    if any_date:
        return _weekdays(sim)
    dates = _dates(sim)
    if any_weekday:
        return _Day(dates)
    if sim.day_and:
        return _Day(Message("rules.if-it-is", dates=dates, days=_condition(sim)), compound=True)
    return _Day(Message("rules.also", first=dates, second=_weekdays(sim).text), compound=True)


def _dates(sim: CronSim) -> Message:
    days = sorted(day for day in sim.days if day > 0)
    ends = [Message("rules.last-day")] * (CronSim.LAST in sim.days)
    ends += [Message("rules.last-working-day")] * (CronSim.LAST_WEEKDAY in sim.days)
    months = [month for month in sorted(sim.months) if not days or ends or days[0] <= monthrange(2000, month)[1]]
    if len(days) == 1 and not ends and len(months) <= _FEW:
        return Message("rules.each-year", dates=_joined([_date(days[0], month) for month in months]))
    return _phrase(_joined([_month_days(days), *ends] if days else ends), _of_months(months))


def _date(day: int, month: int) -> Message:
    return Message("rules.date", day=day, month=month)


def _month_days(days: list[int]) -> Message:
    even = _even(days)
    if even:
        return Message("rules.each-day", step=even.step, first=even.start, last=days[-1])
    runs = _runs(days)
    parts = [
        Message("rules.day-one", day=first) if first == last else Message("rules.day-run", first=first, last=last)
        for first, last in runs
    ]
    if len(days) == 1:
        return Message("rules.on-day", days=parts[0])
    ends_in_run = runs[-1][0] != runs[-1][1]
    return Message("rules.on-days-run" if ends_in_run else "rules.on-days", days=_joined(parts))


def _weekdays(sim: CronSim) -> _Day:
    plain, nth = _plain_weekdays(sim), _nth_weekdays(sim)
    found = []
    if plain:
        found.append(_phrase(_each_weekday(plain), _in_months(sim)))
    if nth:
        days = _joined([Message("rules.nth-weekday", day=day, number=number) for day, number in nth])
        found.append(_phrase(Message("rules.on-nth-weekdays", days=days), _of_months(sorted(sim.months))))
    if len(found) == 1:
        return _Day(found[0])
    return _Day(Message("rules.also", first=found[0], second=found[1]), compound=True)


def _each_weekday(days: list[int]) -> Message:
    if len(days) == 1:
        return Message("rules.every-weekday", day=days[0])
    if len(days) > 2 and days[-1] - days[0] == len(days) - 1:
        first, last = Message("rules.weekday-from", day=days[0]), Message("rules.weekday-to", day=days[-1])
        return Message("rules.weekday-run", first=first, last=last)
    return Message("rules.every-weekdays", days=_joined([Message("rules.weekday-listed", day=day) for day in days]))


def _condition(sim: CronSim) -> Message:
    nth = [Message("rules.is-nth-weekday", day=day, number=number) for day, number in _nth_weekdays(sim)]
    plain = [Message("rules.is-weekday", day=day) for day in _plain_weekdays(sim)]
    found: Message = _joined(plain + nth, "rules.or")
    return found


def _plain_weekdays(sim: CronSim) -> list[int]:
    return sorted({day or 7 for day in sim.weekdays if isinstance(day, int)})


def _nth_weekdays(sim: CronSim) -> list[tuple[int, int | str]]:
    """Return (weekday, number or "last") of each, the last ones at the end."""
    found = sorted({(day[1] == CronSim.LAST, day[1], day[0] or 7) for day in sim.weekdays if isinstance(day, tuple)})
    return [(day, "last" if last else number) for last, number, day in found]


def _in_months(sim: CronSim) -> Message | None:
    months = sorted(sim.months)
    if len(months) == 12:
        return None
    if _long_run(months):
        return Message("rules.in-every-month", **_month_span(months))
    return Message("rules.in-months", months=_joined([Message("rules.month-in", month=month) for month in months]))


def _of_months(months: Sequence[int]) -> Message:
    if len(months) == 12:
        return Message("rules.of-every-month")
    if _long_run(months):
        return Message("rules.of-every-month-run", **_month_span(months))
    return Message("rules.of-months", months=_joined([Message("rules.month-of", month=month) for month in months]))


def _long_run(months: Sequence[int]) -> bool:
    return len(months) >= _FEW and months[-1] - months[0] == len(months) - 1


def _month_span(months: Sequence[int]) -> dict[str, Message]:
    return {"first": Message("rules.month-of", month=months[0]), "last": Message("rules.month-to", month=months[-1])}


# -- cron: the time of day -----------------------------------------------------------------------------


def _clock_times(sim: CronSim) -> list[str]:
    """Return the times of the day if they are few, else none."""
    count = len(sim.seconds) * len(sim.minutes) * len(sim.hours)
    if count > (_CLOCK_TIMES if len(sim.seconds) == 1 else _FEW):
        return []
    return [_clock(time(*at)) for at in product(sorted(sim.hours), sorted(sim.minutes), sorted(sim.seconds))]


def _at_times(times: list[str]) -> Message:
    return Message("rules.at-times", times=_joined(times))


def _window(first: str, last: str) -> Message:
    return Message("rules.window", first=first, last=last)


def _often_enough(sim: CronSim) -> Message:
    seconds, minutes, hours = sorted(sim.seconds), sorted(sim.minutes), sorted(sim.hours)
    if len(seconds) > 1:
        return _by_second(seconds, minutes, hours)
    if len(minutes) == 1:
        return _by_hour(minutes[0], seconds[0], hours)
    often, vague = _repeated("minute", minutes)
    return _phrase(often, None if seconds == [0] else _at("second", seconds), _hours(hours, of_every=vague))


def _by_hour(minute: int, second: int, hours: list[int]) -> Message:
    at = _joined([_at("minute", [minute]), _at("second", [second])] if second else [_at("minute", [minute])])
    if len(hours) == 24:
        return _phrase(_every(1, "hour"), at if minute or second else None)
    step = hours[1] - hours[0]
    if hours == list(range(hours[0], hours[-1] + 1, step)):
        first, last = (_clock(time(hour, minute, second)) for hour in (hours[0], hours[-1]))
        return _phrase(_every(step, "hour"), _window(first, last))
    return _phrase(at, _within("hour", hours))


def _by_second(seconds: list[int], minutes: list[int], hours: list[int]) -> Message:
    often, vague = _repeated("second", seconds)
    of_every = Message("rules.of-every-unit", unit="minute") if vague and len(minutes) > 1 else None
    if len(hours) == 1 and len(minutes) < 60 and minutes[-1] - minutes[0] == len(minutes) - 1:
        first, last = time(hours[0], minutes[0], 0), time(hours[0], minutes[-1], 59)
        return _phrase(often, of_every, _window(first.isoformat(), last.isoformat()))
    if len(minutes) == 60:
        return _phrase(often, of_every, _hours(hours))
    return _phrase(often, _within("minute", minutes), _hours(hours, of_every=True))


def _hours(hours: list[int], *, of_every: bool = False) -> Message | None:
    each = Message("rules.of-every-unit", unit="hour") if of_every else None
    if len(hours) == 24:
        return each
    if hours[-1] - hours[0] == len(hours) - 1:
        window = _window(f"{hours[0]:02}:00", f"{hours[-1]:02}:59")
        return _phrase(each, window) if len(hours) > 1 else window
    return _within("hour", hours)


def _repeated(unit: str, values: list[int]) -> tuple[Message, bool]:
    """Return how often it runs within the next larger unit, and whether that unit must be named."""
    step = 60 // len(values)
    if values == list(range(0, 60, step)) and 60 % len(values) == 0:
        return _every(step, unit), False
    return _at(unit, values), True


def _at(unit: str, values: list[int]) -> Message:
    return Message("rules.at", values=_numbered(unit, values))


def _within(unit: str, values: list[int]) -> Message:
    return Message("rules.within", values=_numbered(unit, values))


def _numbered(unit: str, values: list[int]) -> Message:
    even = _even(values)
    if even:
        return Message("rules.unit-each", unit=unit, step=even.step, first=even.start, last=values[-1])
    if len(values) == 1:
        return Message("rules.unit-one", unit=unit, value=values[0])
    parts = [
        first if first == last else Message("rules.run", first=first, last=last) for first, last in _runs(values)
    ]
    return Message("rules.unit-many", unit=unit, values=_joined(parts))


# -- numbers -------------------------------------------------------------------------------------------


def _even(values: Sequence[int]) -> range | None:
    """Return the values as a range if they are at least four with equal gaps, else None."""
    if len(values) < _FEW or values[1] - values[0] == 1:
        return None
    row = range(values[0], values[-1] + 1, values[1] - values[0])
    return row if list(values) == list(row) else None


def _runs(values: Iterable[int]) -> list[tuple[int, int]]:
    """Return (first, last) of each run of three or more values; every other value is its own first and last."""
    runs: list[tuple[int, int]] = []
    for value in values:
        if runs and value == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return [run for first, last in runs for run in ([(first, last)] if last - first != 1 else [(first, first), (last, last)])]
