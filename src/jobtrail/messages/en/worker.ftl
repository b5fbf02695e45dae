chosen-by-hand = chosen by hand
selection-gone = the selected jobs are not kept any more; select them again and start the action again
job-gone = is gone
job-ran-again = has run again meanwhile
unit-active = its unit has an active job: { $in_way }
rerun-already = was run again already
input-accepted = accepted: SHA-256 { $submitted } at submission, { $now } now
middleware-raised = a middleware raised { $error } after the body
shutdown = interrupted by shutdown
earlier-run-ends = the body of an earlier run still ends in this worker
unknown-task = unknown task: no worker knows '{ $task }'
no-sign-of-life = no sign of life for { $seconds } s
claim-lost = the answer to its claim was lost
bad-beat = beat must be 'thread' or 'child'; it is { $kind }
loop-ended = its event loop has ended before it
timed-out = timed out after { $limit } s
silent = gave no sign of life for { $limit } s
store-away = the store was away: { $error }
raised-while-stopping = { $sentence }; while it stopped it raised { $error }
limit-reached = { $cause }: { $sentence }
by-job = { $reason } (by job { $job })
bulk-action = bulk action
gave-up = its worker gave it up
hook-raised = a function given to { $function } raised { $type }
task-not-found = a child process cannot find the task '{ $name }': { $place } is not it; define the task at import, under that name
unknown-end = a child process ended its job in an unknown way: { $how }
job-over = the job of this context has ended
ends-not-written =
    { $count-grouped } { $count ->
         [one] end of a run is
        *[other] ends of runs are
    } not written
middleware = a middleware
call-next-not-awaited = a middleware called call_next(run) and did not await it, so the body did not run; write: return await call_next(run)
input-accepted-meanwhile = accepted: SHA-256 { $submitted } at the start, { $now } at the end
known-elsewhere = another worker knows the task '{ $task }'
