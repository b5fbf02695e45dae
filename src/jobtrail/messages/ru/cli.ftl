# Числа, длительности, части строк.
number = { $n-grouped }
seconds = { $n } с
days-and-hours = { $days } дн { $hours } ч
deadline-in =
    через { $count-grouped } { $unit ->
        [s] с
        [min] мин
        [h] ч
        [d] дн
       *[other] { $unit }
    }
deadline-over = срок прошёл
then-default = { $deadline }, потом ответ по умолчанию
counted = { $state }: { $count-grouped }
in = через { $span }
took = за { $span }
ago = { $what }, { $span } назад
up-to = { $what } по { $time }
bytes =
    { $count-grouped } { $count ->
        [one] байт
        [few] байта
       *[many] байт
    }
and-more = … и ещё { $count-grouped }
none = нет
nothing = ничего
it = ответ:
# Задания.
due = готово к запуску
waits-for-another = ждёт другого задания
asks-a-person = ждёт человека: jobtrail answer { $job }
no-jobs = заданий нет
showing = показано { $shown-grouped } из { $total }
showing-and-more = { $showing }; дальше с { $option } { $job }
times-in-utc = время UTC
no-items = элементов нет
since = { $outcome } в { $job }
showing-items = показано элементов: { $shown-grouped } из { $total-grouped }; { $words }
lines-dropped = здесь опущено строк: { $count-grouped }
no-tasks = задач нет
heading =
    { $part ->
        [questions] Вопросы
        [timeline] Как это шло (UTC)
        [attempts] Попытки
        [items] Элементы
        [error] Ошибка
        [last_error] Последняя ошибка
        [log] Журнал (конец)
        [chain] Цепочка
        [lineage] Происхождение
       *[other] { $part }
    }
attempt = попытка { $number }
next-in = следующая через { $span }
submitted-by = { $program } на { $host } (процесс { $pid }, { $user })
end-was-forced = конец записан принудительно, тело ещё работает
first-run = первый
this-job = это задание
member-of = в составе: { $group }
group = группа «{ $name }» (…{ $id }): { $state }
group-unnamed = группа (…{ $id }): { $state }
group-goes-on = закончились не все её задания
group-ended = закончено { $ended-grouped } из { $total-grouped }
group-outcome = { $outcome }, заданий: { $total-grouped }
or = { $first } или { $second }
on = при { $end }
on-later = при { $end }, спустя { $span }
on-at = при { $end }, в { $at }
successor-gone = заданием { $job }, которое удалено
# Что сделано с заданием.
submitted = подано
is-there-already = уже есть
is-under-way = уже идёт
reruns = повторяет …{ $job }
is-retried = повторяется
is-cancelled = отменено
is-asked-to-stop = попросили остановиться
is-asked-and-cannot-stop-early = попросили остановиться; раньше конца тела оно не может, отмена подействует потом
body-still-runs = { $state }; тело ещё работает
units-go-on =
    { $count ->
        [one] { $words }; начатая единица работы ({ $count-grouped }) продолжается
        [few] { $words }; начатые единицы работы ({ $count-grouped }) продолжаются
       *[many] { $words }; начатые единицы работы ({ $count-grouped }) продолжаются
    }
