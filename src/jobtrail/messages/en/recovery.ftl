process-gone = its worker's process { $pid } is gone
loop-blocked = its event loop was blocked for { $seconds } s, past the deadline of job { $job }
process-stopped = its process was stopped for { $seconds } s, past the deadline of job { $job }
process-ended = its worker's process { $pid } was ended: { $what }
worker-silent = its worker was silent for { $seconds } s
over-limit = over its { $cause } limit for { $seconds } s, and its worker did not stop it
result-kept = the end of the run was refused by a fault of jobtrail; what it returned is kept in the spool file { $name }.refused
result-not-stored = the result of the body could not be stored: { $type }
left-interrupted = it was left interrupted
no-worker = no worker holds it
worker-not-known = its worker is not known
body-still-runs = asked to stop ({ $cause }) and did not; its body still runs
worker-ended = its worker ended without it
worker-dead = its worker is dead
file-kept = the store is away; { $path } is kept
store-went-away = the store went away while lost jobs were recovered
ends-wait =
    the store is away; { $count-grouped } { $count ->
         [one] end of an orphaned body waits
        *[other] ends of orphaned bodies wait
    } for it
