not-a-rule = { $value } — не правило времени; подходят текст cron, например '0 3 * * *' или '@daily', 'every 5 minutes', 'at 2030-01-31T03:00Z', timedelta, datetime с часовым поясом, то, что возвращают cron(), every(), at() и calendar_interval(), и триггеры APScheduler
not-a-number = { $name } должно быть числом не меньше { $least }, а не { $value }
not-whole = { $name } должно быть целым числом не меньше { $least }, а не { $value }
not-a-moment = { $name } должно быть datetime с часовым поясом, например datetime.now(UTC), а не { $value }
zone-misspelt = часового пояса { $name } нет; может быть, { $near }?
no-start = у правила ещё нет начала; укажите start= или вызовите .anchored(moment)
interval-too-short = интервал должен быть не короче секунды, а не { $seconds } с
interval-too-long = такой длинный интервал в Python не представить; укажите короче
calendar-without-step = календарному правилу нужен шаг хотя бы в день, неделю, месяц или год
calendar-step-too-long = шаг календарного правила — не больше тысячи лет
calendar-start = start должно быть датой, например date(2030, 1, 31), а не { $value }
not-a-time-of-day = { $value } — не время суток; часы 0-23, минуты и секунды 0-59
not-an-interval = { $text } — не интервал; пишите 'every 5 minutes' или 'every 1 hour 30 minutes', в секундах, минутах, часах, днях и неделях; для месяцев и лет есть текст cron и calendar_interval()
not-a-moment-text = { $text } — не момент времени; пишите 'at 2030-01-31T03:00+03:00' или 'at 2030-01-31T00:00Z'
stored-unknown = сохранено не правило времени, известное этой версии: { $value }
no-language = на языке { $language } текстов нет; языки: { $known }

## Текст cron

cron-field =
    { $field ->
        [second] секунда
        [minute] минута
        [hour] час
        [day-of-month] день месяца
        [month] месяц
        [day-of-week] день недели
       *[other] { $field }
    }
cron-accepted =
    { $field ->
        [hour] 0-23
        [day-of-month] 1-31, L — последний день, LW — последний день с понедельника по пятницу
        [month] 1-12 или JAN-DEC
        [day-of-week] 0-7 или SUN-SAT (0 и 7 — воскресенье), 5#2 — вторая пятница, 5L — последняя
       *[other] 0-59
    }
cron-needed = нужен текст cron, например '0 3 * * *' — каждый день в 03:00
cron-too-long = в тексте cron { $length-grouped } знаков, а можно не больше { $most-grouped }
cron-reboot = '@reboot' — не время; вызовите задачу там, где запускается приложение
cron-alias = { $alias } — не сокращение cron; сокращения: { $known }
cron-fields =
    в тексте cron { $text } { $count } { $count ->
        [one] поле
        [few] поля
       *[many] полей
    }, а нужно 5: минута, час, день месяца, месяц, день недели (или 6, с секундой впереди)
cron-step = поле «{ cron-field }» { $part } текста cron { $text } идёт с шагом { $step }, а значений в нём всего { $count }, поэтому подойдёт только первое; для длинных интервалов пишите 'every 90 minutes' или calendar_interval(days=, weeks=, months=)
cron-bad-field = поле «{ cron-field }» { $part } текста cron { $text } неверно; подходят { cron-accepted }, * — все, списки (1,15), диапазоны от меньшего к большему (1-5) и шаги (*/15)
cron-unreadable = текст cron { $text } не читается: { $error }
cron-never = текст cron { $text } никогда не наступит: такого сочетания дня, месяца и дня недели нет ни в одном году

## Celery beat

