"""Over the network: the REST API, and the console's files."""

from .auth.access import Person
from .server import create_api

__all__ = ["Person", "create_api"]
