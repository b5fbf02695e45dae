"""A rule in words: what it means, said in full, so that a person sees at once whether it is what was meant."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from itertools import product
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim

from jobtrail.errors import InvalidOption

from .languages import LAST, English, Language, Part, Russian
from .rules import At, Calendar, Cron, Every, Rule

LANGUAGES: dict[str, type[Language]] = {"en": English, "ru": Russian}
_CLOCK_TIMES = 6
_FEW = 4


def words(rule: Rule, language: str = "en") -> str:
    """The rule as a person would say it: "every day at 03:00 (Europe/Moscow)", «каждый день в 03:00 (Europe/Moscow)».

    Raises: InvalidOption for a language other than "en" and "ru".
    """
    if language not in LANGUAGES:
        message = f"rules are worded in {' and '.join(LANGUAGES)}; {str(language)[:60]!r} is not among them"
        raise InvalidOption(message)
    speaker: Language = LANGUAGES[language]()
    if isinstance(rule, Cron):
        return f"{_cron(rule, speaker)} ({rule.zone})"
    if isinstance(rule, Calendar):
        return f"{_calendar(rule, speaker)} ({rule.zone})"
    if isinstance(rule, Every):
        return _interval(rule.interval, speaker) + (
            speaker.counted_from.format(shown(rule.start, rule.zone)) if rule.start else ""
        )
    if isinstance(rule, At):
        return speaker.once.format(shown(rule.moment, rule.zone))
    message = f"{str(rule)[:60]!r} is no rule of time"
    raise InvalidOption(message)


def shown(moment: datetime, zone: str) -> str:
    """A moment as the clock of the zone shows it, with its offset: "2024-10-27 02:30 +02:00 (Europe/Berlin)"."""
    here = moment.astimezone(ZoneInfo(zone))
    offset = here.isoformat()[-6:]
    return f"{here.date()} {_clock(here.time())} {offset} ({zone})"


def _clock(at: time) -> str:
    return at.isoformat("minutes" if at == at.replace(second=0, microsecond=0) else "auto")


# -- intervals and calendar steps ----------------------------------------------------------------------


def _interval(length: timedelta, speaker: Language) -> str:
    """In hours, minutes and seconds, because a day of an interval always has 24 hours."""
    hours, rest = divmod(length, timedelta(hours=1))
    if not rest and hours % 24 == 0 and hours > 24:
        return f"{speaker.every(hours // 24, 'day')} ({speaker.count(str(hours), 'hour')})"
    minutes, rest = divmod(rest, timedelta(minutes=1))
    seconds = f"{rest.total_seconds():.6f}".rstrip("0").rstrip(".").replace(".", speaker.point)
    parts = [(str(hours), "hour"), (str(minutes), "minute"), (seconds, "second")]
    parts = [(number, unit) for number, unit in parts if number != "0"]
    if len(parts) == 1 and parts[0][0] == "1" and parts[0][1] != "day":
        return speaker.every(1, parts[0][1])
    return speaker.every_span([speaker.count(*part) for part in parts], parts[0][1])


def _calendar(rule: Calendar, speaker: Language) -> str:
    years, months = divmod(rule.months, 12)
    weeks, days = divmod(rule.days, 7) if rule.days % 7 == 0 else (0, rule.days)
    steps = {"year": years, "month": months, "week": weeks, "day": days}
    parts = [(number, unit) for unit, number in steps.items() if number]
    if len(parts) == 1:
        told = speaker.every(*parts[0])
    else:
        told = speaker.every_span([speaker.count(str(number), unit) for number, unit in parts], parts[0][1])
    since = speaker.counted_from.format(rule.start) if rule.start else ""
    return f"{told}{_calendar_day(rule, speaker)} {speaker.clock([_clock(rule.at)])}{since}"


def _calendar_day(rule: Calendar, speaker: Language) -> str:
    """Which day of the week, month or year the start makes it."""
    if rule.start is None or (rule.months and rule.days) or rule.days % 7:
        return ""
    if rule.days:
        return f" {speaker.on_weekday(rule.start.isoweekday())}"
    day = rule.start.day
    yearly = rule.months % 12 == 0
    told = speaker.dates(day, [rule.start.month]) if yearly else speaker.days([day])
    late = (day == 29 and rule.start.month == 2) if yearly else day > 28
    return f" {told}{speaker.clamped * late}"


# -- cron: the day -------------------------------------------------------------------------------------


def _cron(rule: Cron, speaker: Language) -> str:
    sim = rule._sim
    day = _day(sim, speaker)
    times = _clock_times(sim)
    if times:
        return f"{day.text}{',' * day.compound} {speaker.clock(times)}"
    often = _often_enough(sim, speaker)
    return f"{often} {day.months}".rstrip() if day.all else f"{often}, {day.text}"


class _Day(NamedTuple):
    """On which days: in words, whether these have two parts, and whether they are all the days of some months."""

    text: str
    compound: bool = False
    all: bool = False
    months: str = ""


def _day(sim: CronSim, speaker: Language) -> _Day:
    """Cron's own rule: where day and weekday are both given, either is enough, unless one begins with a star: then both are needed."""
    any_date = sim.days >= set(range(1, 32))
    any_weekday = len(_plain_weekdays(sim)) == 7
    if (any_date or any_weekday) and not (sim.day_and and not (any_date and any_weekday)):
        months = _in_months(sim, speaker)
        return _Day(f"{speaker.every_day} {months}".rstrip(), all=True, months=months)
    if any_date:
        return _weekdays(sim, speaker)
    dates = _dates(sim, speaker)
    if any_weekday:
        return _Day(dates)
    if sim.day_and:
        return _Day(dates + speaker.if_it_is.format(_condition(sim, speaker)), compound=True)
    return _Day(dates + speaker.also + _weekdays(sim, speaker).text, compound=True)


