"""The languages in which rules are worded: phrases, plurals and cases; what is said is decided in `words`.

Weekdays are 1 (Monday) to 7, months 1 to 12; units are named in English. Both classes have the same methods, each with an example.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

# A value, or a run of them from the first to the last.
Part = int | tuple[int, int]
LAST = -1000


class English:
    """English."""

    also = ", and also "
    every_day = "every day"
    each_year = "every year {}"
    if_it_is = ", if it is {}"
    last_day = "on the last day"
    last_working_day = "on the last day from Monday to Friday"
    once = "once, at {}"
    counted_from = ", counted from {}"
    clamped = " (on the last day where the month is shorter)"
    point = "."

    _WEEKDAYS = ("", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    _MONTHS = (
        *("", "January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    )
    _NUMBERS: ClassVar = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}

    def both(self, parts: Sequence[str]) -> str:
        """Such as "a, b and c"."""
        return _listed(parts, " and ")

    def either(self, parts: Sequence[str]) -> str:
        """Such as "a, b or c"."""
        return _listed(parts, " or ")

    def count(self, number: str, unit: str) -> str:
        """Such as "5 minutes"."""
        return f"{number} {unit}" if number == "1" else f"{number} {unit}s"

    def every(self, number: int, unit: str) -> str:
        """Such as "every 5 minutes", "every minute"."""
        return f"every {unit}" if number == 1 else f"every {number} {unit}s"

    def every_span(self, counts: Sequence[str], _unit: str) -> str:
        """Such as "every 1 hour 30 minutes"."""
        return f"every {' '.join(counts)}"

    def clock(self, times: Sequence[str]) -> str:
        """Such as "at 03:00 and 15:00"."""
        return f"at {self.both(times)}"

    def window(self, first: str, last: str) -> str:
        """Such as "from 09:00 to 17:59"."""
        return f"from {first} to {last}"

    def at(self, unit: str, parts: Sequence[Part], *, whole: bool = False) -> str:
        """Such as "at minutes 5 and 20"; where something goes on for the ``whole`` of them, "in hours 9 and 12 to 15"."""
        return f"{'in' if whole else 'at'} {_numbered(unit, parts)}"

    def at_each(self, step: int, unit: str, first: int, last: int, *, whole: bool = False) -> str:
        """Such as "at every 7th minute from 0 to 56"."""
        return f"{'in' if whole else 'at'} every {_nth(step)} {unit} from {first} to {last}"

    def of_every(self, unit: str) -> str:
        """Such as "of every hour"."""
        return f"of every {unit}"

    def days(self, parts: Sequence[Part]) -> str:
        """Such as "on days 1 and 15"."""
        return f"on {_numbered('day', parts)}"

    def each_day(self, step: int, first: int, last: int) -> str:
        """Such as "on every 2nd day from 1 to 31"."""
        return f"on every {_nth(step)} day from {first} to {last}"

    def dates(self, day: int, months: Sequence[int]) -> str:
        """Such as "on 1 January and 1 July"."""
        return f"on {self.both([f'{day} {self._MONTHS[month]}' for month in months])}"

    def of_months(self, months: Sequence[int]) -> str:
        """Such as "of January and July"."""
        return f"of {self.both([self._MONTHS[month] for month in months])}"

    def of_every_month(self, first: int | None = None, last: int | None = None) -> str:
        """Such as "of every month", "of every month from March to November"."""
        return "of every month" + (f" from {self._MONTHS[first]} to {self._MONTHS[last]}" if first and last else "")

    def in_months(self, months: Sequence[int]) -> str:
        """Such as "in January and July"."""
        return f"in {self.both([self._MONTHS[month] for month in months])}"

    def in_every_month(self, first: int, last: int) -> str:
        """Such as "in every month from March to November"."""
        return f"in every month from {self._MONTHS[first]} to {self._MONTHS[last]}"

    def weekdays(self, days: Sequence[int]) -> str:
        """Such as "every Monday and Friday"."""
        return f"every {self.both([self._WEEKDAYS[day] for day in days])}"

    def weekday_run(self, first: int, last: int) -> str:
        """Such as "every day from Monday to Friday"."""
        return f"every day from {self._WEEKDAYS[first]} to {self._WEEKDAYS[last]}"

    def on_weekday(self, day: int) -> str:
        """Such as "on Monday"."""
        return f"on {self._WEEKDAYS[day]}"

    def nth_weekdays(self, days: Sequence[tuple[int, int]]) -> str:
        """Such as "on the first Monday and the last Friday"; of each, the weekday and which one."""
        return f"on {self.both([f'the {self._NUMBERS[number]} {self._WEEKDAYS[day]}' for day, number in days])}"

    def is_weekday(self, day: int) -> str:
        """Such as "a Monday"."""
        return f"a {self._WEEKDAYS[day]}"

    def is_nth_weekday(self, day: int, number: int) -> str:
        """Such as "the second Friday of the month"."""
        return f"the {self._NUMBERS[number]} {self._WEEKDAYS[day]} of the month"


class Russian:
    """Russian."""

    also = ", а также "
    every_day = "каждый день"
    each_year = "каждый год {}"
    if_it_is = ", если это {}"
    last_day = "в последний день"
    last_working_day = "в последний день с понедельника по пятницу"
    once = "один раз, {}"
    counted_from = ", считая от {}"
    clamped = " (в последний день, если месяц короче)"
    point = ","

    # Of each weekday: the four cases in use, and its gender.
    _WEEKDAYS = (
        ("", "", "", "", "m"),
        ("понедельник", "понедельника", "понедельник", "понедельникам", "m"),
        ("вторник", "вторника", "вторник", "вторникам", "m"),
        ("среда", "среды", "среду", "средам", "f"),
        ("четверг", "четверга", "четверг", "четвергам", "m"),
        ("пятница", "пятницы", "пятницу", "пятницам", "f"),
        ("суббота", "субботы", "субботу", "субботам", "f"),
        ("воскресенье", "воскресенья", "воскресенье", "воскресеньям", "n"),
    )
    _EACH: ClassVar = {"m": "каждый", "f": "каждую", "n": "каждое"}
    _MONTHS = (
        *(("", "", ""), ("январь", "января", "январе"), ("февраль", "февраля", "феврале"), ("март", "марта", "марте")),
        *(("апрель", "апреля", "апреле"), ("май", "мая", "мае"), ("июнь", "июня", "июне"), ("июль", "июля", "июле")),
        *(("август", "августа", "августе"), ("сентябрь", "сентября", "сентябре"), ("октябрь", "октября", "октябре")),
        *(("ноябрь", "ноября", "ноябре"), ("декабрь", "декабря", "декабре")),
    )
    # Of each number: nominative and accusative of every gender; they differ in the feminine alone.
    _NUMBERS: ClassVar = {
        1: {"m": ("первый", "первый"), "f": ("первая", "первую"), "n": ("первое", "первое")},
        2: {"m": ("второй", "второй"), "f": ("вторая", "вторую"), "n": ("второе", "второе")},
        3: {"m": ("третий", "третий"), "f": ("третья", "третью"), "n": ("третье", "третье")},
        4: {"m": ("четвёртый", "четвёртый"), "f": ("четвёртая", "четвёртую"), "n": ("четвёртое", "четвёртое")},
        5: {"m": ("пятый", "пятый"), "f": ("пятая", "пятую"), "n": ("пятое", "пятое")},
        LAST: {"m": ("последний", "последний"), "f": ("последняя", "последнюю"), "n": ("последнее", "последнее")},
    }
    # Of each unit: the accusative of one, the forms after 2 and after 5, the accusative plural, the genitive, the gender.
    _UNITS: ClassVar = {
        "second": ("секунду", "секунды", "секунд", "секунды", "секунды", "f"),
        "minute": ("минуту", "минуты", "минут", "минуты", "минуты", "f"),
        "hour": ("час", "часа", "часов", "часы", "часа", "m"),
        "day": ("день", "дня", "дней", "дни", "дня", "m"),
        "week": ("неделю", "недели", "недель", "недели", "недели", "f"),
        "month": ("месяц", "месяца", "месяцев", "месяцы", "месяца", "m"),
        "year": ("год", "года", "лет", "годы", "года", "m"),
    }

    def both(self, parts: Sequence[str]) -> str:
        """«а, б и в»."""
        return _listed(parts, " и ")

    def either(self, parts: Sequence[str]) -> str:
        """«а, б или в»."""
        return _listed(parts, " или ")

    def count(self, number: str, unit: str) -> str:
        """«5 минут»; a fraction takes the genitive: «1,5 секунды»."""
        forms = self._UNITS[unit]
        return f"{number} {forms[_plural(int(number))] if number.isdigit() else forms[4]}"

    def every(self, number: int, unit: str) -> str:
        """«каждые 5 минут», «каждую минуту»."""
        return (
            f"{self._each(unit)} {self._UNITS[unit][0]}"
            if number == 1
            else self.every_span([self.count(str(number), unit)], unit)
        )

    def every_span(self, counts: Sequence[str], unit: str) -> str:
        """«каждые 1 час 30 минут»; the one count may ask for the singular: «каждую 21 минуту»."""
        number = counts[0].partition(" ")[0]
        single = len(counts) == 1 and number.isdigit() and _plural(int(number)) == 0
        return f"{self._each(unit) if single else 'каждые'} {' '.join(counts)}"

    def _each(self, unit: str) -> str:
        return self._EACH[self._UNITS[unit][5]]

    def clock(self, times: Sequence[str]) -> str:
        """«в 03:00 и 15:00»."""
        return f"в {self.both(times)}"

    def window(self, first: str, last: str) -> str:
        """«с 09:00 до 17:59»."""
        return f"с {first} до {last}"

    def at(self, unit: str, parts: Sequence[Part], *, whole: bool = False) -> str:  # noqa: ARG002
        """«в минуты 5 и 20», «в 5-ю минуту»."""
        if len(parts) == 1 and isinstance(parts[0], int):
            return f"в {self._nth(parts[0], unit)} {self._UNITS[unit][0]}"
        told = [f"с {part[0]} по {part[1]}" if isinstance(part, tuple) else str(part) for part in parts]
        return f"в {self._UNITS[unit][3]} {self.both(told)}"

    def at_each(self, step: int, unit: str, first: int, last: int, *, whole: bool = False) -> str:  # noqa: ARG002
        """«в каждую 7-ю минуту с 0 по 56»."""
        return f"в {self._each(unit)} {self._nth(step, unit)} {self._UNITS[unit][0]} с {first} по {last}"

    def _nth(self, number: int, unit: str) -> str:
        return f"{number}-{'ю' if self._UNITS[unit][5] == 'f' else 'й'}"

    def of_every(self, unit: str) -> str:
        """«каждого часа»."""
        return f"{'каждой' if self._UNITS[unit][5] == 'f' else 'каждого'} {self._UNITS[unit][4]}"

    def days(self, parts: Sequence[Part]) -> str:
        """«1-го и 15-го числа», «с 1-го по 7-е число»."""
        told = [f"с {part[0]}-го по {part[1]}-е" if isinstance(part, tuple) else f"{part}-го" for part in parts]
        return f"{self.both(told)} {'число' if isinstance(parts[-1], tuple) else 'числа'}"

    def each_day(self, step: int, first: int, last: int) -> str:
        """«каждое 2-е число с 1-го по 31-е»."""
        return f"каждое {step}-е число с {first}-го по {last}-е"

    def dates(self, day: int, months: Sequence[int]) -> str:
        """«1 января и 1 июля»."""
        return self.both([f"{day} {self._MONTHS[month][1]}" for month in months])

    def of_months(self, months: Sequence[int]) -> str:
        """«января и июля»."""
        return self.both([self._MONTHS[month][1] for month in months])

    def of_every_month(self, first: int | None = None, last: int | None = None) -> str:
        """«каждого месяца», «каждого месяца с марта по ноябрь»."""
        return "каждого месяца" + (f" с {self._MONTHS[first][1]} по {self._MONTHS[last][0]}" if first and last else "")

    def in_months(self, months: Sequence[int]) -> str:
        """«в январе и июле»."""
        return f"в {self.both([self._MONTHS[month][2] for month in months])}"

    def in_every_month(self, first: int, last: int) -> str:
        """«в каждом месяце с марта по ноябрь»."""
        return f"в каждом месяце с {self._MONTHS[first][1]} по {self._MONTHS[last][0]}"

    def weekdays(self, days: Sequence[int]) -> str:
        """«каждую пятницу», «по понедельникам и пятницам»."""
        if len(days) == 1:
            return f"{self._EACH[self._WEEKDAYS[days[0]][4]]} {self._WEEKDAYS[days[0]][2]}"
        return f"по {self.both([self._WEEKDAYS[day][3] for day in days])}"

    def weekday_run(self, first: int, last: int) -> str:
        """«каждый день с понедельника по пятницу»."""
        return f"каждый день с {self._WEEKDAYS[first][1]} по {self._WEEKDAYS[last][2]}"

    def on_weekday(self, day: int) -> str:
        """«по понедельникам»."""
        return f"по {self._WEEKDAYS[day][3]}"

    def nth_weekdays(self, days: Sequence[tuple[int, int]]) -> str:
        """«в первый понедельник и в последнюю пятницу»."""
        return self.both([self._on(day, number) for day, number in days])

    def _on(self, day: int, number: int) -> str:
        _, _, name, _, gender = self._WEEKDAYS[day]
        return f"{'во' if number == 2 else 'в'} {self._NUMBERS[number][gender][1]} {name}"

    def is_weekday(self, day: int) -> str:
        """«понедельник»."""
        return self._WEEKDAYS[day][0]

    def is_nth_weekday(self, day: int, number: int) -> str:
        """«вторая пятница месяца»."""
        name, _, _, _, gender = self._WEEKDAYS[day]
        return f"{self._NUMBERS[number][gender][0]} {name} месяца"


Language = English | Russian


def _listed(parts: Sequence[str], word: str) -> str:
    return word.join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _numbered(unit: str, parts: Sequence[Part]) -> str:
    plural = len(parts) > 1 or isinstance(parts[0], tuple)
    told = [f"{part[0]} to {part[1]}" if isinstance(part, tuple) else str(part) for part in parts]
    return f"{unit}{'s' * plural} {_listed(told, ' and ')}"


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in {11, 12, 13} else ending}"


def _plural(number: int) -> int:
    """Which of the three Russian forms goes with the number."""
    if number % 10 == 1 and number % 100 != 11:
        return 0
    return 1 if 2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14 else 2
