# Numbers, durations, parts of lines.
number = { $n-grouped }
seconds = { $n } s
days-and-hours = { $days } d { $hours } h
deadline-in = in { $count-grouped } { $unit }
deadline-over = over
then-default = { $deadline }, then default
counted = { $count-grouped } { $state }
in = in { $span }
took = in { $span }
ago = { $what } { $span } ago
up-to = { $what } up to { $time }
bytes = { $count-grouped } bytes
and-more = … and { $count-grouped } more
none = none
nothing = nothing
it = it
# Jobs.
due = due
waits-for-another = waits for another job
asks-a-person = asks a person: jobtrail answer { $job }
no-jobs = no jobs
showing = showing { $shown-grouped } of { $total }
showing-and-more = { $showing }; go on with { $option } { $job }
times-in-utc = times in UTC
no-items = no items
since = { $outcome } in { $job }
showing-items = showing { $shown-grouped } of { $total-grouped } items: { $words }
lines-dropped = { $count-grouped } lines dropped
no-tasks = no tasks are registered
heading =
    { $part ->
        [questions] Questions
        [timeline] Timeline (UTC)
        [attempts] Attempts
        [items] Items
        [error] Error
        [last_error] Last error
        [log] Log (end)
        [chain] Chain
        [lineage] Lineage
       *[other] { $part }
    }
attempt = attempt { $number }
next-in = next in { $span }
submitted-by = { $program } on { $host } (pid { $pid }, { $user })
end-was-forced = the end was forced, its body still runs
first-run = first
this-job = this job
member-of = member of { $group }
group = group '{ $name }' (…{ $id }): { $state }
group-unnamed = group (…{ $id }): { $state }
group-goes-on = not all of its jobs have ended
group-ended = { $ended-grouped } of { $total-grouped } jobs have ended
group-outcome = { $outcome }, { $total-grouped } jobs
or = { $first } or { $second }
on = on { $end }
on-later = on { $end }, { $span } later
on-at = on { $end }, at { $at }
successor-gone = as { $job }, which was removed
# What was done with a job.
submitted = submitted
is-there-already = is there already
is-under-way = is under way already
reruns = re-runs …{ $job }
is-retried = is retried
is-cancelled = is cancelled
is-asked-to-stop = is asked to stop
is-asked-and-cannot-stop-early = is asked to stop; it has no way to stop early, so the cancel takes effect when its body ends
body-still-runs = is { $state }; its body still runs
units-go-on =
    { $count ->
        [one] { $words }; the one unit that had begun goes on
       *[other] { $words }; the { $count-grouped } units that had begun go on
    }
is-due-now = is due now
is-there-a-worker = { $state }: is a worker on queue '{ $queue }'?
# Options and the application.
csv-or-json = --csv and --json exclude each other; give one of them
argument-twice = the argument '{ $name }' was given twice
not-json = { $option } is not JSON: { $error }
constant-not-json = { $name } is not JSON
not-an-object = { $option } must be one JSON object, such as '{"{"}"airport": "EWR"{"}"}'
not-a-pair = { $option } must be name=value; it is '{ $text }'
not-a-duration = { $option } must be a duration such as 90s, 15m, 24h or 7d; it is '{ $text }'
not-a-time = { $option } must be a time such as 2030-01-31T03:00 or 2030-01-31T03:00+03:00; it is '{ $text }'
no-application = this command needs the tasks: give --app module:object, or set JOBTRAIL_APP
no-place = no database is named: give --app module:object or --database URL (or set JOBTRAIL_APP or JOBTRAIL_URL)
not-module-object = '{ $named }' is not of the form module:object, such as myproject.jobs:jobs
module-without = the module '{ $module }' has no '{ $name }'
not-a-jobtrail = '{ $named }' is of type { $type }, not a JobTrail (nor a function without arguments that returns one)
no-module = there is no module '{ $module }'
no-module-for = there is no module '{ $module }', which '{ $importer }' imports
import-failed = importing '{ $module }' failed: { $type }: { $error } (run with --debug for the traceback)
call-failed = calling '{ $named }' failed: { $type }: { $error } (run with --debug for the traceback)
no-database-file = there is no database file { $path }
unexpected = unexpected { $type }: { $error } (run with --debug for the traceback)
stopped-by-ctrl-c = stopped by Ctrl-C
see-help = { $problem } (see '{ $command } --help')
no-such-command = there is no command '{ $name }'
no-such-command-but = there is no command '{ $name }'; did you mean { $near }?
no-such-option = there is no option { $name }
no-such-option-but = there is no option { $name }; did you mean { $near }?
missing = { $name } is missing
too-many-arguments = the argument '{ $given }' is not expected
option-needs-value = the option { $name } needs a value
option-without-value = the option { $name } takes no value
bad-value = { $name } is not valid: { $problem }
not-a-number = { $name } must be a number{ $range }
# Help.
usage = Usage
arguments = Arguments
options = Options
commands = Commands
default = default
required = required
help-option = Show this help.
its-commands = Its commands.
commands-of = Commands of the plug-in { $name }.
panel =
    { $name ->
        [read] Read
        [change] Change
        [run] Run
        [maintain] Maintain
        [plug_ins] Plug-ins
       *[other] { $name }
    }
