"""Limits by key as people change them."""
