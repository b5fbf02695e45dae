"""Ended jobs as they leave: export."""
