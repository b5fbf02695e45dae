newest-searched = the newest { $newest-grouped } jobs were searched for this; older ones follow
follows = follows { $task } { $job }, which is { $status }
unit-in-the-way = job { $job } of its unit is in the way
stands-for-it = job { $job } stands for it