is-due-now = готово к запуску
is-there-a-worker = { $state }: есть ли исполнитель у очереди «{ $queue }»?
# Параметры команд и приложение.
csv-or-json = --csv и --json исключают друг друга; задайте что-то одно
argument-twice = параметр «{ $name }» задан дважды
not-json = { $option }: это не JSON: { $error }
constant-not-json = { $name } не JSON
not-an-object = { $option } должно быть одним объектом JSON, например '{"{"}"airport": "EWR"{"}"}'
not-a-pair = { $option } должно быть вида имя=значение, а не «{ $text }»
not-a-duration = { $option } должно быть длительностью, например 90s, 15m, 24h или 7d, а не «{ $text }»
not-a-time = { $option } должно быть временем, например 2030-01-31T03:00 или 2030-01-31T03:00+03:00, а не «{ $text }»
no-application = этой команде нужны задачи: задайте --app module:object или JOBTRAIL_APP
no-place = база не названа: задайте --app module:object или --database URL (либо JOBTRAIL_APP или JOBTRAIL_URL)
not-module-object = «{ $named }» не вида module:object, например myproject.jobs:jobs
module-without = в модуле «{ $module }» нет «{ $name }»
not-a-jobtrail = «{ $named }» имеет тип { $type }, это не JobTrail (и не функция без параметров, которая его возвращает)
no-module = модуля «{ $module }» нет
no-module-for = модуля «{ $module }», который импортирует «{ $importer }», нет
import-failed = импорт «{ $module }» не удался: { $type }: { $error } (трассировка с --debug)
call-failed = вызов «{ $named }» не удался: { $type }: { $error } (трассировка с --debug)
no-database-file = файла базы { $path } нет
unexpected = неожиданная ошибка { $type }: { $error } (трассировка с --debug)
stopped-by-ctrl-c = остановлено по Ctrl-C
see-help = { $problem } (см. '{ $command } --help')
no-such-command = команды «{ $name }» нет
no-such-command-but = команды «{ $name }» нет; может быть, { $near }?
no-such-option = параметра { $name } нет
no-such-option-but = параметра { $name } нет; может быть, { $near }?
missing = не хватает { $name }
too-many-arguments = «{ $given }» здесь лишнее
option-needs-value = параметру { $name } нужно значение
option-without-value = у параметра { $name } нет значения
bad-value = { $name } не подходит: { $problem }
not-a-number = { $name } должно быть числом{ $range }
# Справка.
usage = Вызов
arguments = Аргументы
options = Параметры
commands = Команды
default = по умолчанию
required = обязательно
help-option = Показать эту справку.
its-commands = Его команды.
commands-of = Команды плагина { $name }.
panel =
    { $name ->
        [read] Посмотреть
        [change] Изменить
        [run] Запустить
        [maintain] Обслужить
        [plug_ins] Плагины
       *[other] { $name }
    }
placeholder =
    { $name ->
        [OPTIONS] ПАРАМЕТРЫ
        [COMMAND] КОМАНДА
        [ARGS] АРГУМЕНТЫ
        [MODULE] МОДУЛЬ
        [OBJECT] ОБЪЕКТ
        [FUNCTION] ФУНКЦИЯ
        [FILTER] ФИЛЬТР
        [ID] НОМЕР
        [TASK] ЗАДАЧА
        [SOURCE] ИСТОЧНИК
        [FINGERPRINT] ОТПЕЧАТОК
        [VERSION] ВЕРСИЯ
        [NAME] ИМЯ
        [ROLE] РОЛЬ
        [PERIOD] ПЕРИОД
        [RULE] ПРАВИЛО
        [LENGTH] ДЛИТЕЛЬНОСТЬ
        [SECONDS] СЕКУНДЫ
        [TIME] ВРЕМЯ
        [ZONE] ПОЯС
        [DIR] ПАПКА
        [FILE] ФАЙЛ
        [KIND] ВИД
        [PATH] ПУТЬ
        [HOST] ИМЯ
        [ADDRESS] АДРЕС
        [WHAT] ЧТО
        [str] <текст>
        [list_str] <текст>
        [int] <число>
        [int_range] <число>
        [float] <число>
        [float_range] <число>
        [path] <путь>
       *[other] { $word }
    }
# Вопросы и ответы.
no-questions = ни один вопрос не ждёт ответа
answer-with = ответить: jobtrail answer НОМЕР
nothing-remembered = запомненных ответов нет
forget-with = чтобы спросили снова: jobtrail forget ЗАДАЧА --source ИСТОЧНИК
has-asked-nothing = ни о чём не спрашивало
who-at = { $who } в { $at } UTC
no-deadline = без срока
deadline-then-fails = { $end }; потом задание закончится ошибкой
deadline-then-default = { $end }; потом возьмётся { $default }
remembered-or-job = --remembered относится к задачам и источникам, --job к одному заданию; задайте что-то одно
has-its-answer = получило ответ на «{ $name }»
no-job-or-question = { $problem }, и открытого вопроса с таким концом номера нет
no-job-or-question-called = { $problem }, и открытого вопроса «{ $name }» с таким концом номера нет
no-terminal = спросить не у кого: терминала нет; задайте ответ, например --with { $example }
asks = спрашивает
forgotten =
    { $count ->
        [one] забыт { $count-grouped } ответ: { $where }
        [few] забыто { $count-grouped } ответа: { $where }
       *[many] забыто { $count-grouped } ответов: { $where }
    }
