"""Queries: everything that people read."""
