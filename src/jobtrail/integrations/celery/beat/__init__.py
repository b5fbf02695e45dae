"""`celery beat` on the schedules of jobtrail: entries, process and scheduler."""
