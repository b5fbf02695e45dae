"""Versions of the tables of Office."""
