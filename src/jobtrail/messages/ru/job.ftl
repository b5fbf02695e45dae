period-backwards = период с { $start } по { $end } заканчивается раньше, чем начинается
period-out-of-years = период { $value } выходит за пределы лет 1–9999
period-grains-differ = у { $first } и { $last } разный шаг или часовой пояс, ряда они не образуют
period-series-misses-end = ряд, начатый с { $first }, не доходит до { $last }; последний период должен быть членом ряда
period-bad-part = период делится на year, month, week, day или hour, но не на { $into }
period-no-neighbour = соседний с { $period } период выходит за пределы лет 1–9999
period-bad-rule = { $rule } не правило периода; нужно "previous" или "current" и year, month, week, day или hour, например "previous month"
period-not-in-calendar = периода { $text } нет в календаре; принимаются { accepted-periods }
hour-skipped = часа { $text } в поясе { $zone } нет: часы переводят через него вперёд
day-skipped = дня { $day } в поясе { $zone } нет: за предыдущим днём сразу идёт следующий
time-not-in-calendar = времени { $value } нет в календаре; принимаются { accepted-periods }
time-without-zone = у времени { $value } нет часового пояса; добавьте смещение (Z, +01:00) или пояс ([Europe/Berlin])
datetime-without-zone = нужен datetime с tzinfo, а { $at } без часового пояса
unknown-zone = часовой пояс { $name } неизвестен; нужно имя, например UTC или Europe/Berlin
not-a-period = { $value } не период; принимаются { accepted-periods }
value-of-type = значение типа { $type }
too-many-periods = получается больше { $most-grouped } периодов; возьмите шаг крупнее или отрезок короче
step-arguments = аргументы шага '{ $name }' нельзя сравнить между запусками: { $error }
not-comparable = { $type } не JSON, не период, не файл, не путь и не дата
unknown-task-option = у задачи '{ $name }' нет параметра '{ $option }'; есть: { $known }
unnamed-parameters = задача { $function } принимает безымянные аргументы; аргументы заданий хранятся по именам, поэтому нужны именованные параметры
arguments-unnamed = безымянных аргументов принимает { $positional }, получено { $given }
argument-twice = аргумент '{ $name }' передан дважды
argument-unknown = аргумента { $unknown } нет
argument-missing = не хватает аргумента { $missing }
argument-does-not-fit = { $path } не подходит под { $annotation }: { $reason }
arguments-refused = { $task }: { $problem }
not-seconds = { $name } должно быть числом секунд больше 0 или None ('none' в настройках), то есть без предела, а не { $value }
bad-priority = priority должно быть целым числом от 0 (самое срочное) до 9, а не { $value }
not-a-choice = { $name } должно быть одним из { $allowed }, а не { $value }
not-bytes = { $name } должно быть числом байт от { $least-grouped } или текстом вроде '512MB', а не { $value }
not-a-name = { $name }: нужен печатный текст от 1 до 200 знаков, без пробелов по краям, кроме "." и "..", а не { $value }
not-a-queue = { $name }: нужно имя без запятой и знака "=", которыми очереди разделяют в командной строке, а не { $value }
tracked-queue = { $name } не может начинаться с "celery:": это очереди задач, которые выполняет Celery; указано { $value }
argument-is-context = '{ $name }' — это контекст задания; назовите аргумент иначе
bad-labels = меток может быть не больше { $most }, тексты по именам; получено { $labels }
label-with-equals = в имени метки не может быть '=': метки ищут как label:имя=значение; получено { $key }
label-key = имя метки
label-value = метка '{ $key }'
bad-zone = zone должно быть именем часового пояса, например Europe/Vienna, а не { $value }
task-name = имя задачи
bad-jobs-per-child = max_jobs_per_child должно быть целым числом от 1, а не { $jobs }
memory-limit-without-process = у задачи '{ $task }' есть memory_limit, но удержать его может только отдельный процесс; добавьте executor='process'
function-not-importable = у задачи '{ $task }' executor='process', но отдельный процесс не может импортировать { $where }; определите её на верхнем уровне модуля (или в классе там), а не внутри функции
task-name-taken = две задачи называются '{ $name }'; переименуйте одну
no-such-task = задачи '{ $name }' нет; есть: { $known }
retry-not-number = retry { $name } должно быть числом от { $least }, а не { $value }
retry-not-bool = retry { $name } должно быть True или False, а не { $value }
delay-ignored = задержка из RetryableError не учтена: { $trouble }
delay-capped = запрошенная задержка ({ $seconds } с) больше max_delay; ждём { $most } с
wait-capped = по правилу повторов ждать { $seconds } с; ждём { $most } с
wait-failed = ждём { $instead } с по умолчанию; правило повторов не сработало: { $trouble }
bad-retry = retry должно быть Retry, числом попыток или None ('none' в настройках), то есть без повторов, а не { $value }
bad-attempts = retry attempts должно быть целым числом запусков от 1 (без повторов) или None ('none' в настройках), то есть без предела, а не { $value }
bad-max-delay = retry max_delay должно быть числом секунд больше 0 (не больше десяти лет) или None, а не { $value }
wait-above-max-delay = retry wait { $seconds } с, а max_delay { $cap } с; max_delay не может быть меньше
not-exceptions = retry { $name } должно состоять из классов исключений, в нём есть { $one }
wait-raised = исключение { $type }
wait-endless = бесконечность
wait-not-number = тип { $type }, а не число
wait-nan = NaN
wait-negative = отрицательное число
bad-wait-kind = неизвестный вид retry wait { $kind }; бывают exponential, fixed и custom
bad-max-failed-items = max_failed_items должно быть целым числом от 0, долей больше 0.0 и до 1.0 или None ('none' в настройках), то есть без предела, а не { $value }
stopped-with-reason = остановлено: { $reason }
stopped-by-body = остановлено телом
nothing-to-do = делать нечего
some-items-failed =
    с ошибкой { $failed-grouped } из { $total-grouped } { $total ->
         [one] элемента
         [few] элементов
        *[many] элементов
    }
