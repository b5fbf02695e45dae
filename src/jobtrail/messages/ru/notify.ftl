bad-kind = вид события: строчные слова через точку, например module.error; получено { $kind }
bad-subject = предмет события: текст длиной от 1 до { $most }; получено { $subject }
bad-moment = время события: datetime с часовым поясом; получено { $value }
bad-rule-name = имя правила: от 1 до 50 строчных латинских букв, цифр, _, . и -; получено { $name }
bad-rule-kind = в правиле '{ $rule }' вид события { $kind }; вид: слова через точку, например module.error, * в конце значит любое продолжение
rule-without = в правиле '{ $rule }' пусто { $option }; нужно хотя бы одно значение
bad-list = { $option } правила '{ $rule }': текст или список текстов; получено { $value }
bad-seconds = { $option } правила '{ $rule }': число секунд от { $least } до года; получено { $value }
bad-times = times правила '{ $rule }': целое число от 1; получено { $value }
bad-text = { $option } правила '{ $rule }': непустой текст; получено { $value }
where-without-jobs = у правила '{ $rule }' есть фильтр, а он только для событий заданий и вопросов; виды должны начинаться с job. или question.
bad-where = фильтр правила '{ $rule }' неверен: { $error }
silent-needs = правилу '{ $rule }' нужны task и since вместе с видом task.silent, и только с ним
bad-quiet = тихие часы: два разных времени и пояс, например 22:00-07:00 Europe/Berlin; получено { $value }
module-error = модуль { $subject } в ошибке
module-error-over = модуль { $subject } больше не в ошибке
module-warning = у модуля { $subject } предупреждение
module-warning-over = у модуля { $subject } больше нет предупреждения
module-flapping = модуль { $subject } не остаётся в порядке: сбоев за час: { $falls }
module-recovered = модуль { $subject } снова в порядке
job-failed = { $what }: задание не удалось
job-partial = { $what }: выполнено лишь частично
job-interrupted = { $what }: прервано, раз: { $times }
job-over = { $what }: больше никто не нужен
question-waiting = { $what } спрашивает: { $question }
question-deadline = { $what } ждёт ответа до { $deadline }: { $question }
question-over = { $what } больше не ждёт ответа
schedule-missed = расписание { $subject } пропустило назначенное время
task-silent = задача { $subject } не запускалась с { $last }
task-silent-over = задача { $subject } снова запускается
worker-lost = исполнитель на { $host } погиб
store-away = база данных не отвечала на { $host }
store-away-over = база данных снова отвечает на { $host }
disk-unwritable = на { $host } нельзя писать в папку
disk-unwritable-over = на { $host } снова можно писать в папку
other = { $subject }: { $kind }
other-over = { $subject }: { $kind } закончилось
kind-over = { $kind } закончилось
several = { $count ->
        [one] { $count-grouped } событие
        [few] { $count-grouped } события
       *[many] { $count-grouped } событий
    }: { $kinds }
and-more = и ещё { $count ->
        [one] { $count-grouped } событие
        [few] { $count-grouped } события
       *[many] { $count-grouped } событий
    }
again = всё ещё: { $title }
about = Сообщает людям о событиях: правила, каналы, доставки, входящие.
not-a-rule = правила: объекты AlertRule; одно из них { $value }
bad-channel-name = имя канала: от 1 до 50 строчных латинских букв, цифр, - и _, первой буква, не inbox; получено { $name }
bad-timeout = таймаут: число секунд больше 0 и до { $most }; получено { $value }
bad-channel-option = { $option } канала: одна непустая строка текста
bad-url = адрес вебхука или пинга должен начинаться с https:// или http:// и содержать узел
bad-security = security почтового канала: одно из { $known }; получено { $value }
bad-port = порт: число от 1 до 65535; получено { $value }
no-receiver = почтовому каналу нужен хотя бы один адрес в to
bad-address = { $value } не адрес вида ops@example.org
half-a-login = для входа на почтовый сервер нужны и user, и password, либо ни одного
login-without-tls = пароль уходит на другую машину только с security "starttls" или "tls"
no-apprise = для каналов Apprise нужен его пакет: установите jobtrail[apprise]
bad-apprise-url = Apprise не знает такого адреса
http-status = в ответ пришёл статус { $status }
mail-refused = почтовый сервер отказал получателям: { $count ->
        [one] { $count-grouped } адрес
        [few] { $count-grouped } адреса
       *[many] { $count-grouped } адресов
    } (код { $codes })
apprise-refused = служба не приняла сообщение
disabled-title = канал { $channel } отключён
disabled = канал { $channel } отключён после { $failures ->
        [one] { $failures-grouped } неудачи
        [few] { $failures-grouped } неудач
       *[many] { $failures-grouped } неудач
    }: { $why }; удачная проверка включит его снова
no-entry = во входящих нет сообщения { $id }
no-delivery = нет доставки { $id }
channel-unknown = канала { $channel } больше нет
channel-disabled = канал { $channel } отключён
perhaps-twice = Это сообщение могло уже прийти: прежняя попытка прервалась во время отправки.
job-ended = задание { $job } закончилось, не отправив его
rule-channel = правило '{ $rule }' называет канал '{ $channel }'; есть каналы: { $known }
two-rules = у двух правил одно имя; имена: { $names }
bad-fallback = у канала '{ $channel }' запасной канал '{ $fallback }'; нужен другой из этих: { $known }
test-title = проверка канала { $channel }
test-body = Это проверочное сообщение jobtrail в канал { $channel }.
test-sent = проверочное сообщение ушло в канал { $channel }
test-failed = проверочное сообщение не ушло в канал { $channel }: { $why }
no-channel = нет канала '{ $channel }'; есть каналы: { $known }
bad-ping = пинг: раз в 5–86400 секунд; получено { $value }
ping-failed = пинг { $target } не удался: { $why }
direct-failed = сообщение о хранилище не ушло в канал { $channel }: { $why }
unknown-key = { $place }: ключ '{ $name }' не предусмотрен; ключи: { $known }
bad-language = язык сообщений: одно из { $known }; получено { $value }
not-a-table = { $place }: нужна таблица
bad-type = { $place }: нужен type; возможны: { $known }
incomplete-channel = { $place }: не хватает ключа; ключи: { $known }
at-place = { $place }: { $error }
no-variable = { $place } называет переменную окружения { $name }, а она не задана
channel-line = { $channel } ({ $kind }, { $target }): { $state }
not-a-channel = канал { $channel }: объект с методом send(message), например Mail или Webhook; получено { $type }
