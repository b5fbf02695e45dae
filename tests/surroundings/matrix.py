"""The settings of a server under which a job must live, one after the other; `report` writes what happens into the docs."""

from __future__ import annotations

from dataclasses import dataclass, field

FORMATS = {
    "DateStyle": "'SQL, DMY'",
    "IntervalStyle": "iso_8601",
    "TimeZone": "'Asia/Kolkata'",
    "standard_conforming_strings": "off",
    "client_encoding": "LATIN1",
    "bytea_output": "escape",
}
LIMITS = {
    "idle_session_timeout": "'1s'",
    "idle_in_transaction_session_timeout": "'1s'",
    "statement_timeout": "'1s'",
    "lock_timeout": "'1s'",
}


@dataclass(frozen=True)
class Case:
    """Settings of one database.

    Attributes:
        name: As the page shows it.
        settings: What ``ALTER DATABASE … SET`` is told.
        happens: What the page says where the life of a job succeeds.
        since: The major version of the server that has them.
    """

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    happens: str = "no effect"
    since: int = 13


# In the short form, all that do not hinder each other are set at once.
SHORT = (
    Case("formats", FORMATS),
    Case("limits", LIMITS),
    Case("serializable", {"default_transaction_isolation": "serializable"}),
)
LONG = (
    *(Case(f"`{name} = {value}`", {name: value}) for name, value in FORMATS.items()),
    Case("`DateStyle = German`", {"DateStyle": "German"}),
    Case("`default_transaction_isolation = 'repeatable read'`", {"default_transaction_isolation": "'repeatable read'"}),
    *(Case(f"`{name} = {value}`", {name: value}) for name, value in LIMITS.items()),
    Case("`transaction_timeout = '1s'`", {"transaction_timeout": "'1s'"}, since=17),
)
