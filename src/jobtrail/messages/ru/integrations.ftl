no-tracing = для трассировки нужен opentelemetry-api: установите jobtrail[tracing]
bad-tracing = tracing должно быть True или TracerProvider из OpenTelemetry, а не { $value }
no-metrics = для метрик нужен prometheus-client: установите jobtrail[metrics]
cannot-listen = метрики на { $host }:{ $port } не отдать: { $error }

## APScheduler

aps-about = Хранит задания APScheduler и то, что стало с каждым запланированным временем.
aps-slot-coalesced = выполнено вместе с более поздним временем (coalesce)
aps-no-reference = на функцию задания APScheduler { $name } нет ссылки, которую можно хранить; возьмите функцию модуля вместо lambda, вложенной функции или partial
aps-bound-method = функция задания APScheduler { $name } — метод объекта, который пришлось бы хранить через pickle; возьмите функцию модуля, метод класса или ссылку вида "module:object.method"
aps-stopped = сопрограмма остановлена вместе со своим планировщиком или по чьей-то просьбе
aps-not-begun = обработчик, который ведёт записи, ещё не начал работу
aps-not-again = функцию или аргументы этого запуска нельзя было сохранить как JSON, поэтому отсюда его не повторить
aps-not-here = функции { $function } здесь нет: { $error }
aps-end-unknown = процесс, который выполнял этот запуск, не записал его конец, поэтому неизвестно, дошёл ли он до конца; повторите его вручную, если это не повредит

## Celery

no-celery = для отслеживания Celery нужен celery: установите jobtrail[celery]
period-not-function = period должно быть функцией от аргументов по именам, например lambda args: args["day"], а не { $value }
unknown-description = describe вернула { $names }; можно вернуть { $known }
bad-exclude = exclude должно быть списком шаблонов имён задач, например ["mail.*"], а не { $value }
bad-sample = sample должно задавать шаблонам имён задач числа от 0 до 1; для { $pattern } указано { $value }
bad-memory = memory должно быть целым числом записей, не меньше 1, а не { $value }
bad-describe = describe должно быть функцией от имени задачи и аргументов, а не { $value }
use-celery-retry = повторы задачи Celery делает сама Celery: вызовите self.retry() или укажите autoretry_for
end-not-known = Celery начала следующую попытку; о завершении этой не сообщалось
delivered-again = Celery доставила задачу ещё раз
rejected = задача отклонила своё сообщение
ignored = задача попросила Celery не учитывать её результат
expired = срок истёк раньше, чем исполнитель взял задачу
revoked = отозвана до начала
terminated = остановлена сигналом { $signal }
celery-without-app = исполнителю celery нужен адрес приложения Celery: задайте app = 'модуль:имя' в таблице executors.celery или JOBTRAIL_EXECUTOR__CELERY__APP
not-a-celery-app = { $app } не является приложением Celery
celery-app-taken = это приложение Celery уже выполняет задания другого JobTrail: дайте каждому своё приложение Celery
celery-eager = task_always_eager выполняет задачи там, где их отправляют, и задания не дошли бы до исполнителя: уберите его или используйте в тестах jobtrail.testing
celery-early-acks = task_annotations задаёт acks_late = False для «{ $name }»: задание убитого исполнителя не было бы доставлено снова; уберите «{ $name }»
celery-pool = jobtrail не может выполнять задания в пуле { $pool }: используйте prefork, threads или solo
celery-visibility = visibility_timeout равен { $timeout } с, а задача «{ $task }» может работать { $limit } с: Redis доставит сообщение снова, пока она работает; вторая доставка ничего не меняет, но задайте visibility_timeout больше { $limit } с
celery-broker-away = брокер не отвечает: { $error }
celery-start-broker = запустите брокер или исправьте broker_url
celery-no-worker = ни один исполнитель Celery не отвечает
celery-start-worker = запустите его командой celery worker
celery-workers = { $number ->
    [one] отвечает { $number } исполнитель Celery
    [few] отвечают { $number } исполнителя Celery
    [many] отвечают { $number } исполнителей Celery
   *[other] отвечают { $number } исполнителя Celery
}
celery-task-unknown = { $workers } не знают задачу jobtrail.run
celery-import = пусть приложение Celery импортирует модуль, который создаёт JobTrail
celery-no-consumer = никто не обслуживает очередь { $queue } (в Celery { $name }), сообщений в ней: { $waiting }
celery-consume = запустите исполнителя с -Q { $name }
celery-depth = очередь { $queue } (в Celery { $name }): ждут сообщений: { $waiting }
revoked-in-celery = отозвано в Celery
not-sent = задача Celery { $task } не отправлена: { $error }
sending-unknown = соединение с брокером прервалось, пока отправлялась задача Celery { $task }, поэтому неизвестно, получила ли её Celery: { $error }
sender-lost = процесс, отправлявший задачу Celery { $task }, погиб в это время, поэтому неизвестно, получила ли её Celery
sent-only = отправлена в Celery, где её выполнение никто не записывает
beat-options = { $setting } сопоставляет именам записей или "*" параметры расписания; недопустимо: { $names }
beat-local-zone = enable_utc выключен, timezone не задан, а у часового пояса этой машины нет имени; задайте timezone, например "Europe/Berlin"
results-kind = { $kind } неизвестно; есть { $known }
results-database = базу данных с результатами не удаётся прочитать: { $error }
results-table = в базе данных нет таблицы { $table }
results-pickled = Результат в формате pickle и не разобран: pickle может запустить любую программу. Импортируйте с --unpickle, если доверяете всем, кто может писать в эту таблицу.
results-not-unpickled = Результат в формате pickle не удалось разобрать: { $error }

## Django

django-in-memory = база { $alias } в Django находится в памяти, задания её не переживут; укажите файл, для тестов — в DATABASES[{ $alias }]["TEST"]["NAME"]
django-vendor = база { $alias } в Django — { $vendor }; jobtrail работает с PostgreSQL и SQLite, одну из них называет JOBTRAIL["DATABASE"]
django-no-alias = в DATABASES нет { $alias }
django-other-database = соединение { $alias } ведёт в другую базу, чем база заданий: { $ours }; задание может быть частью транзакции только своей базы
django-psycopg2 = для заданий в транзакциях Django нужен psycopg 3: установите "psycopg[binary]>=3.2" и удалите psycopg2
