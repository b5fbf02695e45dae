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