def _dates(sim: CronSim, speaker: Language) -> str:
    days = sorted(day for day in sim.days if day > 0)
    ends = [speaker.last_day] * (CronSim.LAST in sim.days)
    ends += [speaker.last_working_day] * (CronSim.LAST_WEEKDAY in sim.days)
    months = [month for month in sorted(sim.months) if not days or ends or days[0] <= monthrange(2000, month)[1]]
    if len(days) == 1 and not ends and len(months) <= _FEW:
        return speaker.each_year.format(speaker.dates(days[0], months))
    even = _even(days)
    told = [speaker.each_day(*even) if even else speaker.days(_parts(days))] if days else []
    return f"{speaker.both(told + ends)} {_of_months(months, speaker)}"


def _weekdays(sim: CronSim, speaker: Language) -> _Day:
    plain, nth = _plain_weekdays(sim), _nth_weekdays(sim)
    told = []
    if plain:
        run = len(plain) > 2 and plain[-1] - plain[0] == len(plain) - 1
        days = speaker.weekday_run(plain[0], plain[-1]) if run else speaker.weekdays(plain)
        told.append(f"{days} {_in_months(sim, speaker)}".rstrip())
    if nth:
        told.append(f"{speaker.nth_weekdays(nth)} {_of_months(sorted(sim.months), speaker)}")
    return _Day(speaker.also.join(told), compound=len(told) > 1)


def _condition(sim: CronSim, speaker: Language) -> str:
    plain = [speaker.is_weekday(day) for day in _plain_weekdays(sim)]
    return speaker.either(plain + [speaker.is_nth_weekday(*day) for day in _nth_weekdays(sim)])


def _plain_weekdays(sim: CronSim) -> list[int]:
    return sorted({day or 7 for day in sim.weekdays if isinstance(day, int)})


def _nth_weekdays(sim: CronSim) -> list[tuple[int, int]]:
    """Of each the weekday and its number; the last ones at the end."""
    found = {(day[0] or 7, day[1]) for day in sim.weekdays if isinstance(day, tuple)}
    return sorted(found, key=lambda day: (day[1] == LAST, day[1], day[0]))


def _in_months(sim: CronSim, speaker: Language) -> str:
    months = sorted(sim.months)
    if len(months) == 12:
        return ""
    return speaker.in_every_month(months[0], months[-1]) if _long_run(months) else speaker.in_months(months)


def _of_months(months: Sequence[int], speaker: Language) -> str:
    if len(months) == 12:
        return speaker.of_every_month()
    return speaker.of_every_month(months[0], months[-1]) if _long_run(months) else speaker.of_months(months)


def _long_run(months: Sequence[int]) -> bool:
    return len(months) >= _FEW and months[-1] - months[0] == len(months) - 1


# -- cron: the time of day -----------------------------------------------------------------------------


