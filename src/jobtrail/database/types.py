"""Column types that both databases read and write alike: instants, ids, free texts and sentences of the catalogue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Dialect, Text
from sqlalchemy.dialects.postgresql import TIMESTAMP as PG_TIMESTAMP
from sqlalchemy.dialects.postgresql import UUID as PG_UUID
from sqlalchemy.types import TypeDecorator, TypeEngine

from jobtrail.messages import render

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 in UTC."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(value: int) -> datetime:
    """The moment that `to_micros` wrote."""
    return EPOCH + timedelta(microseconds=value)


class FreeText(TypeDecorator[str]):
    r"""A text in people's own words (a reason, an actor, a note): every database must take it, whatever is in it.

    NUL, which PostgreSQL cannot store, and lone surrogates, which have no UTF-8, are spelled out (``\x00``, ``\ud800``).
    Keys are not of this type: a key with such a character is refused at submission instead.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Spell out what cannot be stored."""
        del dialect
        return None if value is None else storable(value)


def storable(text: str) -> str:
    """Return a text as every database stores it; see `FreeText`."""
    if text.isascii():
        return text.replace("\x00", "\\x00") if "\x00" in text else text
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()


class Sentence(FreeText):
    """People's own words, or a message of the catalogue in its stored form; it is read in the reader's language."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 -- the signature is SQLAlchemy's
        """The text for people."""
        return render(value) if value is not None and value.startswith("@") else value


class Moment(TypeDecorator[datetime]):
    """An instant in UTC."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """PostgreSQL has a type for it."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(PG_TIMESTAMP(timezone=True))
        return dialect.type_descriptor(BigInteger())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Aware moments only; a naive one would be read in somebody's zone."""
        if value is None or dialect.name == "postgresql":
            return value
        return to_micros(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always aware, always UTC."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            moment: datetime = value.astimezone(UTC)
            return moment
        return from_micros(value)


class Id(TypeDecorator[str]):
    """A UUID, always seen as its text."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """PostgreSQL has a type for it."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(PG_UUID(as_uuid=True))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """PostgreSQL's driver takes UUID objects."""
        if value is None or dialect.name != "postgresql":
            return value
        return UUID(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """The text form, whatever the driver gave."""
        return None if value is None else str(value)
