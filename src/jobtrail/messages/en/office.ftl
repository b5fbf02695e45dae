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
limits-changed = its limits were changed
paused = paused
pause-ended = the pause has ended
not-observed = not observed from { $since } to { $until }: silence counts from the end of this time
clock-ahead =
    its last activity was { $seconds } { $seconds ->
        [one] second
       *[other] seconds
    } in the future and counts as now
