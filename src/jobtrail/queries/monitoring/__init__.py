"""What operators watch: errors, charts, audit, statistics, workers and queues, and what needs attention."""
