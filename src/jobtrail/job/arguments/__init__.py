"""Arguments of a task: checked against the annotations of its function."""
