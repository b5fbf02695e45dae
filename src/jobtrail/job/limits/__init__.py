"""Limits by key: what a task declares, how a rate is counted, and which waiting jobs may start. No I/O."""
