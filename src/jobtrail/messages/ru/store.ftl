newest-searched = искали среди { $newest-grouped } новейших; есть и более старые
