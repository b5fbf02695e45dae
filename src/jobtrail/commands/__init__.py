"""Commands: everything that changes something, checked before it is written."""
