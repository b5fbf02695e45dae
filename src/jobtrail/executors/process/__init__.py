"""Bodies in child processes: a pool of warm children that really end when they are stopped."""
