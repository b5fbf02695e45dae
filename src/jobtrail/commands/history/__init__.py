"""Ended jobs as history: what is deleted, brought in and taken out."""
