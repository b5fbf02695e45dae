"""The command `manage.py jobtrail`."""
