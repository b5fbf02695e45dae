"""Whose hands execute a body: `local` (the loop and threads); processes and Celery come beside it."""
