"""Channels: how a message leaves, and how its secrets are kept out of everything that people see."""
