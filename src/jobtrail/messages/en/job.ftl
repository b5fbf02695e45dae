period-backwards = the period from { $start } to { $end } ends before it has begun
period-out-of-years = the period { $value } is outside the years 1 to 9999
period-grains-differ = { $first } and { $last } differ in grain or time zone, so they form no series
period-series-misses-end = the series that starts at { $first } does not reach { $last }; the last period must be one of the series
period-bad-part = a period can be split into year, month, week, day or hour, not into { $into }
period-no-neighbour = the period next to { $period } is outside the years 1 to 9999
period-bad-rule = { $rule } is not a rule of a period; use "previous" or "current" and year, month, week, day or hour, as in "previous month"
period-not-in-calendar = the period { $text } is not in the calendar; accepted are { accepted-periods }
hour-skipped = the hour { $text } does not exist in { $zone }: the clock skips it
day-skipped = the day { $day } does not exist in { $zone }: the zone went from the day before to the day after
time-not-in-calendar = the time { $value } is not in the calendar; accepted are { accepted-periods }
time-without-zone = the time { $value } has no time zone; add an offset (Z, +01:00) or a zone ([Europe/Berlin])
datetime-without-zone = a datetime with tzinfo is needed, got { $at } (no time zone)
unknown-zone = the time zone { $name } is unknown; use a name such as UTC or Europe/Berlin
not-a-period = { $value } is not a period; accepted are { accepted-periods }
value-of-type = a value of type { $type }
too-many-periods = that makes more than { $most-grouped } periods; use a coarser grain or a shorter span
step-arguments = the arguments of the step '{ $name }' cannot be compared between runs: { $error }
not-comparable = { $type } is not JSON, a period, a file, a path or a date
unknown-task-option = the task '{ $name }' has no option '{ $option }'; the options are: { $known }
unnamed-parameters = the task { $function } takes arguments without a name; arguments of jobs are stored by name, so use named parameters
arguments-unnamed = takes { $positional } unnamed arguments and got { $given }
argument-twice = got the argument '{ $name }' twice
argument-unknown = has no argument { $unknown }
argument-missing = needs the argument { $missing }
argument-does-not-fit = { $path } does not fit { $annotation }: { $reason }
arguments-refused = { $task } { $problem }
not-seconds = { $name } must be a number of seconds above 0, or None ('none' in settings) for no limit; it is { $value }
bad-priority = priority must be a whole number from 0 (most urgent) to 9; it is { $value }
not-a-choice = { $name } must be one of { $allowed }; it is { $value }
not-bytes = { $name } must be a number of bytes, at least { $least-grouped }, or a text such as '512MB'; it is { $value }
not-a-name = { $name } must be a printable text of 1 to 200 characters, without spaces at its ends, other than "." and ".."; it is { $value }
not-a-queue = { $name } must be a name without a comma and "=", which separate queues on the command line; it is { $value }
tracked-queue = { $name } must not begin with "celery:", because those queues are of tasks that Celery executes; it is { $value }
argument-is-context = '{ $name }' is the context of the job; give the argument another name
bad-labels = labels must be at most { $most } texts by name; they are { $labels }
label-with-equals = a label's key must not contain '=', because labels are searched as label:key=value; it is { $key }
label-key = a label's key
label-value = the label '{ $key }'
bad-zone = zone must be the name of a time zone, such as Europe/Vienna; it is { $value }
task-name = the name of a task
bad-jobs-per-child = max_jobs_per_child must be a whole number, at least 1; it is { $jobs }
memory-limit-without-process = the task '{ $task }' has a memory_limit, which only a child process can hold; add executor='process'
function-not-importable = the task '{ $task }' has executor='process', but a child process cannot import { $where }; define it at the top level of a module (or in a class there), not inside a function
task-name-taken = two tasks are called '{ $name }'; rename one of them
no-such-task = no task is called '{ $name }'; the tasks are: { $known }
retry-not-number = retry { $name } must be a number, at least { $least }; it is { $value }
retry-not-bool = retry { $name } must be True or False; it is { $value }
delay-ignored = the delay that RetryableError asked for is ignored: it { $trouble }
delay-capped = the delay asked for ({ $seconds } s) is above max_delay; waiting { $most } s
wait-capped = the wait of the retry policy is { $seconds } s; waiting { $most } s
wait-failed = the default back-off of { $instead } s is used: the wait of the retry policy { $trouble }
bad-retry = retry must be a Retry, a number of attempts, or None ('none' in settings) for no retry; it is { $value }
bad-attempts = retry attempts must be a whole number of executions, at least 1 (no retry), or None ('none' in settings) for no limit; it is { $value }
bad-max-delay = retry max_delay must be a number of seconds above 0 (at most ten years), or None; it is { $value }
wait-above-max-delay = retry wait is { $seconds } s and max_delay { $cap } s; max_delay must be at least the wait
not-exceptions = retry { $name } must be exception classes; it has { $one }
wait-raised = raised { $type }
wait-endless = is endless
wait-not-number = is of type { $type }, not a number
wait-nan = is NaN
wait-negative = is negative
bad-wait-kind = retry wait has the unknown kind { $kind }; the kinds are exponential, fixed and custom
bad-max-failed-items = max_failed_items must be a whole number, at least 0, or a share above 0.0 and up to 1.0, or None ('none' in settings) for no limit; it is { $value }
stopped-with-reason = stopped: { $reason }
stopped-by-body = stopped by the body
nothing-to-do = nothing to do
some-items-failed =
    { $failed-grouped } of { $total-grouped } { $total ->
         [one] item
        *[other] items
    } failed