confirm-answer = Отправить этот ответ? [Д/н]
empty-is = пусто: { $value }
how-to-map = Для каждого поля введите его колонку, имя или номер. Enter берёт предложенное в скобках, { $none } — без колонки; полям с * колонка нужна.
# Догрузка и покрытие.
backfill-size =
    с { $first } по { $last }: { $units-grouped } { $units ->
        [one] единица работы
        [few] единицы работы
       *[many] единиц работы
    }, { $sources-grouped } { $sources ->
        [one] источник
        [few] источника
       *[many] источников
    } × { $periods }
nothing-of-source = от источника «{ $source }» ещё ничего не записано
nothing-without-source = без источника ещё ничего не записано
nothing-to-do = делать нечего
no-unit-is = таких единиц работы нет: { $only }
to-run = запустится: { $count-grouped }
how = ({ $ways }), { $order }, сразу { $parallel-grouped }
newest-first = сначала новые
oldest-first = сначала старые
way =
    { $name ->
        [full] повтор целиком
        [failed_items] повтор ошибочных элементов
        [resume] продолжение
       *[submit] новое задание
    }
way-counted = { $way }: { $count-grouped }
no-units = единиц работы нет
coverage-cut = показано не всё; возьмите отрезок короче, --zoom крупнее или меньше источников
# Очереди и расписания.
queues-idle = ничего не ждёт и не выполняется, и очереди на паузу не ставили
queue-paused = очередь «{ $name }» на паузе
queue-paused-already = очередь «{ $name }» уже на паузе
queue-resumed = очередь «{ $name }» продолжена
queue-runs-already = очередь «{ $name }» и так не на паузе
no-limits = ни одна программа не объявила пределов
limit-is = предел «{ $name }» допускает на каждый ключ: { $allows }
limit-running = { $number-grouped } сразу
limit-rate = { $number-grouped } за { $per } с
limit-any = сколько угодно
limit-changed-by = { $allows }, изменено: { $who }
paused-by = на паузе, кем: { $who }
paused-by-until = на паузе до { $until }, кем: { $who }
ran = запуск
edited-by = изменено, кем: { $who }
task-unknown-since = ни один процесс не знает задачу «{ $task }» с { $since }
waits-for-job = ждёт задания …{ $job }
missed-in-a-row =
    пропущено { $count-grouped } { $count ->
        [one] срок
        [few] срока
       *[many] сроков
    } подряд
