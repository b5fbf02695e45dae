"""Versions of the tables of notifications."""
