"""Integrations with systems of others, each in one file."""
