"""What runs in a child process: it finds the task, runs the body and reports to the worker over the line."""
