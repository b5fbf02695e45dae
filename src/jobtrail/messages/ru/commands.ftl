asked-nothing = задание { $job } ни о чём не спрашивало
not-asked = задание { $job } не задавало вопроса «{ $question }»
not-waiting = задание { $job } больше не ждёт ответа
question-changed = вопрос «{ $name }» только что изменился; посмотрите ещё раз
no-question = вопроса { $question } нет
already-answered = на вопрос «{ $name }» ответил { $actor } в { $at } UTC
job-ended = его задание закончилось
question-closed = на вопрос «{ $name }» уже нельзя ответить: { $why }
question-late = на вопрос «{ $name }» можно было ответить до { $at } UTC
job-changed = задание { $job } только что изменилось; посмотрите ещё раз
bulk-mode = mode= относится к действию rerun, которому он нужен: full, failed_items или resume
bulk-which = укажите, о каких заданиях речь: фильтром или номерами
bulk-empty-filter = фильтр пуст, это значило бы все задания; укажите, какие именно
bulk-size = действие рассчитано на 1–{ $most-grouped } заданий; названо { $count-grouped }
not-an-id = «{ $id }» не номер задания
skip-stopping = его уже останавливают
skip-ended = закончилось
skip-status =
    сейчас { $status ->
        *[pending] ожидает
         [running] выполняется
         [awaiting_input] ждёт ответа
         [awaiting_mapping] ждёт сопоставления
         [cancelling] отменяется
         [interrupted] прервано
         [completed] завершено
         [partial] завершено частично
         [failed] с ошибкой
         [cancelled] отменено
    }
skip-waits = ждёт другого задания
skip-due = уже готово к запуску
skip-body-runs = тело ещё работает
skip-active = другое задание этой работы ещё идёт
skip-newer = есть более новое задание этой работы
skip-reran = уже запущено заново
bulk-nothing = Ни с одним из выбранных заданий ничего сделать нельзя{ $why }
because = : { $reason }
bulk-rate = per_second должно быть числом больше 0 и до { $most }, а не { $value }
no-group = группы { $group } нет
group-goes-on = группа { $group } не закончилась за { $timeout } с
file-name-unprintable = в имени файла { $name } есть перевод строки или другой непечатный знак
input-gone = входного файла больше нет: { $error }
no-file = файла { $path } нет
file-unreadable = файл { $path } не читается: { $error }
file-is-folder = { $path } — папка; укажите файл
not-a-file = { $path } не обычный файл
file-growing = файл { $path } ещё пишется; подайте его, когда он будет целым
no-job = задания { $job } нет
job-goes-on =
    задание { $job } за { $timeout } с не закончилось: { $status ->
        *[pending] ожидает
         [running] выполняется
         [awaiting_input] ждёт ответа
         [awaiting_mapping] ждёт сопоставления
         [cancelling] отменяется
         [interrupted] прервано
         [completed] завершено
         [partial] завершено частично
         [failed] с ошибкой
         [cancelled] отменено
    }
