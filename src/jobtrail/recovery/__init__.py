"""Recovery: heartbeat, liveness, upkeep, spool and orphaned bodies."""