placeholder =
    { $name ->
       *[other] { $word }
    }
# Questions and answers.
no-questions = no question waits for an answer
answer-with = answer one with: jobtrail answer ID
nothing-remembered = no answer is remembered
forget-with = to have one asked again: jobtrail forget TASK --source SOURCE
has-asked-nothing = has asked nothing
who-at = { $who } at { $at } UTC
no-deadline = there is no deadline
deadline-then-fails = { $end }; then the job fails
deadline-then-default = { $end }; then { $default } is taken
remembered-or-job = --remembered is about tasks and sources, --job about one job; give one of them
has-its-answer = has its answer to '{ $name }'
no-job-or-question = { $problem }, and no open question that ends so
no-job-or-question-called = { $problem }, and no open question that ends so is called '{ $name }'
no-terminal = there is no terminal to ask at; give the answer, such as --with { $example }
asks = asks
forgotten =
    { $count ->
        [one] { $count-grouped } answer is forgotten of { $where }
       *[other] { $count-grouped } answers are forgotten of { $where }
    }
confirm-answer = Send this answer? [Y/n]
empty-is = empty: { $value }
how-to-map = For each field enter its column, by name or number. Enter takes the proposal in brackets, { $none } is none; * must have a column.
# Backfill and coverage.
backfill-size =
    { $units ->
        [one] { $first } to { $last }: { $units-grouped } unit, { $sources ->
            [one] { $sources-grouped } source
           *[other] { $sources-grouped } sources
        } × { $periods }
       *[other] { $first } to { $last }: { $units-grouped } units, { $sources ->
            [one] { $sources-grouped } source
           *[other] { $sources-grouped } sources
        } × { $periods }
    }
nothing-of-source = nothing of the source '{ $source }' is recorded yet
nothing-without-source = nothing of units without a source is recorded yet
nothing-to-do = nothing to do
no-unit-is = no unit is { $only }
to-run = { $count-grouped } to run
how = ({ $ways }), { $order }, { $parallel-grouped } at a time
newest-first = newest first
oldest-first = oldest first
way =
    { $name ->
        [full] run again in full
        [failed_items] failed items again
        [resume] resumed
       *[submit] submitted
    }
