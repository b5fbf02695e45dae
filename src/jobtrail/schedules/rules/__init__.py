"""Rules of time: cron, intervals, dates and calendar steps, and their wording."""
