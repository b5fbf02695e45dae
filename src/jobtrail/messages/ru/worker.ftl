chosen-by-hand = выбрано вручную
selection-gone = выбранные задания больше не хранятся; выберите их заново и запустите действие снова
job-gone = больше нет
job-ran-again = тем временем запускалось снова
unit-active = у этой работы есть идущее задание: { $in_way }
rerun-already = уже запущено заново
input-accepted = принято: SHA-256 { $submitted } при подаче, сейчас { $now }
middleware-raised = после тела возникла ошибка в middleware: { $error }
shutdown = прервано остановкой исполнителя
earlier-run-ends = тело прежнего запуска ещё заканчивается в этом исполнителе
unknown-task = задача неизвестна: ни один исполнитель не знает «{ $task }»
no-sign-of-life = нет признаков жизни { $seconds } с
claim-lost = ответ на его захват потерян
bad-beat = beat должно быть 'thread' или 'child', а не { $kind }
loop-ended = цикл событий закончился раньше него
timed-out = превышен предел времени { $limit } с
silent = не подавало признаков жизни { $limit } с
store-away = хранилище было недоступно: { $error }
raised-while-stopping = { $sentence }; при остановке возникла ошибка { $error }
limit-reached = { cause-name }: { $sentence }
by-job = { $reason } (заданием { $job })
bulk-action = действие над многими
gave-up = исполнитель отказался от него
hook-raised = в функции, переданной в { $function }, возникла ошибка { $type }
task-not-found = отдельный процесс не нашёл задачу '{ $name }': { $place } не она; определите задачу при импорте, под этим именем
unknown-end = отдельный процесс закончил задание неизвестным образом: { $how }
job-over = задание этого контекста закончилось
ends-not-written =
    { $count ->
         [one] не записано { $count-grouped } окончание запуска
         [few] не записано { $count-grouped } окончания запусков
        *[many] не записано { $count-grouped } окончаний запусков
    }
middleware = функция middleware
call-next-not-awaited = функция middleware вызвала call_next(run) без await, поэтому тело не выполнено; напишите: return await call_next(run)
input-accepted-meanwhile = принято: SHA-256 { $submitted } в начале, { $now } в конце
known-elsewhere = задачу «{ $task }» знает другой исполнитель