take-code = 'jobtrail schedules edit --take-code' снимает изменения: снова действует объявленное программой
no-schedules = расписаний нет
declared-only = объявлены, сохранятся с запуском исполнителя: { $names }
no-leader = нет исполнителя, который подавал бы задания
made-by = задания подаёт { $workers }
worker = исполнитель …{ $id }
worker-process = исполнитель …{ $id } (процесс { $pid } на { $host })
no-more-times = сроков больше нет
nothing-missed = пропусков нет
next-time = следующий срок { $time }
is-added = добавлено
is-as-declared = снова как объявлено программой
is-changed = изменено
is-paused = на паузе
goes-on = продолжено
is-removed = удалено
# Плагины и демонстрация.
no-plugins = плагинов нет
left-out = не подключён
handed-in = передан программой
plugin-of-package = { $name } (пакет { $package })
plugin-left-out = плагин не подключён: { $why }
no-plugin = плагина «{ $name }» нет
plugin-without-commands = у плагина «{ $name }» нет команд
plugin-not-used = это приложение не использует плагин «{ $name }»
no-examples = в этой установке jobtrail нет примера flights
# Обслуживание.
migrated = теперь схема { $version }
migrated-plugin = схема таблиц расширения '{ $plugin }': { $version }
migrated-already = схема уже { $version }; делать было нечего
old-enough = достаточно старые: { $counted }
would-stay = (те, на которые ссылаются другие задания, остались бы)
removed = удалено: { $counted }
metrics-served = показатели на { $url }
metrics-until-stopped = показатели на { $url }; остановить: Ctrl-C
# Сервер, токены, исполнитель.
not-a-function = --login должно быть module:function, например myproject.people:who; «{ $named }» не функция
nobody-could-log-in = { $host } доступен с других машин, а войти не сможет никто: сначала выдайте токен (jobtrail token create --role operator --name anna или serve --new-token admin) или слушайте 127.0.0.1
served-at = jobtrail отвечает на
token-shown-once = токен (показывается только сейчас)
token-created = токен для { $name }, роль { $role }; показывается только сейчас, хранится лишь его отпечаток
token-unknown-action = 'jobtrail token' принимает create, list или revoke, а не «{ $action }»
token-needs-name-and-role = токену нужны имя и роль (viewer, operator или admin): --name anna --role operator
token-name = имя токена
token-days = --days должно быть числом больше 0 и до { $most-grouped }, а не { $days }
token-which = токен не назван: jobtrail token revoke ИМЯ (или его номер)
no-token = годного токена «{ $name }» нет
no-tokens = токенов нет: jobtrail token create --role operator --name anna
revoked = отозван
tokens-revoked =
    { $count ->
        [one] отозван { $count-grouped } токен
        [few] отозвано { $count-grouped } токена
       *[many] отозвано { $count-grouped } токенов
    }
stopped = остановлено
queues-without-names = --queues должно состоять из имён, например: default,imports
queues-and-slots = --queues должно быть именами вместе с --concurrency или слотами для каждой, например: default=10,imports=2
draining = остановка: выполняется { $running-grouped }, ждём не больше { $seconds } с; второй сигнал вернёт их сразу
worker-started = исполнитель …{ $id }: очереди { $queues }; слотов { $slots }; { $where }; задачи: { $tasks }
worker-stopped = исполнитель …{ $id } остановлен через { $span }: { $counted }
# Проверка.
doctor-start-database = проверьте, что она работает и что --database (или JOBTRAIL_URL) указывает на неё
doctor-database = { $kind }, { $where }, отвечает за { $ms } мс
doctor-long-wal = в { $file } { $size } ГБ
doctor-end-reader = какая-то программа держит открытой читающую транзакцию; закончите её
doctor-autovacuum-off = autovacuum на этом сервере выключен
doctor-autovacuum-on = включите его или запускайте VACUUM ANALYZE каждую ночь: иначе захват заданий и страницы замедляются
doctor-old-transaction = транзакция открыта уже { $span }
doctor-end-transaction = закончите её (pg_stat_activity): пока она открыта, мёртвые строки не убрать
doctor-schema-current = { $version }, новейшая
doctor-schema-plugin = { $plugin }: { $told }
doctor-update-plugin = обновите расширение { $plugin } на этой машине
doctor-schema-newer = { $version }, новее этой программы, которая знает { $known }
doctor-schema-older = { $version }, а программе нужна { $needed }
doctor-no-tables = таблиц jobtrail нет
doctor-no-plugin-tables = его таблиц нет
doctor-update = обновите jobtrail на этой машине
doctor-migrate = запустите: jobtrail migrate
doctor-clock-agrees = сходятся с базой
doctor-clock-ahead = часы этой машины впереди базы на { $seconds } с
doctor-clock-behind = часы этой машины отстают от базы на { $seconds } с
doctor-set-clock = jobtrail от них не зависит, но переведите их: время в журналах не сойдётся
doctor-tasks-unchecked =
    { $count ->
        [one] ждут задания { $count } задачи; без --app неизвестно, есть ли она
        [few] ждут задания { $count } задач; без --app неизвестно, есть ли они
       *[many] ждут задания { $count } задач; без --app неизвестно, есть ли они
    }