bad-item-key = ключ элемента должен быть str, int, date, datetime, UUID или кортежем из них, а не { $type }. Передайте в key= функцию, которая такой возвращает
bad-on = on должно быть success, partial, failure или cancelled, несколько из них либо ended (любой исход), а не { $wrong }
bad-when = when должно быть "now", timedelta, секундами от 0 или datetime с часовым поясом в годах 1900–2999, а не { $when }
illegal-move = переход '{ $name }' ведёт из { $allowed } в { $targets }; из { $start } в { $to } нельзя
not-answered = на «{ $question }» не ответили вовремя
partial-because = частично: { $note }
with-warning = { $text } ({ $warning })
handed-back-often =
    возвращено { $times } { $times ->
         [one] раз
         [few] раза
        *[many] раз
    }: { $reason }
others-failed =
    { $count ->
         [one] { $count-grouped } элемент других заданий того же поколения с ошибкой
         [few] { $count-grouped } элемента других заданий того же поколения с ошибкой
        *[many] { $count-grouped } элементов других заданий того же поколения с ошибкой
    }
mended = более позднее задание довело его работу до конца: { $job }
items-again =
    { $note }; { $count ->
         [one] { $count-grouped } элемент пробуется снова
         [few] { $count-grouped } элемента пробуются снова
        *[many] { $count-grouped } элементов пробуются снова
    }
unknown-task = задача неизвестна
unknown-task-here = задача здесь неизвестна
all-items-failed = все элементы с ошибкой: { $total-grouped }
all-items-skipped = все элементы пропущены: { $total-grouped }
only-item-failed = единственный элемент с ошибкой
only-item-skipped = единственный элемент пропущен
both = { $first }; { $second }
left-early =
    цикл прерван раньше времени, после { $total-grouped } { $total ->
         [one] элемента
         [few] элементов
        *[many] элементов
    }
