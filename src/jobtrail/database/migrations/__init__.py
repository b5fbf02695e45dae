"""Alembic environment of the schema; called by `jobtrail.database.migration` only."""