no-queue = очереди «{ $name }» нет; есть: { $known }
body-still-runs = тело задания { $job } ещё работает; повторить можно, когда оно закончится
unit-just-taken = в тот же момент подано другое задание той же работы, что и { $job }
not-newest = у этой работы есть более новое задание, чем { $job }; повторите { $newest }
unit-active = у работы задания { $job } есть идущее задание: { $active }
no-file-to-correct = задание { $job } работало не с файлом, исправленный файл передать нельзя
second-cancel = отменено второй раз
with-job = вместе с заданием { $job }
many-cannot = enqueue_many() не принимает using({ $word }=): подавайте такие задания по одному или через enqueue_each()
several-jobs = на «{ $id }» заканчиваются несколько заданий: { $found }
no-job-ending = задания «{ $id }» нет
result-argument = аргумент «{ $argument }» задачи { $name } займёт результат, задавать его нельзя
successor-cannot = следующему заданию нельзя задать { $word }=: оно начнётся, когда закончится предыдущее (when= задаёт паузу)
period-or-file = задание работает с периодом или с файлом, но не с обоими
file-not-path = file должно быть путём, а не { $type }
run-at-or-delay = задайте run_at или delay, но не оба
bad-run-at = run_at должно быть datetime с часовым поясом в годах 1900–2999, а не { $value }
bad-delay = delay должно быть числом секунд от 0 или timedelta, а не { $value }
bad-idempotency = idempotency может быть 'params' (тогда idempotency_key не задаётся)
idempotency-window = для idempotency='params' нужно window=timedelta(...): время, в которое равные подачи считаются одной
active-other-arguments = у «{ $what }» есть идущее задание с другими параметрами: { $active }
active = у «{ $what }» есть идущее задание: { $active }
done = «{ $what }» уже загружено заданием { $job }
key-used = этот ключ идемпотентности использован для задания { $job } с другими параметрами
changed-too-often = «{ $what }» слишком часто переходило из рук в руки; подайте ещё раз
bad-connection = connection= принимает Session или Connection из SQLAlchemy (синхронные или асинхронные), а не { $type }
other-database = connection= соединено с { $given }, а задания хранятся в { $ours }
no-upload-folder = файлы передавать нельзя: задайте в upload_folder папку, которую видят сервер и все исполнители
upload-too-large = файл не может быть больше { $most-grouped } байт
upload-name = файлу нужно печатное имя; { $name } не подходит
upload-name-too-long = имя файла не длиннее { $most } байт; «{ $name }…» длиннее
no-upload = переданного файла «{ $upload }» нет (не взятый заданием удаляется через день)
no-server-files = файлы сервера здесь называть нельзя: передайте файл или задайте input_roots
file-outside = «{ $path }» не файл внутри { $where }
unknown-using = у using() нет параметра '{ $option }'; есть: { $known }
cannot-retry =
    задание { $job } сейчас { $status ->
        *[pending] ожидает
         [running] выполняется
         [awaiting_input] ждёт ответа
         [awaiting_mapping] ждёт сопоставления
         [cancelling] отменяется
         [interrupted] прервано
         [completed] завершено
         [partial] завершено частично
         [failed] с ошибкой
         [cancelled] отменено
    }; повторить нельзя
cannot-rerun =
    задание { $job } сейчас { $status ->
        *[pending] ожидает
         [running] выполняется
         [awaiting_input] ждёт ответа
         [awaiting_mapping] ждёт сопоставления
         [cancelling] отменяется
         [interrupted] прервано
         [completed] завершено
         [partial] завершено частично
         [failed] с ошибкой
         [cancelled] отменено
    }; запустить заново можно, когда оно закончится
cannot-cancel =
    задание { $job } сейчас { $status ->
        *[pending] ожидает
         [running] выполняется
         [awaiting_input] ждёт ответа
         [awaiting_mapping] ждёт сопоставления
         [cancelling] отменяется
         [interrupted] прервано
         [completed] завершено
         [partial] завершено частично
         [failed] с ошибкой
         [cancelled] отменено
    }; отменять нечего, оно закончилось
cannot-start =
    задание { $job } сейчас { $status ->
        *[pending] ожидает
         [running] выполняется
         [awaiting_input] ждёт ответа
         [awaiting_mapping] ждёт сопоставления
         [cancelling] отменяется
         [interrupted] прервано
         [completed] завершено
         [partial] завершено частично
         [failed] с ошибкой
         [cancelled] отменено
    }; запустить сейчас нельзя
stop-asked-already = задание { $job } уже попросили остановиться; конец можно записать принудительно
forced =
    просили остановиться ({ $cause ->
        [timeout] предел времени
        [stall] предел молчания
        [cancel] отмена
       *[other] { $cause }
    }), затем конец записан принудительно; тело ещё работает
question-expired = его время истекло
question-defaulted = его время истекло, взят ответ по умолчанию
not-answered = на «{ $name }» не ответили до { $at } UTC
continued-by = работу задания { $job } продолжает задание { $active }
