"""How jobs are run: the worker and its turns."""