way-counted = { $count-grouped } { $way }
no-units = no units
coverage-cut = not every unit is shown; take a shorter range, a coarser --zoom or fewer sources
# Queues and schedules.
queues-idle = no job waits or runs, and no queue was ever paused
queue-paused = the queue '{ $name }' is paused
queue-paused-already = the queue '{ $name }' is paused already
queue-resumed = the queue '{ $name }' goes on
queue-runs-already = the queue '{ $name }' goes on already
no-limits = no program has declared a limit
limit-is = the limit '{ $name }' allows { $allows } for each key
limit-running = { $number-grouped } at once
limit-rate = { $number-grouped } in { $per } s
limit-any = any number
limit-changed-by = { $allows }, changed by { $who }
paused-by = paused by { $who }
paused-by-until = paused by { $who } until { $until }
ran = ran
edited-by = edited by { $who }
task-unknown-since = no process knows the task '{ $task }' since { $since }
waits-for-job = waits for job …{ $job }
missed-in-a-row = { $count-grouped } missed in a row
take-code = 'jobtrail schedules edit --take-code' drops the changes: the declaration of the program applies again
no-schedules = there are no schedules
declared-only = declared, and stored when a worker starts: { $names }
no-leader = no worker runs that would submit the jobs
made-by = the jobs are submitted by { $workers }
worker = worker …{ $id }
worker-process = worker …{ $id } (process { $pid } on { $host })
no-more-times = no more times follow
nothing-missed = nothing was missed
next-time = next { $time }
is-added = is added
is-as-declared = is as the program declares it
is-changed = is changed
is-paused = is paused
goes-on = goes on
is-removed = is removed
# Plug-ins and the demonstration.
no-plugins = no plug-ins are installed or handed in
left-out = left out
handed-in = handed in
plugin-of-package = { $name } (package { $package })
plugin-left-out = the plug-in is left out: { $why }
no-plugin = there is no plug-in '{ $name }'
plugin-without-commands = the plug-in '{ $name }' has no commands
plugin-not-used = this application does not use the plug-in '{ $name }'
no-examples = this installation of jobtrail has no example 'flights'
# Maintenance.
migrated = the schema is { $version } now
migrated-plugin = the tables of the plug-in '{ $plugin }' are at { $version }
migrated-already = the schema is { $version } already; there was nothing to do
old-enough = old enough: { $counted }
would-stay = (those that other jobs refer to would stay)
removed = removed: { $counted }
metrics-served = metrics on { $url }
metrics-until-stopped = metrics on { $url }; stop with Ctrl-C
# Server, tokens, worker.
not-a-function = --login must be module:function, such as myproject.people:who; '{ $named }' names no function
nobody-could-log-in = { $host } can be reached from other machines, and nobody could log in: create a token first (jobtrail token create --role operator --name ann, or serve --new-token admin), or serve on 127.0.0.1
served-at = jobtrail is at
token-shown-once = token (shown only now)
token-created = token of { $name }, { $role }; it is shown only now and stored as a digest
token-unknown-action = 'jobtrail token' takes create, list or revoke; it is '{ $action }'
token-needs-name-and-role = a token needs a name and a role (viewer, operator or admin): --name ann --role operator
token-name = the name of a token
token-days = --days must be a number above 0 and at most { $most-grouped }; it is { $days }
token-which = no token is named: jobtrail token revoke NAME (or its id)
no-token = no valid token is called '{ $name }'
no-tokens = there are no tokens: jobtrail token create --role operator --name ann
revoked = revoked
tokens-revoked =
    { $count ->
        [one] revoked
       *[other] { $count-grouped } revoked
    }
stopped = stopped
queues-without-names = --queues must be names, such as: default,imports
queues-and-slots = --queues must be either names with --concurrency, or slots for each, such as: default=10,imports=2
draining = stopping: { $running-grouped } running, at most { $seconds } s; a second signal hands them back at once
worker-started = worker …{ $id }: queues { $queues }; { $slots } slots; { $where }; tasks: { $tasks }
worker-stopped = worker …{ $id } stopped after { $span }: { $counted }
# Doctor.
doctor-start-database = check that it runs, and that --database (or JOBTRAIL_URL) names it
doctor-database = { $kind } at { $where }, answers in { $ms } ms
doctor-long-wal = { $file } has { $size } GB
doctor-end-reader = a program keeps a reading transaction open; end it
doctor-autovacuum-off = autovacuum is off on this server
doctor-autovacuum-on = switch it on, or run VACUUM ANALYZE every night: without it claims and pages become slower
doctor-old-transaction = a transaction has been open for { $span }
doctor-end-transaction = end it (pg_stat_activity): dead rows cannot be cleaned up while it is open
doctor-schema-current = { $version }, current
doctor-schema-plugin = { $plugin }: { $told }
doctor-update-plugin = update the plug-in { $plugin } on this machine
doctor-schema-newer = { $version }, newer than this program, which knows { $known }
doctor-schema-older = { $version }, this program needs { $needed }
doctor-no-tables = no tables of jobtrail
doctor-no-plugin-tables = its tables do not exist
doctor-update = update jobtrail on this machine
doctor-migrate = run: jobtrail migrate
doctor-clock-agrees = agrees with the database
doctor-clock-ahead = the clock of this machine is { $seconds } s ahead of the database
doctor-clock-behind = the clock of this machine is { $seconds } s behind the database
doctor-set-clock = jobtrail does not depend on it, but set it: the times in logs will not match
doctor-tasks-unchecked =
    { $count ->
        [one] jobs of { $count } task wait; without --app it is not known whether it is registered
       *[other] jobs of { $count } tasks wait; without --app it is not known whether they are registered
    }
