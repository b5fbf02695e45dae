"""API tokens as people see them: names and roles, never the token itself or its digest."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from jobtrail.store import tokens

from .base import Model

if TYPE_CHECKING:
    from sqlalchemy import Connection


class TokenLine(Model):
    """An API token."""

    id: str
    name: str
    role: str
    created_at: datetime
    actor: str | None
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
    bound_to: str | None


class TokenList(Model):
    """All tokens, newest first."""

    tokens: list[TokenLine]
    now: datetime


def read_list(conn: Connection, now: datetime) -> TokenList:
    """Read every token, newest first."""
    return TokenList(tokens=[TokenLine.model_validate(row) for row in tokens.all_of(conn)], now=now)
