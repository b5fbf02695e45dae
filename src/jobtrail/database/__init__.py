"""The database: connection, dialects, writer, tables, clock, wake-up, leases and migrations."""
