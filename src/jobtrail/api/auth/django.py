"""For applications of Django: whoever is logged in there is known here, by the session of the browser."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .access import Person

if TYPE_CHECKING:
    from collections.abc import Callable


def role_of_staff(user: Any) -> str | None:
    """Superusers are admins, staff are operators, all others nobody."""
    if user.is_superuser:
        return "admin"
    return "operator" if user.is_staff else None


def django_login(role_of: Callable[[Any], str | None] = role_of_staff) -> Callable[[Any], Person | None]:
    """A login for `create_api`: the user of Django's session cookie, with the role that ``role_of(user)`` gives (None: nobody)."""

    def login(request: Any) -> Person | None:
        from django.conf import settings
        from django.contrib.auth import get_user
        from django.db import close_old_connections

        cookie = request.cookies.get(settings.SESSION_COOKIE_NAME)
        if not cookie:
            return None
        close_old_connections()
        try:
            store = import_module(settings.SESSION_ENGINE).SessionStore
            user = get_user(SimpleNamespace(session=store(cookie)))
            role = role_of(user) if user.is_authenticated and user.is_active else None
            return None if role is None else Person(user.get_username(), role)
        finally:
            close_old_connections()

    return login
