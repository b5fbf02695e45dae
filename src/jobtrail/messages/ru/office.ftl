about = Модули под наблюдением: кто подаёт сигналы, кто молчит и с каких пор.

## Пределы и часы тишины

bad-limit = { $name } — число секунд от 1 до 31 622 400 (366 дней), а задано { $value }
limits-order = warn_after должен быть меньше error_after, а заданы { $warn } с и { $error } с
bad-recovery = recovery_beats — целое число от 1 до { $most }, а задано { $value }
bad-quiet-hours = { $text } — не часы тишины; напишите "mon-fri 22:00-06:00 Europe/Berlin", несколько — через точку с запятой
too-many-windows = в часах тишины может быть не больше { $most } промежутков

## Модули

no-module = модуля '{ $name }' нет

## Почему сменилось состояние

registered = зарегистрирован
first-report = первый сигнал
reports-again = снова подаёт сигналы
reported = модуль сообщил: { $status }
silent =
    нет активности { $limit } { $limit ->
        [one] секунду
        [few] секунды
        [many] секунд
       *[other] секунды
    }
never-reported =
    не подал ни одного сигнала за { $limit } { $limit ->
        [one] секунду
        [few] секунды
        [many] секунд
       *[other] секунды
    }
flapping =
    за час выходил из нормы { $falls } { $falls ->
        [one] раз
        [few] раза
        [many] раз
       *[other] раза
    }
limits-changed = пределы изменены
paused = приостановлен
resumed = возобновлён
removed = удалён
not-declared = настройки его больше не называют
pause-ended = пауза закончилась
not-observed = без наблюдения с { $since } до { $until }: тишина считается с конца этого времени
clock-ahead =
    последняя активность была на { $seconds } { $seconds ->
        [one] секунду
        [few] секунды
        [many] секунд
       *[other] секунды
    } в будущем и считается как сейчас

## Настройки

too-short = { $name } — не меньше { $least }, а задано { $value }
unknown-setting = { $place }: настройки '{ $name }' нет; есть: { $known }
unknown-schedule = в Office нет расписания '{ $name }'; есть: { $known }
unknown-limit = у модуля нет настройки '{ $name }'; есть: { $known }

## Что сообщает модуль

bad-name = { $name } — не имя модуля; до 100 букв, цифр и . : @ _ -, первая — буква или цифра
not-in-settings = модуля '{ $name }' нет; есть: { $known }
bad-status = status — одно из { $known }, а задано { $value }
bad-message = сообщение модуля — текст не длиннее { $most } символов
bad-time = время сигнала — datetime с часовым поясом, а задано { $value }
bad-number = имя числа в сигнале — из букв, цифр, _ . -, значение конечно; { $name } — { $value }
too-many-numbers = в одном сигнале может быть не больше { $most } чисел
bad-number-option = число пишут так: --number rows=120; а здесь { $text }

## Что меняют люди

name-taken = модуль '{ $name }' уже есть
bad-until = until — время в будущем с часовым поясом, например 2030-01-31T18:00+01:00; а задано { $value }
two-ends = задайте либо minutes, либо until, но не оба
bad-day = { $value } — не день; напишите 2030-01-31
bad-sql = { $value } — не одно из { $known }

## Командная строка

none = модулей пока нет; первый сигнал регистрирует модуль: jobtrail beat NAME
beat-stored = { $name }: { $status }; сигнал записан
is-registered = { $name } под наблюдением
is-paused = { $name } приостановлен
is-resumed = { $name } снова под наблюдением; тишина считается с этого момента
has-limits = пределы модуля { $name } изменены
is-removed = { $name } удалён
never = никогда
shown-limits = предупреждение через { $warn } с, ошибка через { $error } с, возврат после { $beats } { $beats ->
        [one] сигнала
        [few] сигналов
        [many] сигналов
       *[other] сигнала
    }
shown-quiet = часы тишины: { $hours }
shown-pause = приостановлен до { $until }; { $reason }
column =
    { $name ->
        [module] модуль
        [status] состояние
        [age] последняя активность
        [message] сообщение
        [time] время
        [change] смена
        [reason] причина
       *[other] { $name }
    }
