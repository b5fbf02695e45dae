no-tracing = для трассировки нужен opentelemetry-api: установите jobtrail[tracing]
bad-tracing = tracing должно быть True или TracerProvider из OpenTelemetry, а не { $value }
no-metrics = для метрик нужен prometheus-client: установите jobtrail[metrics]
cannot-listen = метрики на { $host }:{ $port } не отдать: { $error }

## APScheduler

aps-about = Хранит задания APScheduler и то, что стало с каждым запланированным временем.
aps-slot-coalesced = выполнено вместе с более поздним временем (coalesce)
aps-no-reference = на функцию задания APScheduler { $name } нет ссылки, которую можно хранить; возьмите функцию модуля вместо lambda, вложенной функции или partial
aps-bound-method = функция задания APScheduler { $name } — метод объекта, который пришлось бы хранить через pickle; возьмите функцию модуля, метод класса или ссылку вида "module:object.method"
