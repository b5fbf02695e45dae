"""Backfill: the plan over a range of periods and the job that runs it."""
