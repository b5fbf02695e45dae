too-many-columns = that makes { $count-grouped } columns, more than { $most }; take a shorter range or a coarser zoom
periods-reversed = the last period, { $last }, ends before the first, { $first }, begins
no-units = no task '{ $task }' is known, and no units of it are recorded; there are: { $known }
bad-items-cursor = after must be the next of the page before
no-item = job { $job } and its generation have no item { $key } in the loop '{ $loop }'
bad-audit-cursor = a page of the audit begins at the 'next' of another page; '{ $before }' is not one
no-error-group = no job has the error { $fingerprint }
rule-out-of-range = the rule '{ $rule }' names a time outside the years 1 to 9999
worker-place = { $host }, process { $pid }
retry = runs this job once more, as attempt { $attempt }; finished steps and items stay, failed items run again
rerun-unreached = makes a new job with the items that were never reached; steps run again, finished items stay
rerun-resume = makes a new job that takes up what was not reached and keeps finished steps; this job stays as it is
rerun-full = makes a new job that does all of it again, from the start; this job stays as it is
rerun-changed = makes a new job with other arguments; masked values stay what they were; this job stays as it is
rerun-file = makes a new job that works on a corrected file; this job stays as it is
run-now = does not wait for its time: it is due at once
answer = answers its question; the job runs again from the start, finished work is not repeated
force = writes its end although its body still runs; its unit stays taken until the body has returned
cancel-running = asks its body to stop; what it has recorded stays
cancel-asking = ends it and closes its question
cancel = ends it before it runs
needs-operator = this needs the role operator; yours is { $role }
task-unknown = this server does not know the task { $task }
rerun-failed-items =
    makes a new job with { $failed ->
         [one] the one failed item
        *[other] the { $failed-grouped } failed items
    } and those that were never reached; { $ok-grouped } finished ones stay; this job stays as it is
waiting-behind = waits for another job to end
waiting-celery = waits until a Celery worker that is tracked sends it to the broker
waiting-celery-has = Celery has it: its message waits in the broker or for its time
waiting-later = waits for its time, { $at }
waiting-retry = attempt { $attempt } starts at { $at }
waiting-unknown-task =
    no worker that took it knows the task { $task } ({ $times ->
        [one] one try
       *[other] { $times-grouped } tries
    }); the next try is at { $at }
waiting-paused = is due; the queue { $queue } was paused by { $actor } at { $since }
waiting-no-worker = is due; no living worker takes jobs from the queue { $queue }
waiting-alone = is due; its worker died while it ran, so it runs alone in the next worker that looks for it
waiting-beside-none = is due; its worker died while it ran, so it runs alone and waits for another such job to end
waiting-busy =
    is due; { $slots ->
        [one] the one slot
       *[other] all { $slots-grouped } slots
    } for the queue { $queue } are taken, the oldest run began at { $oldest }
waiting-not-handed = is due; not handed over to { $executor } since { $at }
waiting-no-relay = is due since { $at }; no living worker or process of { $executor } hands it over
waiting-handed = handed over to { $executor } at { $at }, not begun
waiting-no-host = handed over to { $executor } at { $at }, not begun; no living process of { $executor } runs jobs
no-process-of = no living process of { $executor } runs jobs
waiting-next = is due; a worker takes it from the queue { $queue } in a moment
waiting-limit-running = is due; the limit { $limit } lets { $most } with the key { $key } run at once, and { $running } run
waiting-limit-rate = is due; the limit { $limit } lets { $rate } with the key { $key } start in { $per } s, the next one at { $at }
no-parquet = Parquet files need the extra jobtrail[parquet], which is not installed
