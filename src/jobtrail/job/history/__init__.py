"""Ended jobs as records: what is exported and imported."""
