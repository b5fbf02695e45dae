"""Ended jobs that come from elsewhere."""
