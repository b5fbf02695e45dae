"""Rendering for terminals: tables, text and colours."""
