no-tracing = tracing needs opentelemetry-api: install jobtrail[tracing]
bad-tracing = tracing must be True or an OpenTelemetry TracerProvider; it is { $value }
no-metrics = metrics need prometheus-client: install jobtrail[metrics]
cannot-listen = metrics cannot be served on { $host }:{ $port }: { $error }