bad-item-key = the key of an item must be a str, int, date, datetime, UUID or a tuple of those; it is of type { $type }. Give key= a function that returns one
bad-on = on must be success, partial, failure or cancelled, several of them, or ended (every end); it is { $wrong }
bad-when = when must be "now", a timedelta or seconds from 0 on, or a datetime with a time zone in the years 1900 to 2999; it is { $when }
illegal-move = the move '{ $name }' leaves { $allowed } for { $targets }; it cannot go from { $start } to { $to }
not-answered = nobody answered '{ $question }' in time
partial-because = partial: { $note }
with-warning = { $text } ({ $warning })
handed-back-often =
    handed back { $times } { $times ->
         [one] time
        *[other] times
    }: { $reason }
others-failed =
    { $count ->
         [one] { $count-grouped } item of another job of its generation has failed
        *[other] { $count-grouped } items of other jobs of its generation have failed
    }
mended = a later job has completed its work: { $job }
items-again =
    { $note }; { $count ->
         [one] { $count-grouped } item is tried again
        *[other] { $count-grouped } items are tried again
    }
unknown-task = unknown task
unknown-task-here = unknown task here
all-items-failed = all { $total-grouped } items failed
all-items-skipped = all { $total-grouped } items were skipped
only-item-failed = the only item failed
only-item-skipped = the only item was skipped
both = { $first }; { $second }
left-early =
    the loop was left early after { $total-grouped } { $total ->
         [one] item
        *[other] items
    }
left-early-failed =
    the loop was left early after { $total-grouped } { $total ->
         [one] item
        *[other] items
    }, { $failed-grouped } of them failed
stopped-by-limit = stopped by its { $cause } limit
stopped-by-limit-and = stopped by its { $cause } limit; { $how }
limit = { $cause } limit
killed-its-worker =
    killed its worker { $strikes ->
        [one] once
       *[other] { $strikes } times
    }
