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
limits-changed = пределы изменены
paused = приостановлен
pause-ended = пауза закончилась
not-observed = без наблюдения с { $since } до { $until }: тишина считается с конца этого времени
clock-ahead =
    последняя активность была на { $seconds } { $seconds ->
        [one] секунду
        [few] секунды
        [many] секунд
       *[other] секунды
    } в будущем и считается как сейчас