doctor-name-app = задайте --app module:object, чтобы их проверить
doctor-unknown-tasks = задания ждут задач, которых это приложение не знает: { $tasks }
doctor-register-tasks = зарегистрируйте их (или дайте переименованной задаче aliases=[…])
doctor-tasks = известно { $count }; все задачи, которых ждут задания, есть
doctor-repair-package = исправьте или удалите пакет { $package }
doctor-repair = исправьте или удалите его
doctor-command-taken = «{ $name }» — команда jobtrail, поэтому команды плагина вызвать нельзя
doctor-see-tasks = имена покажет jobtrail tasks
doctor-settings = { $path }: настроек { $settings }, задач { $tasks }
doctor-loop-fails = { $loop }: ошибка, повторяется: { $why }
doctor-read-logs = подробности в его журнале и в журнале базы
doctor-loop-late = { $loop }: давно нет ни одного прохода
doctor-restart = перезапустите его; задания вернутся в очередь
doctor-slots-lost = потеряно слотов: { $lost } из { $total }, тела не останавливаются: { $jobs }
doctor-restart-and-end = перезапустите его (идущее запустится снова) и дайте таким задачам executor='process': такой процесс можно завершить
doctor-loop-blocked = его цикл событий заблокирован { $span }
doctor-loop-blocked-by = его цикл событий заблокирован { $span } заданием { $jobs }
doctor-process-stopped = его процесс остановлен (SIGSTOP, Ctrl-Z) { $span }; его задания: { $jobs }
doctor-continue = продолжите процесс командой kill -CONT или завершите его
doctor-await = тело с async должно ждать через await: сделайте его обычной функцией или дайте executor='process'
doctor-cannot-write = не может писать в базу: { $why }
doctor-ends-wait = идущие задания продолжаются, их концы запишутся позже
doctor-was-away = был без базы { $span }, это кончилось { $ago } назад, и работает дальше
process-gone = его процесса больше нет
silent-for = молчит { $span }
stopping = останавливается
leaving = уходит: одно из его тел не остановить
serves = очереди { $queues }, слотов { $slots }
demo-executor = jobtrail demo выполняет задания само или в исполнителе Celery: --once --executor celery --broker redis://localhost
hosts = выполняет задания { $executor }, слотов { $slots }
leads = передаёт задания в { $executor }, сам не выполняет
doctor-processes-of = { $executor }: выполняют задания: { $processes }; передано и не начато: { $waiting }
doctor-no-process-of = { $executor }: ни один работающий процесс не выполняет задания; передано и не начато: { $waiting }
doctor-start-process-of = запустите процессы { $executor } с этим приложением
doctor-not-handed = { $executor }: готово к запуску и не передано: { $number }, первое ждёт { $span }
doctor-start-relay = запустите исполнителя или процесс { $executor }: никто из работающих не передаёт ему задания
doctor-see-relay = возможно, брокер { $executor } недоступен: смотрите журнал исполнителя, который передаёт задания
doctor-handed-late = { $executor }: переданные из очереди { $queue } задания ({ $number }) не начинаются уже { $span }
doctor-not-answering = не удалось опросить { $executor }: { $error }
doctor-versions = исполнители работают на разных версиях jobtrail: { $versions }
doctor-same-version = перезапустите тех, у кого версия старее
worker-alive = …{ $id } на { $host } (процесс { $pid }, { $does })
worker-dead = …{ $id } на { $host }: { $told }
worker-trouble = исполнитель …{ $id } на { $host } (процесс { $pid }): { $trouble }
doctor-no-worker = ни один не работает
doctor-start-worker = запустите: jobtrail --app module:object worker
doctor-alive = работает { $count }: { $workers }
doctor-nothing-waits = ни одно готовое задание не ждёт исполнителя
queue-waits = очередь «{ $queue }» уже { $span }
doctor-no-worker-for = { $told }; никто не разбирает { $queues }
doctor-serve-queues = запустите: jobtrail worker --queues { $queues }
doctor-more-workers = больше исполнителей или слотов (--concurrency) сократили бы очередь
doctor-running = у работающих исполнителей: { $count-grouped }
doctor-lost = записаны за исполнителями, которых нет: { $count-grouped }
doctor-recovers = их восстановит любой исполнитель
doctor-questions =
    { $count ->
        [one] ждёт ответа { $count-grouped } задание
        [few] ждут ответа { $count-grouped } задания
       *[many] ждут ответа { $count-grouped } заданий
    }
