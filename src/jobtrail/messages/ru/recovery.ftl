process-gone = процесса исполнителя { $pid } больше нет
loop-blocked = его цикл событий был заблокирован { $seconds } с, дольше срока задания { $job }
process-stopped = его процесс был остановлен { $seconds } с, дольше срока задания { $job }
process-ended = процесс исполнителя { $pid } завершён: { $what }
worker-silent = исполнитель молчал { $seconds } с
over-limit = { cause-name } превышен на { $seconds } с, исполнитель не остановил
result-kept = конец запуска отклонён из-за ошибки jobtrail; то, что он вернул, хранится в файле { $name }.refused
result-not-stored = результат тела не удалось сохранить: { $type }
left-interrupted = осталось прерванным
no-worker = его никто не держит
worker-not-known = его исполнитель неизвестен
body-still-runs = просили остановиться ({ cause-name }), не остановилось; тело ещё работает
worker-ended = исполнитель закончил без него
worker-dead = исполнитель погиб
file-kept = хранилище недоступно; { $path } сохранён
store-went-away = хранилище пропало, пока восстанавливались потерянные задания
ends-wait =
    хранилище недоступно; { $count ->
         [one] его ждёт { $count-grouped } окончание брошенного тела
         [few] его ждут { $count-grouped } окончания брошенных тел
        *[many] его ждут { $count-grouped } окончаний брошенных тел
    }
