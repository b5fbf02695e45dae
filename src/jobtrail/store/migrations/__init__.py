"""Alembic environment of the schema; called by `jobtrail.store.migrate` only."""
