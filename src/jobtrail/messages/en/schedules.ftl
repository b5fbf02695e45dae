next-time-came = the next time of the schedule '{ $name }' has come
task-unknown = no process knows the task '{ $task }'
name-taken = there is a schedule '{ $name }' already
run-now = schedule '{ $name }', run now
no-schedule = there is no schedule '{ $name }'
failures-in-a-row =
    { $failures } { $failures ->
         [one] failure
        *[other] failures
    } in a row
unreadable = its definition cannot be read: { $error }
never-runs = the schedule '{ $name }' would never run: no time of it lies ahead

## Options of a schedule

not-a-definition = the stored value is not a schedule: { $value }
unknown-option = a schedule has no option '{ $name }'; the options are: { $known }
args-not-by-name = args must be a dictionary of the task's arguments by name; it is { $value }
not-seconds = { $name } must be a number of seconds, at least { $least } (at most a hundred years), or a timedelta; it is { $value }
grace-too-short = { $name } must be a number of seconds, at least { $least } (every run starts a little late), or a timedelta, or None for any lateness; it is { $value }
not-in-our-time = { $name } must be a datetime with a time zone, such as datetime(2030, 1, 1, tzinfo=UTC), in the years 1900 to 2999; it is { $value }
not-a-moment = { $text } is not a moment; write 2030-01-31T03:00+03:00
bad-period = the period of a schedule must be a rule: { $error }
schedule-name = the name of a schedule
lease-too-short = scheduler_lease must be at least 1 second, so that it does not expire between two turns; it is { $value }

## Declarations

two-of-one-name = two schedules are called '{ $name }'; give one of them another name with name=
entry-incomplete = an entry needs 'task' and 'rule'
in-table-entry = entry { $number } of the table of schedules: { $error }
in-beat-entry = the entry '{ $name }' of the beat schedule: { $error }
name-of-person = the schedule '{ $name }' is not stored: a person has added one of this name for the task '{ $task }'

## Changes

not-stored-yet = the schedule '{ $name }' is declared but not stored yet; a starting worker stores it
tz-without-rule = tz is the time zone of a rule; give rule= with it
nothing-to-edit = nothing to edit was given; give rule= or another option
bad-until = until must be a datetime with a time zone, later than now and before the year 3000; it is { $value }
cannot-pause = the schedule '{ $name }' is { $state } and cannot be paused
cannot-resume = the schedule '{ $name }' is { $state } and cannot be resumed
just-changed = the schedule '{ $name }' has just been changed; look at it again
declared-by-program = the schedule '{ $name }' is declared by the program ({ $origin }); remove it there, or pause it
previous-active = the previous run of the schedule '{ $name }' is active: { $job }
masked = { $place } is masked; give its value
pause-over = its pause has ended

## Planned times

slot-down = no scheduler was running
slot-paused = paused
slot-overlap = the previous job had not ended
slot-too-late = too late
slot-task-unknown = task unknown
slot-complete = complete already
slot-refused = refused: { $error }
slot-run-now = run now by { $actor }

## Backfill

backfill-of-itself = '{ $task }' runs units of other tasks and has none of its own to fill
only-empty = only must be one or more of { $allowed }; it is empty
range-backwards = the last period, { $last }, begins before the first, { $first }
range-not-whole = { $first } to { $last } is not a whole number of { $step }s; give another range, or another step ({ $steps })
sources-empty = sources is empty; name at least one source, or leave it out for all known sources
too-many-units =
    { $sources-grouped } { $sources ->
        [one] source
       *[other] sources
    } × { $periods-grouped } { $periods ->
        [one] period
       *[other] periods
    } make { $units-grouped } units, more than { $most-grouped }; take a shorter range, a coarser step or fewer sources
no-source-recorded = no source of '{ $task }' is recorded yet; name it with sources=[…] (--source); { $error }
arguments-unknown = the arguments for { $whose } are not known, { $why }; give them with args={"{"}…{"}"} (--with JSON); { $error }
the-source = the source '{ $source }'
no-source = units without a source
newest-does-not-fit = those of its newest job do not fit
no-earlier-job = there is no earlier job to take them from
plan-has-options = a plan has its options already; '{ $option }' belongs to backfill_plan()
bad-parallel = parallel must be a whole number from 1 to { $most-grouped }; it is { $value }
backfill-of = backfill of { $first } to { $last }
backfill-task-unknown = the worker of the backfill does not know the task '{ $task }'
backfill-taken-over = stopped, or taken over by another run
all-units-ended = all units have ended
units-active = { $active-grouped } under way
units-done = { $done-grouped } of { $total-grouped } units done, { $active-grouped } under way
unit-gone = no record of it is left
complete-meanwhile = complete meanwhile, by job { $job }
unit-ended-meanwhile = is { $state } meanwhile, by job { $job }
active-otherwise = active with other arguments: job { $job }
by-job = job { $job }
unit-job-ended = job { $job } is { status-name }{ $why }
