"""Alembic's entry: the connection (and its transaction and lock) is handed in by `jobtrail.database.migration`."""

from __future__ import annotations

from alembic import context

from jobtrail.database.tables import metadata as own_metadata

config = context.config
schema = config.attributes["schema"]
metadata = own_metadata if schema.is_core else schema.metadata
connection = config.attributes.get("connection")

if connection is None:
    context.configure(
        dialect_name=config.attributes["dialect"],
        target_metadata=metadata,
        version_table=schema.version_table,
        literal_binds=True,
        output_buffer=config.output_buffer,
    )
    with context.begin_transaction():
        context.run_migrations()
else:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        version_table=schema.version_table,
        transactional_ddl=False,
        render_as_batch=connection.dialect.name == "sqlite",
    )
    context.run_migrations()
