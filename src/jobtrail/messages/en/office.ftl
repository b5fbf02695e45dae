about = Modules under watch: who reports, who is silent, since when.

## Limits and quiet hours

bad-limit = { $name } must be a number of seconds from 1 to 31,622,400 (366 days); it is { $value }
limits-order = warn_after must be less than error_after; they are { $warn } s and { $error } s
bad-recovery = recovery_beats must be a whole number from 1 to { $most }; it is { $value }
bad-quiet-hours = { $text } are no quiet hours; write "mon-fri 22:00-06:00 Europe/Berlin", several with semicolons between them
too-many-windows = quiet hours may have at most { $most } windows

## Modules

no-module = there is no module '{ $name }'

## Why a status changed

registered = registered
first-report = first report
reports-again = it reports again
reported = it reported { $status }
silent =
    no activity for { $limit } { $limit ->
        [one] second
       *[other] seconds
    }
never-reported =
    it has not reported within { $limit } { $limit ->
        [one] second
       *[other] seconds
    }
flapping =
    it fell from ok { $falls } { $falls ->
        [one] time
       *[other] times
    } within an hour
limits-changed = its limits were changed
paused = paused
resumed = resumed
removed = removed
not-declared = the settings no longer name it
pause-ended = the pause has ended
not-observed = not observed from { $since } to { $until }: silence counts from the end of this time
clock-ahead =
    its last activity was { $seconds } { $seconds ->
        [one] second
       *[other] seconds
    } in the future and counts as now

## Settings

too-short = { $name } must be at least { $least }; it is { $value }
unknown-setting = { $place }: there is no setting '{ $name }'; the settings are: { $known }
unknown-schedule = Office has no schedule '{ $name }'; the schedules are: { $known }
unknown-limit = a module has no setting '{ $name }'; the settings are: { $known }

## What a module reports

bad-name = { $name } is no name of a module; write up to 100 letters, digits and . : @ _ -, beginning with a letter or digit
not-in-settings = there is no module '{ $name }'; the modules are: { $known }
bad-status = status must be one of { $known }; it is { $value }
bad-message = the message of a beat is a text of at most { $most } characters
bad-time = the time of a beat must be a datetime with a time zone; it is { $value }
bad-number = a number of a beat has a name of letters, digits, _ . - and a finite value; { $name } is { $value }
too-many-numbers = a beat may bring at most { $most } numbers
bad-number-option = write a number as --number rows=120; this is { $text }

## What people change

name-taken = there is a module '{ $name }' already
bad-until = until must be a time in the future with a time zone, such as 2030-01-31T18:00+01:00; it is { $value }
two-ends = give either minutes or until, not both
bad-day = { $value } is not a day; write 2030-01-31
bad-sql = { $value } is none of { $known }

## The command line

none = there are no modules yet; a first beat registers one: jobtrail beat NAME
beat-stored = { $name } is { $status }; its beat is stored
is-registered = { $name } is under watch
is-paused = { $name } is paused
is-resumed = { $name } is watched again; its silence counts from now
has-limits = the limits of { $name } are changed
is-removed = { $name } is removed
never = never
shown-limits = warning after { $warn } s, error after { $error } s, back after { $beats } { $beats ->
        [one] beat
       *[other] beats
    }
shown-quiet = quiet hours: { $hours }
shown-pause = paused until { $until }; { $reason }
column =
    { $name ->
        [module] module
        [age] last activity
       *[other] { $name }
    }
