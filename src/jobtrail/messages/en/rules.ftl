not-a-rule = { $value } is not a time rule; accepted are cron text such as '0 3 * * *' or '@daily', 'every 5 minutes', 'at 2030-01-31T03:00Z', a timedelta, a datetime with a time zone, the results of cron(), every(), at() and calendar_interval(), and triggers of APScheduler
not-a-number = { $name } must be a number, at least { $least }; it is { $value }
not-whole = { $name } must be a whole number, at least { $least }; it is { $value }
not-a-moment = { $name } must be a datetime with a time zone, such as datetime.now(UTC); it is { $value }
zone-misspelt = the time zone { $name } is unknown; did you mean { $near }?
no-start = the rule has no start yet; give it start=, or use .anchored(moment)
interval-too-short = an interval must be at least one second; it is { $seconds } s
interval-too-long = the interval is longer than Python can represent; use a shorter one
calendar-without-step = a calendar rule needs a step of at least one day, week, month or year
calendar-step-too-long = the step of a calendar rule must be at most a thousand years
calendar-start = start must be a date, such as date(2030, 1, 31); it is { $value }
not-a-time-of-day = { $value } is not a time of day; hours are 0-23, minutes and seconds 0-59
not-an-interval = { $text } is not an interval; write 'every 5 minutes' or 'every 1 hour 30 minutes', in seconds, minutes, hours, days and weeks; for months and years use cron text or calendar_interval()
not-a-moment-text = { $text } is not a moment; write 'at 2030-01-31T03:00+03:00' or 'at 2030-01-31T00:00Z'
stored-unknown = the stored value is not a time rule that this version knows: { $value }
no-language = there are no texts in the language { $language }; the languages are: { $known }

## Cron text

cron-field = { $field }
cron-accepted =
    { $field ->
        [hour] 0-23
        [day-of-month] 1-31, L for the last day, LW for the last day from Monday to Friday
        [month] 1-12 or JAN-DEC
        [day-of-week] 0-7 or SUN-SAT (0 and 7 are Sunday), 5#2 for the second Friday, 5L for the last
       *[other] 0-59
    }
cron-needed = cron text is needed, such as '0 3 * * *' for every day at 03:00
cron-too-long = the cron text is { $length-grouped } characters long; at most { $most-grouped } are accepted
cron-reboot = '@reboot' is not a time; call the task where the application starts
cron-alias = { $alias } is not an alias of cron text; the aliases are: { $known }
cron-fields =
    the cron text { $text } has { $count } { $count ->
        [one] field
       *[other] fields
    }; it needs 5: minute, hour, day of month, month, day of week (or 6, with the second before them)
cron-step = the { cron-field } { $part } of the cron text { $text } has the step { $step }, but the field has only { $count } values, so only the first would ever match; for longer intervals write 'every 90 minutes', or use calendar_interval(days=, weeks=, months=)
cron-bad-field = the { cron-field } { $part } of the cron text { $text } is not valid; accepted are { cron-accepted }, * for all, lists (1,15), ranges from low to high (1-5) and steps (*/15)
cron-unreadable = the cron text { $text } cannot be read: { $error }
cron-never = the cron text { $text } never matches: no day of any year has its day, month and weekday together

## Celery beat

beat-not-a-dictionary = a beat schedule must be a dictionary of names and entries; it is { $value }
beat-most-urgent = most_urgent must be 9 (RabbitMQ) or 0 (Redis); it is { $value }
beat-refused =
    { $count ->
        [1] an entry
       *[other] { $count } entries
    } of the beat schedule cannot be converted: { $problems }
beat-entry = { $name }: { $error }
beat-name = the name of an entry must be a text
beat-entry-not-a-dictionary = an entry must be a dictionary with 'task' and 'schedule'
beat-unknown-key = the key { $key } is unknown; the keys are: { $known }
beat-no-task = 'task' must be the name of a task
beat-no-schedule = 'schedule' must be a crontab, a timedelta or a number of seconds
beat-args = 'args' must be a list or a tuple
beat-kwargs = 'kwargs' must be a dictionary whose keys are names
beat-solar = a solar schedule is not supported; write the event { $event } as a time of day
beat-nowfun = a schedule with a clock of its own (nowfun=) is not supported; give the time zone with tz= instead
beat-kind = a schedule of the type { $type } is not supported; use a crontab, a timedelta or a number of seconds
beat-relative = 'relative' is only supported for whole days, whole hours below a day, and whole minutes below an hour
beat-options = 'options' must be a dictionary
beat-unknown-option = the option { $key } is not supported; the options are: { $known }
beat-queue = the option 'queue' must be the name of a queue
beat-priority = the option 'priority' must be a whole number from 0 to { $most }; it is { $value }
beat-seconds = the option { $name } must be a number of seconds from the planned time; it is { $value }