doctor-held =
    { $count ->
        [one] { $count-grouped } задание ждёт человека: его исполнитель погиб
        [few] { $count-grouped } задания ждут человека: их исполнители погибли
       *[many] { $count-grouped } заданий ждут человека: их исполнители погибли
    }
doctor-list-held = jobtrail list status:interrupted; потом повторите или отмените их
doctor-failed =
    { $count ->
        [one] с ошибкой { $count-grouped }{ $more } задание
        [few] с ошибкой { $count-grouped }{ $more } задания
       *[many] с ошибкой { $count-grouped }{ $more } заданий
    }
token-bound = { $role } для { $bound_to }
executed = задание { $job } выполнено в этом процессе
not-executed = задание { $job } здесь не выполнено: { $why ->
    [taken] этот запуск уже начат
    [ended] оно завершено
    [early] оно ждёт своего времени или другого задания, либо его очередь приостановлена
    [gone] такого задания нет
    [elsewhere] оно не передаётся другой системе
   *[stopping] этому процессу велено завершиться
}
would-delete = { $count ->
         [one] было бы удалено { $count-grouped } задание
         [few] было бы удалено { $count-grouped } задания
        *[many] было бы удалено { $count-grouped } заданий
    }
deleted = { $count ->
         [one] удалено { $count-grouped } задание
         [few] удалено { $count-grouped } задания
        *[many] удалено { $count-grouped } заданий
    }
delete-sure = Удалить { $count ->
         [one] { $count-grouped } задание
         [few] { $count-grouped } задания
        *[many] { $count-grouped } заданий
    } и всё, что о них записано?
delete-stays = остаётся { $count-grouped }: { $reason } (например, { $example })
delete-more = Под фильтр подходят и более старые задания; дайджест относится к 10 000 новейших.
delete-digest = Удалить именно их: --digest { $digest }; удалить всё подходящее: --yes.
imported = { $count ->
         [one] импортировано { $count-grouped } задание
         [few] импортировано { $count-grouped } задания
        *[many] импортировано { $count-grouped } заданий
    }; уже было { $there-grouped }, отклонено { $refused-grouped }
would-import = { $count ->
         [one] было бы импортировано { $count-grouped } задание
         [few] было бы импортировано { $count-grouped } задания
        *[many] было бы импортировано { $count-grouped } заданий
    }; уже было { $there-grouped }, отклонено { $refused-grouped }
record-problem = строка { $number }, { $field }: { $why }
exported = { $count ->
         [one] выгружено { $count-grouped } задание
         [few] выгружено { $count-grouped } задания
        *[many] выгружено { $count-grouped } заданий
    }
parquet-needs-file = Файл Parquet пишется по имени: укажите --to FILE.
export-format = Формат { $form } неизвестен; есть jsonl, csv и parquet.
left = осталось { $span }
watch-ends = завершить: Ctrl-C
watch-more = и ещё { $count-grouped }
watch-older = есть и более старые задания
no-workers = здесь ещё не запускали ни одного исполнителя
workers-living = живых: { $living }, занято слотов: { $held } из { $slots } · время в UTC
worker-state =
    { $state ->
        [alive] жив
        [stopping] завершается
        [leaving] уходит
        [stopped] остановлен
        [dead] мёртв
       *[silent] молчит
    }
no-errors = за это время ни одно задание не закончилось ошибкой
errors-find = задания строки: jobtrail list error:{ $fingerprint }
no-completion = для этой оболочки дополнения нет: { $shell }; есть для { $known }
kept-by-function = { $count ->
         [one] осталось { $count-grouped } задание
         [few] осталось { $count-grouped } задания
        *[many] осталось { $count-grouped } заданий
    }: отказала функция, которая вызывается перед удалением; см. журнал
error-one-action = укажите что-то одно: --acknowledge, --mute, --mended или --reopen
error-length = «{ $given }» не похоже на срок; например 30m, 2h, 3d или 1w
error-said = { $state }, { $who }, { $at }
error-state = { $name ->
        [open] открыта
        [acknowledged] принята к сведению
        [muted] заглушена
        [mended] исправлена
        [returned] вернулась
       *[other] { $name }
    }
