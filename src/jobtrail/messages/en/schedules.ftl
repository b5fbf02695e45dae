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
