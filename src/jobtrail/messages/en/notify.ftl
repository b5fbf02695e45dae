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
module-flapping = module { $subject } does not stay ok: it fell { $falls } times within an hour
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
about = Tells people what happened: rules, channels, deliveries, inbox.
not-a-rule = rules are objects of AlertRule; one is { $value }
bad-channel-name = the name of a channel is 1 to 50 lower-case letters, digits, - and _, begins with a letter and is not inbox; it is { $name }
bad-timeout = a timeout is a number of seconds over 0 and up to { $most }; it is { $value }
bad-channel-option = { $option } of a channel must be one line of text that is not empty
bad-url = the URL of a webhook or ping must begin with https:// or http:// and have a host
bad-security = security of a mail channel is one of { $known }; it is { $value }
bad-port = a port is a number from 1 to 65535; it is { $value }
no-receiver = a mail channel needs at least one address in to
bad-address = { $value } is not an address such as ops@example.org
half-a-login = a login at a mail server needs user and password, or neither
login-without-tls = a password goes to another machine only with security "starttls" or "tls"
no-apprise = channels of Apprise need its package: install jobtrail[apprise]
bad-apprise-url = the URL is none that Apprise knows
http-status = the answer was status { $status }
mail-refused = the mail server refused { $count ->
        [one] { $count-grouped } receiver
       *[other] { $count-grouped } receivers
    } (code { $codes })
apprise-refused = the service did not take the message
disabled-title = channel { $channel } is disabled
disabled = channel { $channel } is disabled after { $failures ->
        [one] { $failures-grouped } failure
       *[other] { $failures-grouped } failures
    }: { $why }; a successful test enables it again
no-entry = there is no message { $id } in the inbox
no-delivery = there is no delivery { $id }
channel-unknown = there is no channel { $channel } any more
channel-disabled = channel { $channel } is disabled
perhaps-twice = This message may have come before: an earlier try was interrupted while it was sent.
job-ended = job { $job } ended without sending it
rule-channel = the rule '{ $rule }' names the channel '{ $channel }'; the channels are: { $known }
two-rules = two rules have one name; the names are: { $names }
bad-fallback = the channel '{ $channel }' has the fallback '{ $fallback }'; another one of these is needed: { $known }
test-title = test of channel { $channel }
test-body = This is a test message of jobtrail to channel { $channel }.
test-sent = the test message left on channel { $channel }
test-failed = the test message did not leave on channel { $channel }: { $why }
no-channel = there is no channel '{ $channel }'; the channels are: { $known }
bad-ping = a ping is called every 5 to 86400 seconds; it is { $value }
ping-failed = the ping to { $target } failed: { $why }
direct-failed = the message about the store did not leave on channel { $channel }: { $why }
unknown-key = { $place } has the key '{ $name }'; the keys are: { $known }
bad-language = the language of messages is one of { $known }; it is { $value }
not-a-table = { $place } must be a table
bad-type = { $place } needs a type; the types are: { $known }
incomplete-channel = { $place } lacks a key; the keys are: { $known }
at-place = { $place }: { $error }
no-variable = { $place } names the variable { $name } of the environment, which is not set
channel-line = { $channel } ({ $kind }, { $target }): { $state }
not-a-channel = the channel { $channel } is an object with send(message), such as Mail or Webhook; it is { $type }