beat-not-a-dictionary = расписание beat — это словарь из имён и записей, а не { $value }
beat-most-urgent = most_urgent должно быть 9 (RabbitMQ) или 0 (Redis), а не { $value }
beat-refused = не переносится записей расписания beat: { $count }: { $problems }
beat-entry = { $name }: { $error }
beat-name = имя записи должно быть текстом
beat-entry-not-a-dictionary = запись — это словарь с 'task' и 'schedule'
beat-unknown-key = ключ { $key } неизвестен; ключи: { $known }
beat-no-task = 'task' должно быть именем задачи
beat-no-schedule = 'schedule' должно быть crontab, timedelta или числом секунд
beat-args = 'args' должно быть списком или кортежем
beat-kwargs = 'kwargs' должно быть словарём с именами в качестве ключей
beat-solar = расписание по солнцу не поддерживается; замените событие { $event } временем суток
beat-nowfun = расписание со своими часами (nowfun=) не поддерживается; укажите часовой пояс в tz=
beat-kind = расписание типа { $type } не поддерживается; подходят crontab, timedelta и число секунд
beat-relative = 'relative' поддерживается только для целых дней, для целых часов меньше суток и для целых минут меньше часа
beat-options = 'options' должно быть словарём
beat-unknown-option = параметр { $key } не поддерживается; параметры: { $known }
beat-queue = параметр 'queue' должен быть именем очереди
beat-priority = параметр 'priority' должен быть целым числом от 0 до { $most }, а не { $value }
beat-seconds = параметр { $name } должен быть числом секунд от срока, а не { $value }

## Правила словами: единицы, месяцы и дни недели

unit =
    { $unit ->
        [second] секунда
        [minute] минута
        [hour] час
        [day] день
        [week] неделя
        [month] месяц
       *[year] год
    }
    .accusative =
        { $unit ->
            [second] секунду
            [minute] минуту
            [week] неделю
           *[other] { unit }
        }
    .genitive =
        { $unit ->
            [second] секунды
            [minute] минуты
            [hour] часа
            [day] дня
            [week] недели
            [month] месяца
           *[year] года
        }
    .many =
        { $unit ->
            [second] секунд
            [minute] минут
            [hour] часов
            [day] дней
            [week] недель
            [month] месяцев
           *[year] лет
        }
    .every =
        { $unit ->
            [second] каждую
            [minute] каждую
            [week] каждую
           *[other] каждый
        }
    .nth =
        { $unit ->
            [second] ю
            [minute] ю
           *[other] й
        }
month =
    { $month ->
        [1] январь
        [2] февраль
        [3] март
        [4] апрель
        [5] май
        [6] июнь
        [7] июль
        [8] август
        [9] сентябрь
        [10] октябрь
        [11] ноябрь
       *[12] декабрь
    }
weekday =
    { $day ->
        [1] понедельник
        [2] вторник
        [3] среда
        [4] четверг
        [5] пятница
        [6] суббота
       *[7] воскресенье
    }
    .accusative =
        { $day ->
            [3] среду
            [5] пятницу
            [6] субботу
           *[other] { weekday }
        }
    .dative =
        { $day ->
            [1] понедельникам
            [2] вторникам
            [3] средам
            [4] четвергам
            [5] пятницам
            [6] субботам
           *[7] воскресеньям
        }
ordinal =
    { $number ->
        [1] первый
        [2] второй
        [3] третий
        [4] четвёртый
        [5] пятый
       *[last] последний
    }
    .feminine =
        { $number ->
            [1] первая
            [2] вторая
            [3] третья
            [4] четвёртая
            [5] пятая
           *[last] последняя
        }
    .accusative =
        { $number ->
            [1] первую
            [2] вторую
            [3] третью
            [4] четвёртую
            [5] пятую
           *[last] последнюю
        }
    .neuter =
        { $number ->
            [1] первое
            [2] второе
            [3] третье
            [4] четвёртое
            [5] пятое
           *[last] последнее
        }
month-of =
    { $month ->
        [1] января
        [2] февраля
        [3] марта
        [4] апреля
        [5] мая
        [6] июня
        [7] июля
        [8] августа
        [9] сентября
        [10] октября
        [11] ноября
       *[12] декабря
    }
month-to = { month }
month-in =
    { $month ->
        [1] январе
        [2] феврале
        [3] марте
        [4] апреле
        [5] мае
        [6] июне
        [7] июле
        [8] августе
        [9] сентябре
        [10] октябре
        [11] ноябре
       *[12] декабре
    }
