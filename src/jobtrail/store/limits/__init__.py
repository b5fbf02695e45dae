"""Limits by key in the store: what they allow, what is used, and the claim of jobs that have one."""
