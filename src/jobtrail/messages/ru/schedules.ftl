next-time-came = наступил следующий срок расписания «{ $name }»
task-unknown = ни один процесс не знает задачу «{ $task }»
name-taken = расписание «{ $name }» уже есть
run-now = расписание «{ $name }», запущено сразу
no-schedule = расписания «{ $name }» нет
failures-in-a-row =
    { $failures } { $failures ->
         [one] ошибка
         [few] ошибки
        *[many] ошибок
    } подряд
unreadable = определение не читается: { $error }
never-runs = расписание «{ $name }» никогда не сработает: впереди нет ни одного срока

## Параметры расписания

not-a-definition = сохранено не расписание: { $value }
unknown-option = у расписания нет параметра «{ $name }»; параметры: { $known }
args-not-by-name = args должно быть словарём аргументов задачи по именам, а не { $value }
not-seconds = { $name } должно быть числом секунд не меньше { $least } (и не больше ста лет) или timedelta, а не { $value }
grace-too-short = { $name } должно быть числом секунд не меньше { $least } (любой запуск немного опаздывает), timedelta или None — любое опоздание, а не { $value }
not-in-our-time = { $name } должно быть datetime с часовым поясом, например datetime(2030, 1, 1, tzinfo=UTC), в годах с 1900 по 2999, а не { $value }
not-a-moment = { $text } — не момент времени; пишите 2030-01-31T03:00+03:00
bad-period = период расписания должен быть правилом: { $error }
schedule-name = имя расписания
lease-too-short = scheduler_lease должно быть не меньше 1 секунды, чтобы не истечь между двумя проходами, а не { $value }

## Объявления

two-of-one-name = два расписания с именем «{ $name }»; дайте одному из них другое имя в name=
entry-incomplete = в записи нужны 'task' и 'rule'
in-table-entry = запись { $number } таблицы расписаний: { $error }
in-beat-entry = запись «{ $name }» расписания beat: { $error }
name-of-person = расписание «{ $name }» не сохранено: человек добавил расписание с этим именем для задачи «{ $task }»

## Изменения

not-stored-yet = расписание «{ $name }» объявлено, но ещё не сохранено; его сохранит исполнитель при запуске
tz-without-rule = tz — часовой пояс правила; укажите вместе с ним rule=
nothing-to-edit = не указано, что изменить; укажите rule= или другой параметр
bad-until = until должно быть datetime с часовым поясом, позже настоящего времени и раньше 3000 года, а не { $value }
cannot-pause =
    расписание «{ $name }» нельзя поставить на паузу: { $state ->
        [finished] оно закончилось
        [retired] программа его больше не объявляет
       *[other] { $state }
    }
cannot-resume =
    расписание «{ $name }» нельзя возобновить: { $state ->
        [active] оно не на паузе
        [finished] оно закончилось
        [retired] программа его больше не объявляет
       *[other] { $state }
    }
just-changed = расписание «{ $name }» только что изменилось; посмотрите ещё раз
declared-by-program = расписание «{ $name }» объявлено программой ({ $origin }); удалите его там или поставьте на паузу
previous-active = предыдущий запуск расписания «{ $name }» ещё идёт: { $job }
masked = { $place } скрыто; укажите значение
pause-over = его пауза закончилась

## Сроки

slot-down = планировщик не работал
slot-paused = пауза
slot-overlap = предыдущее задание ещё не закончилось
slot-too-late = слишком поздно
slot-task-unknown = задача неизвестна
slot-complete = уже готово
slot-refused = отказ: { $error }
slot-run-now = запущено сразу: { $actor }

## Догрузка

backfill-of-itself = «{ $task }» запускает единицы других задач, своих у неё нет
only-empty = only должно быть из { $allowed }, одно или несколько; оно пусто
range-backwards = последний период, { $last }, начинается раньше первого, { $first }
range-not-whole =
    с { $first } по { $last } — не целое число { $step ->
        [year] лет
        [month] месяцев
        [week] недель
        [day] дней
       *[hour] часов
    }; укажите другой диапазон или другой шаг ({ $steps })
sources-empty = sources пусто; назовите хотя бы один источник или не указывайте sources, тогда возьмутся все известные
too-many-units =
    { $sources-grouped } { $sources ->
        [one] источник
        [few] источника
       *[many] источников
    } × { $periods-grouped } { $periods ->
        [one] период
        [few] периода
       *[many] периодов
    } — это { $units-grouped } { $units ->
        [one] единица
        [few] единицы
       *[many] единиц
    }, больше { $most-grouped }; возьмите диапазон короче, шаг крупнее или меньше источников
no-source-recorded = у «{ $task }» ещё нет ни одного источника; назовите его в sources=[…] (--source); { $error }
arguments-unknown = аргументы для { $whose } неизвестны, { $why }; укажите их в args={"{"}…{"}"} (--with JSON); { $error }
the-source = источника «{ $source }»
no-source = единиц без источника
newest-does-not-fit = а аргументы его последнего задания не подходят
no-earlier-job = а прежних заданий, чтобы взять их оттуда, нет
plan-has-options = у плана параметры уже есть; «{ $option }» относится к backfill_plan()
bad-parallel = parallel должно быть целым числом от 1 до { $most-grouped }, а не { $value }
backfill-of = догрузка с { $first } по { $last }
backfill-task-unknown = исполнитель догрузки не знает задачу «{ $task }»
backfill-taken-over = остановлено или продолжено другим запуском
all-units-ended = все единицы закончились
units-active = в работе { $active-grouped }
units-done = готово { $done-grouped } из { $total-grouped } единиц, в работе { $active-grouped }
unit-gone = записей о ней больше нет
complete-meanwhile = тем временем готово, задание { $job }
unit-ended-meanwhile =
    тем временем { $state ->
        [failed] с ошибкой
        [partial] завершено частично
       *[other] { $state }
    }, задание { $job }
active-otherwise = в работе с другими аргументами: задание { $job }
by-job = задание { $job }
unit-job-ended = задание { $job } { status-name }{ $why }
