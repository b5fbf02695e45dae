"""A rule in words says all that the rule means, in English and in Russian."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobtrail.errors import InvalidOption, InvalidSchedule
from jobtrail.schedules.rules.rules import Cron, at, calendar_interval, cron, every
from jobtrail.schedules.rules.wording import words

START = datetime(2024, 10, 26, 20, tzinfo=UTC)
TEXTS = [
    (
        "15,45 0 8,20 * * 6,0",
        "every Saturday and Sunday at 08:00:15, 08:00:45, 20:00:15 and 20:00:45",
        "по субботам и воскресеньям в 08:00:15, 08:00:45, 20:00:15 и 20:00:45",
    ),
    (
        "0 3 * * *",
        "every day at 03:00",
        "каждый день в 03:00",
    ),
    (
        "@daily",
        "every day at 00:00",
        "каждый день в 00:00",
    ),
    (
        "@hourly",
        "every hour",
        "каждый час",
    ),
    (
        "@weekly",
        "every Sunday at 00:00",
        "каждое воскресенье в 00:00",
    ),
    (
        "@monthly",
        "on day 1 of every month at 00:00",
        "1-го числа каждого месяца в 00:00",
    ),
    (
        "@yearly",
        "every year on 1 January at 00:00",
        "каждый год 1 января в 00:00",
    ),
    (
        "* * * * *",
        "every minute",
        "каждую минуту",
    ),
    (
        "*/5 * * * *",
        "every 5 minutes",
        "каждые 5 минут",
    ),
    (
        "*/7 * * * *",
        "at every 7th minute from 0 to 56 of every hour",
        "в каждую 7-ю минуту с 0 по 56 каждого часа",
    ),
    (
        "5/15 * * * *",
        "at every 15th minute from 5 to 50 of every hour",
        "в каждую 15-ю минуту с 5 по 50 каждого часа",
    ),
    (
        "15 * * * *",
        "every hour at minute 15",
        "каждый час в 15-ю минуту",
    ),
    (
        "5,20,40-45 * * * *",
        "at minutes 5, 20 and 40 to 45 of every hour",
        "в минуты 5, 20 и с 40 по 45 каждого часа",
    ),
    (
        "0 */2 * * *",
        "every 2 hours from 00:00 to 22:00",
        "каждые 2 часа с 00:00 до 22:00",
    ),
    (
        "15 */3 * * *",
        "every 3 hours from 00:15 to 21:15",
        "каждые 3 часа с 00:15 до 21:15",
    ),
    (
        "0 9-17 * * *",
        "every hour from 09:00 to 17:00",
        "каждый час с 09:00 до 17:00",
    ),
    (
        "15 9-17 * * 1-5",
        "every hour from 09:15 to 17:15, every day from Monday to Friday",
        "каждый час с 09:15 до 17:15, каждый день с понедельника по пятницу",
    ),
    (
        "*/10 9-17 * * 1-5",
        "every 10 minutes from 09:00 to 17:59, every day from Monday to Friday",
        "каждые 10 минут с 09:00 до 17:59, каждый день с понедельника по пятницу",
    ),
    (
        "*/10 3 * * *",
        "every day at 03:00, 03:10, 03:20, 03:30, 03:40 and 03:50",
        "каждый день в 03:00, 03:10, 03:20, 03:30, 03:40 и 03:50",
    ),
    (
        "* 3 * * *",
        "every minute from 03:00 to 03:59",
        "каждую минуту с 03:00 до 03:59",
    ),
    (
        "30 2,14 * * *",
        "every day at 02:30 and 14:30",
        "каждый день в 02:30 и 14:30",
    ),
    (
        "0,30 9,10 * * *",
        "every day at 09:00, 09:30, 10:00 and 10:30",
        "каждый день в 09:00, 09:30, 10:00 и 10:30",
    ),
    (
        "*/10 9,12,15-17 * * *",
        "every 10 minutes in hours 9, 12 and 15 to 17",
        "каждые 10 минут в часы 9, 12 и с 15 по 17",
    ),
    (
        "*/10 */2 * * *",
        "every 10 minutes in every 2nd hour from 0 to 22",
        "каждые 10 минут в каждый 2-й час с 0 по 22",
    ),
    (
        "0 1,2,3,5,6,7,20 * * *",
        "at minute 0 in hours 1 to 3, 5 to 7 and 20",
        "в 0-ю минуту в часы с 1 по 3, с 5 по 7 и 20",
    ),
    (
        "0 0 1,15 * *",
        "on days 1 and 15 of every month at 00:00",
        "1-го и 15-го числа каждого месяца в 00:00",
    ),
    (
        "0 0 1-7 * *",
        "on days 1 to 7 of every month at 00:00",
        "с 1-го по 7-е число каждого месяца в 00:00",
    ),
    (
        "0 0 L * *",
        "on the last day of every month at 00:00",
        "в последний день каждого месяца в 00:00",
    ),
    (
        "0 0 LW * *",
        "on the last day from Monday to Friday of every month at 00:00",
        "в последний день с понедельника по пятницу каждого месяца в 00:00",
    ),
    (
        "0 0 1,L * *",
        "on day 1 and on the last day of every month at 00:00",
        "1-го числа и в последний день каждого месяца в 00:00",
    ),
    (
        "0 0 */2 * *",
        "on every 2nd day from 1 to 31 of every month at 00:00",
        "каждое 2-е число с 1-го по 31-е каждого месяца в 00:00",
    ),
    (
        "0 0 13 * 5",
        "on day 13 of every month, and also every Friday, at 00:00",
        "13-го числа каждого месяца, а также каждую пятницу, в 00:00",
    ),
    (
        "0 0 13 10 5",
        "every year on 13 October, and also every Friday in October, at 00:00",
        "каждый год 13 октября, а также каждую пятницу в октябре, в 00:00",
    ),
    (
        "0 0 */2 * 1",
        "on every 2nd day from 1 to 31 of every month, if it is a Monday, at 00:00",
        "каждое 2-е число с 1-го по 31-е каждого месяца, если это понедельник, в 00:00",
    ),
    (
        "0 0 */2 * 1,5#2",
        "on every 2nd day from 1 to 31 of every month, if it is a Monday or the second Friday of the month, at 00:00",
        "каждое 2-е число с 1-го по 31-е каждого месяца, если это понедельник или вторая пятница месяца, в 00:00",
    ),
    (
        "0 0 * * 5#2",
        "on the second Friday of every month at 00:00",
        "во вторую пятницу каждого месяца в 00:00",
    ),
    (
        "0 0 * * 1#1,5L",
        "on the first Monday and the last Friday of every month at 00:00",
        "в первый понедельник и в последнюю пятницу каждого месяца в 00:00",
    ),
    (
        "0 0 * * 1,5#2",
        "every Monday, and also on the second Friday of every month, at 00:00",
        "каждый понедельник, а также во вторую пятницу каждого месяца, в 00:00",
    ),
    (
        "0 0 * * 0",
        "every Sunday at 00:00",
        "каждое воскресенье в 00:00",
    ),
    (
        "0 0 * * 7",
        "every Sunday at 00:00",
        "каждое воскресенье в 00:00",
    ),
    (
        "0 0 * * 1-5",
        "every day from Monday to Friday at 00:00",
        "каждый день с понедельника по пятницу в 00:00",
    ),
    (
        "0 0 * * 5-7",
        "every day from Friday to Sunday at 00:00",
        "каждый день с пятницы по воскресенье в 00:00",
    ),
    (
        "0 0 * * */2",
        "every Tuesday, Thursday, Saturday and Sunday at 00:00",
        "по вторникам, четвергам, субботам и воскресеньям в 00:00",
    ),
    (
        "0 0 * * mon,wed,Fri",
        "every Monday, Wednesday and Friday at 00:00",
        "по понедельникам, средам и пятницам в 00:00",
    ),
    (
        "0 0 29 2 *",
        "every year on 29 February at 00:00",
        "каждый год 29 февраля в 00:00",
    ),
    (
        "0 0 1 1,7 *",
        "every year on 1 January and 1 July at 00:00",
        "каждый год 1 января и 1 июля в 00:00",
    ),
    (
        "0 0 1 */3 *",
        "every year on 1 January, 1 April, 1 July and 1 October at 00:00",
        "каждый год 1 января, 1 апреля, 1 июля и 1 октября в 00:00",
    ),
    (
        "0 0 * 6-8 *",
        "every day in June, July and August at 00:00",
        "каждый день в июне, июле и августе в 00:00",
    ),
    (
        "0 0 * 3-11 *",
        "every day in every month from March to November at 00:00",
        "каждый день в каждом месяце с марта по ноябрь в 00:00",
    ),
    (
        "*/5 * * 1 *",
        "every 5 minutes in January",
        "каждые 5 минут в январе",
    ),
    (
        "*/5 * * 3-11 6,7",
        "every 5 minutes, every Saturday and Sunday in every month from March to November",
        "каждые 5 минут, по субботам и воскресеньям в каждом месяце с марта по ноябрь",
    ),
    (
        "0 0 1,15 3-11 *",
        "on days 1 and 15 of every month from March to November at 00:00",
        "1-го и 15-го числа каждого месяца с марта по ноябрь в 00:00",
    ),
    (
        "0 0 L 2,6 *",
        "on the last day of February and June at 00:00",
        "в последний день февраля и июня в 00:00",
    ),
    (
        "0 0 31 * *",
        "on day 31 of January, March, May, July, August, October and December at 00:00",
        "31-го числа января, марта, мая, июля, августа, октября и декабря в 00:00",
    ),
    (
        "* * * * * *",
        "every second",
        "каждую секунду",
    ),
    (
        "*/10 * * * * *",
        "every 10 seconds",
        "каждые 10 секунд",
    ),
    (
        "30 */5 * * * *",
        "every 5 minutes at second 30",
        "каждые 5 минут в 30-ю секунду",
    ),
    (
        "30 0 * * * *",
        "every hour at minute 0 and at second 30",
        "каждый час в 0-ю минуту и в 30-ю секунду",
    ),
    (
        "30 15 * * * *",
        "every hour at minute 15 and at second 30",
        "каждый час в 15-ю минуту и в 30-ю секунду",
    ),
    (
        "*/10 30 2 * * *",
        "every 10 seconds from 02:30:00 to 02:30:59",
        "каждые 10 секунд с 02:30:00 до 02:30:59",
    ),
    (
        "*/10 0-9 2 * * *",
        "every 10 seconds from 02:00:00 to 02:09:59",
        "каждые 10 секунд с 02:00:00 до 02:09:59",
    ),
    (
        "5,20 * * * * *",
        "at seconds 5 and 20 of every minute",
        "в секунды 5 и 20 каждой минуты",
    ),
    (
        "5,20 */7 9-17 * * *",
        "at seconds 5 and 20 in every 7th minute from 0 to 56 of every hour from 09:00 to 17:59",
        "в секунды 5 и 20 в каждую 7-ю минуту с 0 по 56 каждого часа с 09:00 до 17:59",
    ),
    (
        "*/10 5,20 9,11 * * 1",
        "every 10 seconds in minutes 5 and 20 in hours 9 and 11, every Monday",
        "каждые 10 секунд в минуты 5 и 20 в часы 9 и 11, каждый понедельник",
    ),
    (
        "0 30 2 * * *",
        "every day at 02:30",
        "каждый день в 02:30",
    ),
    (
        "15 30 2 * * *",
        "every day at 02:30:15",
        "каждый день в 02:30:15",
    ),
    (
        "0 0 13 * 0-6",
        "every day at 00:00",
        "каждый день в 00:00",
    ),
    (
        "0 0 1-31 * 1",
        "every day at 00:00",
        "каждый день в 00:00",
    ),
    (
        "* * 31 * *",
        "every minute, on day 31 of January, March, May, July, August, October and December",
        "каждую минуту, 31-го числа января, марта, мая, июля, августа, октября и декабря",
    ),
    (
        "0 0 29-31 2,4 *",
        "on days 29 to 31 of February and April at 00:00",
        "с 29-го по 31-е число февраля и апреля в 00:00",
    ),
    (
        "0 12 * * 0#1",
        "on the first Sunday of every month at 12:00",
        "в первое воскресенье каждого месяца в 12:00",
    ),
    (
        "0 0 * * 2#2,3#3",
        "on the second Tuesday and the third Wednesday of every month at 00:00",
        "во второй вторник и в третью среду каждого месяца в 00:00",
    ),
    (
        "*/21 * * * *",
        "at minutes 0, 21 and 42 of every hour",
        "в минуты 0, 21 и 42 каждого часа",
    ),
    (
        "0 0 1-15/3 * *",
        "on every 3rd day from 1 to 13 of every month at 00:00",
        "каждое 3-е число с 1-го по 13-е каждого месяца в 00:00",
    ),
]


@pytest.mark.parametrize(("text", "english", "russian"), TEXTS, ids=[text for text, *_ in TEXTS])
def test_cron_text(text, english, russian):
    rule = cron(text, "Europe/Moscow")
    assert words(rule) == f"{english} (Europe/Moscow)"
    assert words(rule, "ru") == f"{russian} (Europe/Moscow)"


OTHERS = [
    (every(minutes=1), "every minute", "каждую минуту"),
    (every(minutes=5), "every 5 minutes", "каждые 5 минут"),
    (every(minutes=21), "every 21 minutes", "каждую 21 минуту"),
    (every(seconds=1), "every second", "каждую секунду"),
    (every(seconds=11), "every 11 seconds", "каждые 11 секунд"),
    (every(seconds=1.5), "every 1.5 seconds", "каждые 1,5 секунды"),
    (every(hours=1), "every hour", "каждый час"),
    (every(hours=1.5), "every 1 hour 30 minutes", "каждые 1 час 30 минут"),
    (every(days=1), "every 24 hours", "каждые 24 часа"),
    (every(days=7), "every 7 days (168 hours)", "каждые 7 дней (168 часов)"),
    (every(days=1, seconds=1), "every 24 hours 1 second", "каждые 24 часа 1 секунду"),
    (
        every(minutes=5, start=START, tz="Europe/Berlin"),
        "every 5 minutes, counted from 2024-10-26 22:00 +02:00 (Europe/Berlin)",
        "каждые 5 минут, считая от 2024-10-26 22:00 +02:00 (Europe/Berlin)",
    ),
    (
        at(START, "Europe/Moscow"),
        "once, at 2024-10-26 23:00 +03:00 (Europe/Moscow)",
        "один раз, 2024-10-26 23:00 +03:00 (Europe/Moscow)",
    ),
    (calendar_interval(days=1), "every day at 00:00 (UTC)", "каждый день в 00:00 (UTC)"),
    (calendar_interval(months=1, hour=3), "every month at 03:00 (UTC)", "каждый месяц в 03:00 (UTC)"),
    (
        calendar_interval(months=1, hour=3, start=date(2024, 1, 31), tz="Europe/Berlin"),
        "every month on day 31 (on the last day where the month is shorter) at 03:00, counted from 2024-01-31 (Europe/Berlin)",
        "каждый месяц 31-го числа (в последний день, если месяц короче) в 03:00, считая от 2024-01-31 (Europe/Berlin)",
    ),
    (
        calendar_interval(months=3, start=date(2024, 1, 5)),
        "every 3 months on day 5 at 00:00, counted from 2024-01-05 (UTC)",
        "каждые 3 месяца 5-го числа в 00:00, считая от 2024-01-05 (UTC)",
    ),
    (
        calendar_interval(weeks=2, hour=3, minute=15, start=date(2024, 1, 31)),
        "every 2 weeks on Wednesday at 03:15, counted from 2024-01-31 (UTC)",
        "каждые 2 недели по средам в 03:15, считая от 2024-01-31 (UTC)",
    ),
    (
        calendar_interval(years=1, start=date(2024, 2, 29)),
        "every year on 29 February (on the last day where the month is shorter) at 00:00, counted from 2024-02-29 (UTC)",
        "каждый год 29 февраля (в последний день, если месяц короче) в 00:00, считая от 2024-02-29 (UTC)",
    ),
    (
        calendar_interval(years=1, months=2, days=3),
        "every 1 year 2 months 3 days at 00:00 (UTC)",
        "каждые 1 год 2 месяца 3 дня в 00:00 (UTC)",
    ),
    (
        Cron("0 9 1-7 * 1", both_days=True),
        "on days 1 to 7 of every month, if it is a Monday, at 09:00 (UTC)",
        "с 1-го по 7-е число каждого месяца, если это понедельник, в 09:00 (UTC)",
    ),
]


@pytest.mark.parametrize(("rule", "english", "russian"), OTHERS, ids=[english for _, english, _ in OTHERS])
def test_other_rules(rule, english, russian):
    assert words(rule) == english
    assert words(rule, "ru") == russian


@pytest.mark.parametrize("language", ["de", "", "EN", None])
def test_another_language_is_refused(language):
    with pytest.raises(InvalidOption, match="the languages are: en, ru"):
        words(cron("@daily"), language)


# -- that nothing is left out ----------------------------------------------------------------------------


def field(low, high):
    number = st.integers(low, high)
    return st.one_of(
        st.just("*"),
        st.sets(number, min_size=1, max_size=9).map(lambda some: ",".join(map(str, sorted(some)))),
        st.tuples(number, number).map(lambda two: f"{min(two)}-{max(two)}"),
        st.integers(2, max(2, high // 3)).map(lambda by: f"*/{by}"),
    )


days = st.one_of(field(1, 31), st.sampled_from(["L", "LW", "1,L", "5,LW"]))
weekdays = st.one_of(field(0, 7), st.sampled_from(["5#2", "1L", "0#1,3L", "2,4#4"]))
FIELDS = [field(0, 59), field(0, 59), field(0, 23), days, field(1, 12), weekdays]


@settings(max_examples=300, deadline=None)
@given(st.tuples(*FIELDS), st.integers(0, 5), st.data())
def test_another_meaning_has_other_words(fields, changed, data):
    """One field is replaced; where the words stay the same, so do the moments."""
    others = list(fields)
    others[changed] = data.draw(FIELDS[changed])
    try:
        one, two = cron(" ".join(fields)), cron(" ".join(others))
    except InvalidSchedule:
        return  # never comes
    for language in ("en", "ru"):
        if words(one, language) == words(two, language):
            assert moments(one) == moments(two)


def moments(rule):
    return list(islice(rule.between(START, START + timedelta(days=3000)), 200))
