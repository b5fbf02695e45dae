item-gone = gone
key-twice = two items of the loop '{ $loop }' have the key { $key }; each item needs a key of its own
item-not-entered = the item { $key } of the loop '{ $loop }' was not entered; write 'with item:' around the work on it, or nothing is recorded
batch-not-entered = a batch of the loop '{ $loop }' was not entered; write 'with batch:' around the work on it
too-many-failed = { $failed-grouped } of { $total-grouped } items failed, which is over max_failed_items={ $limit }
input-raised = the input of the loop '{ $loop }' raised { $type } after item { $after-grouped }
bad-parallel = parallel must be a whole number from 1 to { $most }; it is { $parallel }
parallel-async = a plain task function cannot await the items of the loop '{ $loop }': give run() a plain function, or declare the task with async def
bad-batch-size = the size of a batch must be a whole number from 1; it is { $size }
loop-twice = the task function has a loop called '{ $name }' already; give the second one a name=
next-outside-job = schedule_next() works in a running job only
asked-twice = this job has asked '{ $name }' already; each question needs a name of its own (in a loop: with the item's key)
step-not-storable = the result of the step '{ $name }' cannot be stored: { $error }
task-function = the task function
step-function = the function of the step '{ $name }'
hook-function = the function
awaitable-returned = { $what } returned an object of type { $type } that nobody awaits, so its work was not done; declare the function with async def and await the object there (a decorator needs an async def wrapper that awaits)
future-returned = { $what } returned a future of type { $type } that nobody waits for; return its result instead: future.result(), or await in an async def
iterator-returned = { $what } returned an iterator of type { $type } that nobody reads, so its work was not done; read it in the function: return list(...)
on-cancel-async = on_cancel() takes a plain function, because it calls the function in another thread without an event loop; { $function } is a coroutine function
fence-database = a fence needs a connection to the database of the jobs (SQLite or PostgreSQL), not to { $given }