def _clock_times(sim: CronSim) -> list[str]:
    """The times of the day, if they are few."""
    count = len(sim.seconds) * len(sim.minutes) * len(sim.hours)
    if count > (_CLOCK_TIMES if len(sim.seconds) == 1 else _FEW):
        return []
    return [_clock(time(*at)) for at in product(sorted(sim.hours), sorted(sim.minutes), sorted(sim.seconds))]


def _often_enough(sim: CronSim, speaker: Language) -> str:
    seconds, minutes, hours = sorted(sim.seconds), sorted(sim.minutes), sorted(sim.hours)
    if len(seconds) > 1:
        return _by_second(seconds, minutes, hours, speaker)
    at_second = [] if seconds == [0] else [speaker.at("second", seconds)]
    if len(minutes) == 1:
        return _by_hour(minutes[0], seconds[0], hours, speaker)
    told, vague = _repeated("minute", minutes, speaker)
    return " ".join(filter(None, [told, *at_second, _hours(hours, speaker, of_every=vague)]))


def _by_hour(minute: int, second: int, hours: list[int], speaker: Language) -> str:
    at = [speaker.at("minute", [minute])] + ([speaker.at("second", [second])] if second else [])
    if len(hours) == 24:
        return " ".join([speaker.every(1, "hour"), *([speaker.both(at)] if minute or second else [])])
    step = hours[1] - hours[0]
    if hours == list(range(hours[0], hours[-1] + 1, step)):
        window = speaker.window(*(_clock(time(hour, minute, second)) for hour in (hours[0], hours[-1])))
        return f"{speaker.every(step, 'hour')} {window}"
    return f"{speaker.both(at)} {speaker.at('hour', _parts(hours), whole=True)}"


def _by_second(seconds: list[int], minutes: list[int], hours: list[int], speaker: Language) -> str:
    told, vague = _repeated("second", seconds, speaker)
    of_every = [speaker.of_every("minute")] if vague and (len(minutes) > 1) else []
    if len(hours) == 1 and len(minutes) < 60 and minutes[-1] - minutes[0] == len(minutes) - 1:
        first, last = time(hours[0], minutes[0], 0), time(hours[0], minutes[-1], 59)
        return " ".join([told, *of_every, speaker.window(first.isoformat(), last.isoformat())])
    if len(minutes) == 60:
        return " ".join(filter(None, [told, *of_every, _hours(hours, speaker)]))
    even = _even(minutes)
    of_minutes = (
        speaker.at_each(*even[:1], "minute", *even[1:], whole=True)
        if even
        else speaker.at("minute", _parts(minutes), whole=True)
    )
    return " ".join([told, of_minutes, _hours(hours, speaker, of_every=True)])


def _hours(hours: list[int], speaker: Language, *, of_every: bool = False) -> str:
    each = [speaker.of_every("hour")] if of_every else []
    if len(hours) == 24:
        return " ".join(each)
    if hours[-1] - hours[0] == len(hours) - 1:
        window = speaker.window(f"{hours[0]:02}:00", f"{hours[-1]:02}:59")
        return " ".join([*(each if len(hours) > 1 else []), window])
    even = _even(hours)
    return (
        speaker.at_each(even[0], "hour", *even[1:], whole=True)
        if even
        else speaker.at("hour", _parts(hours), whole=True)
    )


def _repeated(unit: str, values: list[int], speaker: Language) -> tuple[str, bool]:
    """How often within the next larger unit, and whether that unit has to be named with it."""
    step = 60 // len(values)
    if values == list(range(0, 60, step)) and 60 % len(values) == 0:
        return speaker.every(step, unit), False
    even = _even(values)
    return speaker.at_each(even[0], unit, *even[1:]) if even else speaker.at(unit, _parts(values)), True


# -- numbers -------------------------------------------------------------------------------------------


def _even(values: Sequence[int]) -> tuple[int, int, int] | None:
    """Step, first and last of values that are one even row of at least four, with gaps."""
    if len(values) < _FEW or values[1] - values[0] == 1:
        return None
    step = values[1] - values[0]
    return (step, values[0], values[-1]) if list(values) == list(range(values[0], values[-1] + 1, step)) else None


def _parts(values: Sequence[int]) -> list[Part]:
    """The values, with three or more in a row as one run."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts: list[Part] = []
    for run in runs:
        parts += [(run[0], run[-1])] if len(run) > 2 else run
    return parts