doctor-name-app = give --app module:object to have them checked
doctor-unknown-tasks = jobs wait for tasks that this application does not know: { $tasks }
doctor-register-tasks = register them (or give a renamed task aliases=[…])
doctor-tasks = { $count } registered; all tasks that jobs wait for are known
doctor-repair-package = repair or remove the package { $package }
doctor-repair = repair or remove it
doctor-command-taken = '{ $name }' is a command of jobtrail, so the commands of the plug-in cannot be called
doctor-see-tasks = see the names: jobtrail tasks
doctor-settings = { $path }: { $settings } settings, { $tasks } tasks
doctor-loop-fails = its { $loop } fails and is repeated: { $why }
doctor-read-logs = its log and that of the database have the details
doctor-loop-late = its { $loop } has not completed a pass for long
doctor-restart = restart it; its jobs are handed back
doctor-slots-lost = { $lost } of { $total } slots are lost to bodies that do not stop: { $jobs }
doctor-restart-and-end = restart it (what runs there runs again), and give such tasks executor='process', which can be ended
doctor-loop-blocked = its event loop has been blocked for { $span }
doctor-loop-blocked-by = its event loop has been blocked for { $span } by job { $jobs }
doctor-process-stopped = its process has been stopped (SIGSTOP, Ctrl-Z) for { $span }; its jobs: { $jobs }
doctor-continue = continue the process with kill -CONT, or end it
doctor-await = an async body must await: make it a plain function, or give it executor='process'
doctor-cannot-write = it cannot write to the database: { $why }
doctor-ends-wait = running jobs continue, their ends are written later
doctor-was-away = it was without the database for { $span } until { $ago } ago, and goes on
process-gone = its process is gone
silent-for = silent for { $span }
stopping = stopping
leaving = leaving: a body of it cannot be stopped
serves = queues { $queues }, { $slots } slots
demo-executor = jobtrail demo runs its jobs itself, or in a Celery worker: --once --executor celery --broker redis://localhost
hosts = runs jobs of { $executor }, { $slots } slots
leads = hands jobs over to { $executor }, runs none
doctor-processes-of = { $executor }: { $processes ->
    [one] 1 process runs
   *[other] { $processes } processes run
} jobs; { $waiting } handed over and not begun
doctor-no-process-of = { $executor }: no living process runs jobs; { $waiting } handed over and not begun
doctor-start-process-of = start processes of { $executor } with this application
doctor-not-handed = { $executor }: { $number } due jobs were not handed over, the first for { $span }
doctor-start-relay = start a worker or a process of { $executor }: nothing that is alive hands jobs over to it
doctor-see-relay = the broker of { $executor } may be away: read the logs of the worker that hands over
doctor-handed-late = { $executor }: of { $number } jobs that were handed over from the queue { $queue } none has begun for { $span }
doctor-not-answering = { $executor } cannot be asked: { $error }
doctor-versions = workers run different versions of jobtrail: { $versions }
doctor-same-version = restart those of the older version
worker-alive = …{ $id } on { $host } (pid { $pid }, { $does })
worker-dead = …{ $id } on { $host }: { $told }
worker-trouble = worker …{ $id } on { $host } (pid { $pid }): { $trouble }
doctor-no-worker = none is running
doctor-start-worker = start one: jobtrail --app module:object worker
doctor-alive = { $count } alive: { $workers }
doctor-nothing-waits = no job that is due waits for a worker
queue-waits = queue '{ $queue }' since { $span }
doctor-no-worker-for = { $told }; no worker serves { $queues }
doctor-serve-queues = start one: jobtrail worker --queues { $queues }
doctor-more-workers = more workers, or more slots (--concurrency), would shorten the queue
doctor-running = { $count-grouped } on workers that are alive
doctor-lost = { $count-grouped } marked as running on workers that are gone
doctor-recovers = any running worker recovers them
doctor-questions =
    { $count ->
        [one] { $count-grouped } job waits for an answer
       *[other] { $count-grouped } jobs wait for an answer
    }
