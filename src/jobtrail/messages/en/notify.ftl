bad-kind = a kind is dotted lower-case words such as module.error; it is { $kind }
bad-subject = a subject is a text of 1 to { $most } characters; it is { $subject }
bad-moment = the time of an event is an aware datetime; it is { $value }
bad-rule-name = the name of a rule is 1 to 50 lower-case letters, digits, _, . and -; it is { $name }
bad-rule-kind = the rule '{ $rule }' has the kind { $kind }; a kind is dotted words such as module.error, with * at the end for any rest
rule-without = the rule '{ $rule }' has no { $option }; it needs at least one
bad-list = { $option } of the rule '{ $rule }' is a text or a list of texts; it is { $value }
bad-seconds = { $option } of the rule '{ $rule }' is a number of seconds from { $least } to a year; it is { $value }
bad-times = times of the rule '{ $rule }' is a whole number from 1; it is { $value }
bad-text = { $option } of the rule '{ $rule }' is a text that is not empty; it is { $value }
where-without-jobs = the rule '{ $rule }' has a filter, which is for events of jobs and questions; its kinds must begin with job. or question.
bad-where = the filter of the rule '{ $rule }' is not valid: { $error }
silent-needs = the rule '{ $rule }' needs task and since together with the kind task.silent, and only with it
bad-quiet = quiet hours are two different times and a zone, such as 22:00-07:00 Europe/Berlin; they are { $value }
module-error = module { $subject } is in error
module-error-over = module { $subject } is not in error any more
module-warning = module { $subject } has a warning
module-warning-over = module { $subject } has no warning any more
module-recovered = module { $subject } is all right again
job-failed = { $what } failed
job-partial = { $what } is only partly done
job-interrupted = { $what } was interrupted, { $times } times so far
job-over = { $what } needs nobody any more
question-waiting = { $what } asks: { $question }
question-deadline = { $what } waits for an answer until { $deadline }: { $question }
question-over = { $what } does not wait for an answer any more
schedule-missed = schedule { $subject } missed a planned time
task-silent = nothing ran for task { $subject } since { $last }
task-silent-over = task { $subject } runs again
worker-lost = the worker on { $host } died
store-away = the database did not answer on { $host }
store-away-over = the database answers again on { $host }
disk-unwritable = a folder on { $host } cannot be written
disk-unwritable-over = the folder on { $host } can be written again
other = { $subject }: { $kind }
other-over = { $subject }: { $kind } is over
kind-over = { $kind } over
several = { $count ->
        [one] { $count-grouped } event
       *[other] { $count-grouped } events
    }: { $kinds }
and-more = and { $count ->
        [one] { $count-grouped } more
       *[other] { $count-grouped } more
    }
again = still: { $title }
