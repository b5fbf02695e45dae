no-tracing = tracing needs opentelemetry-api: install jobtrail[tracing]
bad-tracing = tracing must be True or an OpenTelemetry TracerProvider; it is { $value }
no-metrics = metrics need prometheus-client: install jobtrail[metrics]
cannot-listen = metrics cannot be served on { $host }:{ $port }: { $error }

## APScheduler

aps-about = Keeps the jobs of APScheduler, and what became of their planned times.
aps-slot-coalesced = run together with a later time (coalesce)
aps-no-reference = the function of the APScheduler job { $name } has no reference that can be stored; use a function of a module instead of a lambda, a nested function or a partial
aps-bound-method = the function of the APScheduler job { $name } is a method of an object, which would have to be pickled; use a function of a module, a class method, or a reference such as "module:object.method"