worker-lost = worker lost
not-finished = not finished: { $reason }
partial = partial
a-steps-result = a step's result
far-too-large = { $what } above the allowed { $limit } by far; { $advice }
too-large = { $what } of { $size } ({ $bytes-grouped } bytes) above the allowed { $limit } ({ $allowed-grouped } bytes); { $advice }
value-contains-itself = contains itself
value-too-deep = is nested deeper than { $most } levels
key-not-text = has a key of type { $type }; JSON keys are text: use str()
value-not-json = is of type { $type }, which is not a JSON value{ $hint }
float-not-json = is the float { $value }, which is not a JSON value: use None
int-too-long = is an int of more than 4,000 digits, which could not be read back: use str()
at-path = { $path } { $problem }
hint = : use { $call }
result-too-large = result is larger than { $limit } and was not stored
result-not-storable = result could not be stored: { $type }
lost-int = an int of more than 4,000 digits
result-of-size-too-large = result of { $size } is larger than { $limit } and was not stored
result-not-json = result is not JSON at { $path }: { $what }{ $more }; stored as far as it is
and-more = {" "}(and { $count-grouped } more)
lost-cycle = it contains itself
lost-depth = nested deeper than { $most } levels
lost-key = two keys with the same text
arguments = arguments
advice-file = pass a file or a reference instead
advice-less = ask for less at once
retried = retried
called-exit = job called exit ({ $status })
raised-cancelled = job raised CancelledError, and nobody had asked it to stop
raised = job raised { $type }
raised-and = job raised { $type }: { $error }
skip-stopping = is being stopped already
skip-ended = has ended
skip-status = is { status-name }
skip-waits = waits for another job
skip-due = is due already
skip-body-runs = its body still runs
skip-active = its unit has an active job
skip-newer = its unit has a newer job
skip-continued = its work is being continued
skip-complete = is complete
skip-no-failed = none of its items failed
skip-no-file = did not work on a file
not-retryable = it is { status-name }; a failed, partial, interrupted or cancelled job can be retried
body-runs = its body still runs; it can be retried when that has ended
newer = job { $job } of its unit is newer: retry that one
not-ended = it is { status-name }; it can be run again when it has ended
without-file = it did not work on a file
continued = job { $job } is continuing its work
complete = it is complete; nothing is left to do
active = job { $job } of its unit is active
ended = it has ended: it is { status-name }
stopping = it has been asked to stop already
not-stopping = it has not been asked to stop
not-pending = it is { status-name } and waits for no time
waits-for = it waits for job { $job }
due = it is due already
asks-nothing = it is { status-name } and asks nothing
accepted-periods = 2013, 2013-02, 2013-02-12, 2013-02-12T05, 2013-W07 and start/end, with a zone as in 2013-02[Europe/Berlin]
function-without-name = { $function } has no __name__; give the task a name: @jobs.task(name=...)
not-callable = the task '{ $task }' needs a function; { $function } cannot be called. Put @jobs.task on a plain function, or register the bound method: jobs.task(Class.method)
generator-function = the task '{ $task }' is a generator function ({ $function }): a call only makes a generator and runs nothing of it. Use return instead of yield, or ctx.items() for a loop
bad-ready-marker = ready_marker must be an ending that is added to the file's name, such as '.done', or the name of a file in the same folder; it is { $value }
removed = job { $job } has ended ({ $status }) at { $at }; its details are removed
skip-needed = an active job needs it
skip-group-open = its group has not ended
needed = active job { $job } needs it
group-open = its group { $group } has not ended
not-deletable = it is { status-name }; a job can be deleted when it has ended
body-runs-on = its body still runs; it can be deleted when that has ended
limit-number = the limit '{ $limit }': { $name } must be a whole number from 1 to { $most }, it is { $value }
limit-per = the limit '{ $limit }': per must be a positive number of seconds, it is { $value }
limit-without-number = the limit '{ $limit }' allows any number; give it running=, the number of jobs that may run at once, or rate= and per=
limit-value = the limit '{ $limit }': the argument '{ $field }' must be a text, a number or a truth value to be part of a key, it is { $value }
not-a-limit = the task '{ $task }': limits must be a list of Limit(...), it has { $value }
limit-field = the task '{ $task }': the limit '{ $limit }' names '{ $field }', which is no argument of it. Known: { $known }
limit-secret = the task '{ $task }': the limit '{ $limit }' names '{ $field }', whose values are hidden, and keys are shown
limit-tasks = the limit '{ $limit }': tasks must be a name, a list of names, or '*' for all, it is { $value }
limit-twice = the task '{ $task }' has the limit '{ $limit }' twice
limit-differs = the task '{ $task }' declares the limit '{ $limit }' with other numbers than another task
too-many-limits = the task '{ $task }' has { $number } limits, at most { $most } are accepted
limit-name = the name of a limit must be a printable text of 1 to { $most } characters, it is { $value }
limit-template = the limit '{ $limit }' is not a template: { $problem }. Fields are names, such as {"{"}tenant{"}"}; write a brace twice to mean itself
record-not-text = must be a text, not a value of type { $type }
record-not-name = must be a text of 1 to 500 printable characters; it is { $value }
record-not-number = must be a number of 0 or more; it is { $value }
record-not-flag = must be true or false; it is { $value }
record-not-time = must be a time such as 2013-02-01T03:00:00Z; it is { $value }
record-naive-time = has no time zone: { $value }; add an offset (Z, +01:00)
record-not-id = must be a UUID of version 7; it is { $value }. Give the id of another system as key
record-not-object = must be an object, not a value of type { $type }
record-not-json = is not JSON: { $error }
record-not-choice = must be one of { $allowed }; it is { $value }
record-not-error = must be a text, or an object of texts: type, message, traceback, origin, fingerprint
record-not-file = must be an object with path, size and sha256
record-not-period = { $error }
record-unknown-field = there is no such field; the fields are: { $known }
record-missing = is missing
record-not-rows = must be a list of objects
record-refused = { $error }
record-other-outcome = does not fit the status { status-name }
record-after-end = is later than finished_at
record-period-or-file = a job has a period or a file, not both
not-days = { $name } must be a number of days from 0 to 100,000, None ('none' in settings) for ever, or "settings"; it is { $value }