left-early-failed =
    цикл прерван раньше времени, после { $total-grouped } { $total ->
         [one] элемента
         [few] элементов
        *[many] элементов
    }, с ошибкой { $failed-grouped }
stopped-by-limit = остановлено: { cause-name }
stopped-by-limit-and = остановлено: { cause-name }; { $how }
limit = { cause-name }
killed-its-worker =
    { $strikes ->
        [one] { $strikes } раз погубило исполнителя
        [few] { $strikes } раза погубило исполнителя
       *[many] { $strikes } раз погубило исполнителя
    }
worker-lost = исполнитель потерян
not-finished = не закончено: { $reason }
partial = частично
a-steps-result = результат шага
far-too-large = { $what }: намного больше разрешённых { $limit }; { $advice }
too-large = { $what }: { $size } ({ $bytes-grouped } байт) при разрешённых { $limit } ({ $allowed-grouped } байт); { $advice }
value-contains-itself = содержит само себя
value-too-deep = вложено глубже { $most } уровней
key-not-text = есть ключ типа { $type }; ключи JSON — тексты: используйте str()
value-not-json = тип { $type } не значение JSON{ $hint }
float-not-json = число { $value } не значение JSON: используйте None
int-too-long = целое число длиннее 4000 цифр не прочитать обратно: используйте str()
at-path = { $path }: { $problem }
hint = : используйте { $call }
result-too-large = результат больше { $limit }, он не сохранён
result-not-storable = результат не удалось сохранить: { $type }
lost-int = целое число длиннее 4000 цифр
result-of-size-too-large = результат ({ $size }) больше { $limit }, он не сохранён
result-not-json = результат не JSON в { $path }: { $what }{ $more }; остальное сохранено
and-more = {" "}(и ещё { $count-grouped })
lost-cycle = содержит само себя
lost-depth = вложено глубже { $most } уровней
lost-key = два ключа с одинаковым текстом
arguments = аргументы
advice-file = передайте файл или ссылку
advice-less = спрашивайте меньше за раз
retried = повторено
called-exit = задание вызвало exit ({ $status })
raised-cancelled = в задании возникло CancelledError, хотя остановиться его не просили
raised = в задании возникло { $type }
raised-and = в задании возникло { $type }: { $error }
skip-stopping = его уже останавливают
skip-ended = закончилось
skip-status = сейчас { status-name }
skip-waits = ждёт другого задания
skip-due = уже готово к запуску
skip-body-runs = тело ещё работает
skip-active = другое задание этой работы ещё идёт
skip-newer = есть более новое задание этой работы
skip-continued = его работу уже продолжает другое
skip-complete = завершено
skip-no-failed = ошибочных элементов нет
skip-no-file = работало не с файлом
not-retryable = сейчас { status-name }; повторить можно ошибочное, частичное, прерванное и отменённое
body-runs = тело ещё работает; повторить можно, когда оно закончится
newer = есть более новое задание этой работы, { $job }: повторите его
not-ended = сейчас { status-name }; запустить заново можно, когда оно закончится
without-file = оно работало не с файлом
continued = его работу продолжает задание { $job }
complete = всё сделано, продолжать нечего
active = у этой работы есть идущее задание: { $job }
ended = оно закончилось: { status-name }
stopping = его уже попросили остановиться
not-stopping = его не просили остановиться
not-pending = сейчас { status-name }, срока оно не ждёт
waits-for = оно ждёт задания { $job }
due = оно уже готово к запуску
asks-nothing = сейчас { status-name }, оно ни о чём не спрашивает
accepted-periods = 2013, 2013-02, 2013-02-12, 2013-02-12T05, 2013-W07 и начало/конец, с поясом: 2013-02[Europe/Berlin]
function-without-name = у { $function } нет __name__; задайте имя задачи: @jobs.task(name=...)
not-callable = задаче «{ $task }» нужна функция; { $function } нельзя вызвать. Поставьте @jobs.task на обычную функцию или зарегистрируйте связанный метод: jobs.task(Class.method)
generator-function = задача «{ $task }» — генераторная функция ({ $function }): вызов только создаёт генератор и ничего не выполняет. Используйте return вместо yield или ctx.items() для цикла
bad-ready-marker = ready_marker должен быть окончанием, которое добавляется к имени файла, например '.done', или именем файла в той же папке; сейчас это { $value }
removed = задание { $job } закончилось ({ $status }) { $at }; подробности удалены
skip-needed = нужно идущему заданию
skip-group-open = его группа не закончилась
needed = нужно идущему заданию { $job }
group-open = его группа { $group } не закончилась
not-deletable = сейчас { status-name }; удалить можно, когда оно закончится
body-runs-on = тело ещё работает; удалить можно, когда оно закончится
limit-number = предел «{ $limit }»: { $name } — целое число от 1 до { $most }, сейчас это { $value }
limit-per = предел «{ $limit }»: per — положительное число секунд, сейчас это { $value }
limit-without-number = предел «{ $limit }» ничего не ограничивает; задайте running=, сколько заданий может выполняться сразу, или rate= и per=
limit-value = предел «{ $limit }»: аргумент «{ $field }» должен быть текстом, числом или логическим значением, чтобы войти в ключ; сейчас это { $value }
not-a-limit = задача «{ $task }»: limits — список из Limit(...), в нём { $value }
limit-field = задача «{ $task }»: предел «{ $limit }» называет «{ $field }», такого аргумента у неё нет. Есть: { $known }
limit-secret = задача «{ $task }»: предел «{ $limit }» называет «{ $field }», значения которого скрыты, а ключи видны людям
limit-tasks = предел «{ $limit }»: tasks — имя, список имён или '*' для всех, сейчас это { $value }
limit-twice = у задачи «{ $task }» предел «{ $limit }» указан дважды
limit-differs = задача «{ $task }» объявляет предел «{ $limit }» не с теми числами, что другая задача
too-many-limits = у задачи «{ $task }» { $number } пределов, принимается не больше { $most }
limit-name = имя предела — печатный текст длиной от 1 до { $most } знаков, сейчас это { $value }
limit-template = предел «{ $limit }» — не шаблон: { $problem }. Поля — это имена, например {"{"}tenant{"}"}; сама скобка пишется дважды
record-not-text = должен быть текст, а не значение типа { $type }
record-not-name = должен быть текст из 1–500 печатных знаков, а не { $value }
record-not-number = должно быть число от 0, а не { $value }
record-not-flag = должно быть true или false, а не { $value }
record-not-time = должно быть время, например 2013-02-01T03:00:00Z, а не { $value }
record-naive-time = нет часового пояса: { $value }; добавьте смещение (Z, +01:00)
record-not-id = должен быть UUID версии 7, а не { $value }. Номер из другой системы укажите как key
record-not-object = должен быть объект, а не значение типа { $type }
record-not-json = не JSON: { $error }
record-not-choice = должно быть одно из { $allowed }, а не { $value }
record-not-error = должен быть текст или объект из текстов: type, message, traceback, origin, fingerprint
record-not-file = должен быть объект с path, size и sha256
record-not-period = { $error }
record-unknown-field = такого поля нет; поля: { $known }
record-missing = отсутствует
record-not-rows = должен быть список объектов
record-refused = { $error }
record-other-outcome = не подходит к состоянию «{ status-name }»
record-after-end = позже, чем finished_at
record-period-or-file = у задания есть период или файл, но не оба
not-days = { $name } должно быть числом дней от 0 до 100 000, None (в настройках 'none') — навсегда, или "settings", а не { $value }
