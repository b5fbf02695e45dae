"""Where jobs are kept: SQLAlchemy Core over SQLite or PostgreSQL."""

from .store import Store

__all__ = ["Store"]