weekday-listed = { weekday.dative }
weekday-from =
    { $day ->
        [1] понедельника
        [2] вторника
        [3] среды
        [4] четверга
        [5] пятницы
        [6] субботы
       *[7] воскресенья
    }
weekday-to = { weekday.accusative }

## Правила словами: как соединяются части

phrase = { $first } { $second }
comma = { $first }, { $second }
and = { $first } и { $last }
or = { $first } или { $last }
also = { $first }, а также { $second }
in-zone = { $words } ({ $zone })
counted-from = { $words }, считая от { $start }
run = с { $first } по { $last }
decimal = { $whole },{ $fraction }

## Правила словами: интервалы и шаги календаря

once = один раз, { $moment }
count =
    { $number } { $number ->
        [one] { unit.accusative }
        [few] { unit.genitive }
        [many] { unit.many }
       *[other] { unit.genitive }
    }
every =
    { $number ->
        [1] { unit.every } { unit.accusative }
        [one] { unit.every } { count }
        [few] каждые { count }
        [many] каждые { count }
       *[other] каждые { count }
    }
every-span = каждые { $span }
days-in-hours = { $days } ({ $hours })
clamped = { $days } (в последний день, если месяц короче)

## Правила словами: дни

every-day = каждый день
last-day = в последний день
last-working-day = в последний день с понедельника по пятницу
each-year = каждый год { $dates }
on-dates = { $dates }
date = { $day } { month-of }
day-one = { $day }-го
day-run = с { $first }-го по { $last }-е
on-day = { $days } числа
on-days = { $days } числа
on-days-run = { $days } число
each-day = каждое { $step }-е число с { $first }-го по { $last }-е
of-months = { $months }
of-every-month = каждого месяца
of-every-month-run = каждого месяца с { $first } по { $last }
in-months = в { $months }
in-every-month = в каждом месяце с { $first } по { $last }
every-weekday =
    { $day ->
        [3] каждую
        [5] каждую
        [6] каждую
        [7] каждое
       *[other] каждый
    } { weekday.accusative }
every-weekdays = по { $days }
weekday-run = каждый день с { $first } по { $last }
on-weekday = по { weekday.dative }
on-nth-weekdays = { $days }
nth-weekday =
    { $number ->
        [2] во
       *[other] в
    } { $day ->
        [3] { ordinal.accusative }
        [5] { ordinal.accusative }
        [6] { ordinal.accusative }
        [7] { ordinal.neuter }
       *[other] { ordinal }
    } { weekday.accusative }
if-it-is = { $dates }, если это { $days }
is-weekday = { weekday }
is-nth-weekday =
    { $day ->
        [3] { ordinal.feminine }
        [5] { ordinal.feminine }
        [6] { ordinal.feminine }
        [7] { ordinal.neuter }
       *[other] { ordinal }
    } { weekday } месяца

## Правила словами: время дня

at-times = в { $times }
window = с { $first } до { $last }
at = в { $values }
within = в { $values }
unit-one = { $value }-{ unit.nth } { unit.accusative }
unit-many =
    { $unit ->
        [second] секунды
        [minute] минуты
       *[hour] часы
    } { $values }
unit-each = { unit.every } { $step }-{ unit.nth } { unit.accusative } с { $first } по { $last }
of-every-unit =
    { $unit ->
        [minute] каждой минуты
       *[hour] каждого часа
    }

## Триггеры APScheduler

of-trigger = во времена триггера { $trigger }
trigger-unknown = триггер { $trigger } здесь неизвестен; принимаются сами { $known } из APScheduler, потому что только их можно хранить как JSON
trigger-zone = у часового пояса { $zone } этого триггера нет имени; задайте триггеру пояс с именем, например timezone="Europe/Berlin"
trigger-jitter = у триггера есть jitter, а он в каждом процессе свой; уберите его и задайте расписанию jitter=
trigger-not-installed = это правило – триггер APScheduler, который здесь не установлен; установите jobtrail[apscheduler]
trigger-never-agrees = триггеры { $trigger } не сошлись ни на одном времени за { $count-grouped } шагов; соединяйте триггеры, у которых есть общие времена
