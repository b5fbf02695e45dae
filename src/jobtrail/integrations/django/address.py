"""The address of a database of Django's settings, as jobtrail takes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL

from jobtrail.errors import InvalidOption
from jobtrail.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

OF_DJANGO = {"assume_role", "context", "cursor_factory", "isolation_level", "pool", "prepare_threshold", "server_side_binding"}


def url_of(connection: Any) -> str:
    """Return the address of the database that a connection of Django leads to; a test database, while tests run.

    Args:
        connection: A `BaseDatabaseWrapper`, ``django.db.connections["default"]``.

    Raises:
        InvalidOption: If it is neither SQLite in a file nor PostgreSQL.
    """
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        name = str(settings["NAME"])
        if connection.is_in_memory_db():
            raise InvalidOption(Message("integrations.django-in-memory", alias=connection.alias))
        return URL.create("sqlite", database=str(Path(name).absolute())).render_as_string()
    if connection.vendor != "postgresql":
        raise InvalidOption(Message("integrations.django-vendor", alias=connection.alias, vendor=connection.vendor))
    return _postgres(settings).render_as_string(hide_password=False)


def _postgres(settings: Mapping[str, Any]) -> URL:
    options = {name: str(value) for name, value in settings["OPTIONS"].items() if name not in OF_DJANGO}
    host = str(settings["HOST"] or "")
    if host.startswith("/"):  # the folder of a socket
        options["host"], host = host, ""
    return URL.create(
        "postgresql",
        username=settings["USER"] or None,
        password=settings["PASSWORD"] or None,
        host=host or None,
        port=int(settings["PORT"]) if settings["PORT"] else None,
        database=settings["NAME"] or None,
        query=options,
    )
