newest-searched = the newest { $newest-grouped } jobs were searched for this; older ones follow
