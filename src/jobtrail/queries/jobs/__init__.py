"""What people read of jobs: lists, counts, one job in detail, its items, log, trail and lineage, and allowed actions."""