## Rules in words: units, months and weekdays

unit =
    { $unit ->
        [second] second
        [minute] minute
        [hour] hour
        [day] day
        [week] week
        [month] month
       *[year] year
    }
month =
    { $month ->
        [1] January
        [2] February
        [3] March
        [4] April
        [5] May
        [6] June
        [7] July
        [8] August
        [9] September
        [10] October
        [11] November
       *[12] December
    }
weekday =
    { $day ->
        [1] Monday
        [2] Tuesday
        [3] Wednesday
        [4] Thursday
        [5] Friday
        [6] Saturday
       *[7] Sunday
    }
ordinal =
    { $number ->
        [1] first
        [2] second
        [3] third
        [4] fourth
        [5] fifth
       *[last] last
    }
month-of = { month }
month-to = { month }
month-in = { month }
weekday-listed = { weekday }
weekday-from = { weekday }
weekday-to = { weekday }

## Rules in words: how parts are joined

phrase = { $first } { $second }
comma = { $first }, { $second }
and = { $first } and { $last }
or = { $first } or { $last }
also = { $first }, and also { $second }
in-zone = { $words } ({ $zone })
counted-from = { $words }, counted from { $start }
run = { $first } to { $last }
decimal = { $whole }.{ $fraction }

## Rules in words: intervals and calendar steps

once = once, at { $moment }
count =
    { $number } { $number ->
        [one] { unit }
       *[other] { unit }s
    }
every =
    every { $number ->
        [1] { unit }
       *[other] { count }
    }
every-span = every { $span }
days-in-hours = { $days } ({ $hours })
clamped = { $days } (on the last day where the month is shorter)

## Rules in words: days

every-day = every day
last-day = on the last day
last-working-day = on the last day from Monday to Friday
each-year = every year on { $dates }
on-dates = on { $dates }
date = { $day } { month }
day-one = { $day }
day-run = { $first } to { $last }
on-day = on day { $days }
on-days = on days { $days }
on-days-run = on days { $days }
each-day =
    on every { $step }{ $step ->
        [2] nd
        [3] rd
       *[other] th
    } day from { $first } to { $last }
of-months = of { $months }
of-every-month = of every month
of-every-month-run = of every month from { $first } to { $last }
in-months = in { $months }
in-every-month = in every month from { $first } to { $last }
every-weekday = every { weekday }
every-weekdays = every { $days }
weekday-run = every day from { $first } to { $last }
on-weekday = on { weekday }
on-nth-weekdays = on { $days }
nth-weekday = the { ordinal } { weekday }
if-it-is = { $dates }, if it is { $days }
is-weekday = a { weekday }
is-nth-weekday = the { ordinal } { weekday } of the month

## Rules in words: the time of day

at-times = at { $times }
window = from { $first } to { $last }
at = at { $values }
within = in { $values }
unit-one = { unit } { $value }
unit-many = { unit }s { $values }
unit-each =
    every { $step }{ $step ->
        [2] nd
        [3] rd
       *[other] th
    } { unit } from { $first } to { $last }
of-every-unit = of every { unit }

## Triggers of APScheduler

of-trigger = at the times of { $trigger }
trigger-unknown = the trigger { $trigger } is not known here; accepted are { $known } of APScheduler themselves, because only these can be stored as JSON
trigger-zone = the time zone { $zone } of the trigger has no name; give the trigger a named one, such as timezone="Europe/Berlin"
trigger-jitter = the trigger has a jitter, which is another one in each process; leave it out and give jitter= to the schedule
trigger-not-installed = the rule is a trigger of APScheduler, which is not installed here; install jobtrail[apscheduler]
trigger-never-agrees = the triggers of { $trigger } agreed on no time in { $count-grouped } steps; combine triggers that have times in common
