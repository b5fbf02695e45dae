no-tracing = для трассировки нужен opentelemetry-api: установите jobtrail[tracing]
bad-tracing = tracing должно быть True или TracerProvider из OpenTelemetry, а не { $value }
no-metrics = для метрик нужен prometheus-client: установите jobtrail[metrics]
cannot-listen = метрики на { $host }:{ $port } не отдать: { $error }
