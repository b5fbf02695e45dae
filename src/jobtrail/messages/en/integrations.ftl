no-tracing = tracing needs opentelemetry-api: install jobtrail[tracing]
bad-tracing = tracing must be True or an OpenTelemetry TracerProvider; it is { $value }
no-metrics = metrics need prometheus-client: install jobtrail[metrics]
cannot-listen = metrics cannot be served on { $host }:{ $port }: { $error }

## APScheduler

aps-about = Keeps the jobs of APScheduler, and what became of their planned times.
aps-slot-coalesced = run together with a later time (coalesce)
aps-no-reference = the function of the APScheduler job { $name } has no reference that can be stored; use a function of a module instead of a lambda, a nested function or a partial
aps-bound-method = the function of the APScheduler job { $name } is a method of an object, which would have to be pickled; use a function of a module, a class method, or a reference such as "module:object.method"
aps-stopped = the coroutine was stopped, with its scheduler or because somebody asked for it
aps-not-begun = the worker that keeps the record has not begun
aps-not-again = the function or the arguments of this run could not be stored as JSON, so it cannot be run again from here
aps-not-here = the function { $function } is not there: { $error }
aps-end-unknown = the process that ran it did not record its end, so whether it ran to its end is not known; run it again by hand if that does no harm

## Celery

no-celery = tracking Celery needs celery: install jobtrail[celery]
period-not-function = period must be a function of the arguments by name, such as lambda args: args["day"]; it is { $value }
unknown-description = describe returned { $names }; it may return { $known }
bad-exclude = exclude must be a list of patterns of task names, such as ["mail.*"]; it is { $value }
bad-sample = sample must map patterns of task names to numbers from 0 to 1; for { $pattern } it is { $value }
bad-memory = memory must be a whole number of records, at least 1; it is { $value }
bad-describe = describe must be a function of task name and arguments; it is { $value }
use-celery-retry = retries of a Celery task are Celery's: call self.retry(), or use autoretry_for
end-not-known = Celery started the next attempt; the end of this one was not reported
delivered-again = Celery delivered the task again
rejected = the task rejected its message
ignored = the task asked Celery to ignore its result
expired = expired before a worker took it
revoked = revoked before it began
terminated = terminated by { $signal }
celery-without-app = the executor celery needs the address of a Celery application: set app = 'module:name' in the table executors.celery, or JOBTRAIL_EXECUTOR__CELERY__APP
not-a-celery-app = { $app } is not a Celery application
celery-app-taken = this Celery application runs the jobs of another JobTrail already: give each its own Celery application
celery-eager = task_always_eager runs each task where it is sent, so jobs would not reach a worker: remove it, or use jobtrail.testing in tests
celery-early-acks = task_annotations set acks_late = False for '{ $name }': a job of a killed worker would not be delivered again; leave '{ $name }' out
celery-pool = jobtrail cannot run jobs in the pool { $pool }: use prefork, threads or solo
celery-visibility = visibility_timeout is { $timeout } s and the task '{ $task }' may run { $limit } s: Redis delivers its message again while it runs; the second delivery changes nothing, but set visibility_timeout above { $limit } s
celery-broker-away = the broker does not answer: { $error }
celery-start-broker = start the broker, or correct broker_url
celery-no-worker = no Celery worker answers
celery-start-worker = start one with celery worker
celery-workers = { $number ->
    [one] 1 Celery worker answers
   *[other] { $number } Celery workers answer
}
celery-task-unknown = { $workers } do not know the task jobtrail.run
celery-import = let the Celery application import the module that makes the JobTrail
celery-no-consumer = nobody serves the queue { $queue } (in Celery { $name }), in which { $waiting } messages wait
celery-consume = start a worker with -Q { $name }
celery-depth = queue { $queue } (in Celery { $name }): { $waiting } messages wait
revoked-in-celery = revoked in Celery
not-sent = the Celery task { $task } was not sent: { $error }
sending-unknown = the connection to the broker was lost while the Celery task { $task } was sent, so it is not known whether Celery has it: { $error }
sender-lost = the process that sent the Celery task { $task } died while it did, so it is not known whether Celery has it
sent-only = sent to Celery, where nobody records its run
beat-options = { $setting } must map names of entries, or "*", to options of a schedule; not valid: { $names }
beat-local-zone = enable_utc is off and timezone is not set, and the time zone of this machine has no name; set timezone, for example "Europe/Berlin"
results-kind = { $kind } is not known; use { $known }
results-database = the database of the results cannot be read: { $error }
results-table = the database has no table { $table }
results-pickled = The result is pickled and was not loaded, because a pickle can run any program; import with --unpickle where you trust whoever can write to that table.
results-not-unpickled = The pickled result could not be loaded: { $error }

## Django

django-in-memory = the database { $alias } of Django is in memory, which jobs would not survive; name a file, for tests in DATABASES[{ $alias }]["TEST"]["NAME"]
django-vendor = the database { $alias } of Django is { $vendor }; jobtrail works on PostgreSQL and SQLite, and JOBTRAIL["DATABASE"] names one of them
django-no-alias = DATABASES has no { $alias }
django-other-database = the connection { $alias } leads to another database than that of the jobs, { $ours }; a job is part of a transaction of its own database only
django-psycopg2 = jobs in Django's transactions need psycopg 3: install "psycopg[binary]>=3.2" and remove psycopg2