doctor-held =
    { $count ->
        [one] { $count-grouped } job is held after its worker died
       *[other] { $count-grouped } jobs are held after their worker died
    }
doctor-list-held = jobtrail list status:interrupted; then retry or cancel them
doctor-failed =
    { $count ->
        [one] { $count-grouped }{ $more } job failed
       *[other] { $count-grouped }{ $more } jobs failed
    }
token-bound = { $role } for { $bound_to }
executed = job { $job } ran in this process
not-executed = job { $job } did not run here: { $why ->
    [taken] this run has begun already
    [ended] it has ended
    [early] it waits for its time or for another job, or its queue is paused
    [gone] there is no such job
    [elsewhere] it is not handed over to another system
   *[stopping] this process was asked to stop
}
would-delete = would delete: { $count ->
         [one] { $count-grouped } job
        *[other] { $count-grouped } jobs
    }
deleted = deleted: { $count ->
         [one] { $count-grouped } job
        *[other] { $count-grouped } jobs
    }
delete-sure = Delete { $count ->
         [one] { $count-grouped } job
        *[other] { $count-grouped } jobs
    } with everything that tells of them?
delete-stays = { $count-grouped } stay: { $reason } (such as { $example })
delete-more = The filter matches older jobs too; the digest is for the newest 10,000.
delete-digest = Delete exactly these with --digest { $digest }, or all that match with --yes.
imported = imported: { $count ->
         [one] { $count-grouped } job
        *[other] { $count-grouped } jobs
    }; { $there-grouped } there already, { $refused-grouped } refused
would-import = would import: { $count ->
         [one] { $count-grouped } job
        *[other] { $count-grouped } jobs
    }; { $there-grouped } there already, { $refused-grouped } refused
record-problem = line { $number }, { $field }: { $why }
exported = exported: { $count ->
         [one] { $count-grouped } job
        *[other] { $count-grouped } jobs
    }
parquet-needs-file = A Parquet file is written to a path: give --to FILE.
export-format = The format { $form } is not known; there are jsonl, csv and parquet.
left = { $span } left
watch-ends = Ctrl-C ends this
watch-more = and { $count-grouped } more
watch-older = older jobs follow
no-workers = no worker was ever started here
workers-living = { $living } living, { $held } of { $slots } slots in use · times in UTC
worker-state = { $state }
no-errors = no job has failed in this time
errors-find = find the jobs of a line by jobtrail list error:{ $fingerprint }
no-completion = for this shell there is no completion: { $shell }; there is for { $known }
kept-by-function = kept: { $count ->
         [one] { $count-grouped } job
        *[other] { $count-grouped } jobs
    }, because a function that is called before the removal failed; see the log
error-one-action = give one of --acknowledge, --mute, --mended and --reopen
error-length = '{ $given }' is no length of time; use 30m, 2h, 3d or 1w
error-said = { $state }, { $who }, { $at }
error-state = { $name ->
        [open] open
        [acknowledged] acknowledged
        [muted] muted
        [mended] mended
        [returned] has come back
       *[other] { $name }
    }
