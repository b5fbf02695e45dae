"""Rules and channels from ``jobtrail.toml``: the table ``[plugins.notify]``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from jobtrail.errors import InvalidOption, UsageError
from jobtrail.messages import Message

from .channels.apprise import AppriseChannel
from .channels.base import NotifyChannel, channel_name
from .channels.mail import Mail
from .channels.webhook import Webhook
from .rules import AlertRule
from .watchdog import Ping

TYPES: dict[str, Callable[..., NotifyChannel]] = {"mail": Mail, "webhook": Webhook, "apprise": AppriseChannel}
LANGUAGES = ("en", "ru")
ENVIRONMENT = "env:"
T = TypeVar("T")


@dataclass(frozen=True)
class NotifySettings:
    """Rules, channels, ping and language of an application."""

    rules: tuple[AlertRule, ...] = ()
    channels: Mapping[str, NotifyChannel] = field(default_factory=dict)
    ping: Ping | None = None
    language: str = "en"


def merged(own: NotifySettings, table: Mapping[str, Any], place: str) -> NotifySettings:
    """Return the settings of the program with those of the file over them.

    A rule or a channel of the same name is replaced; a rule with ``enabled = false`` is removed. ``"env:NAME"`` stands for the
    value of a variable of the environment, so that no secret stands in the file.

    Args:
        own: The settings of the program.
        table: The table ``[plugins.notify]``.
        place: Where it stands, for messages.

    Raises:
        InvalidOption: If a key or a value is not valid; the message names the place and no value of a channel.
    """
    known = {"rules", "channels", "ping", "ping_every", "language"}
    for name in table.keys() - known:
        raise InvalidOption(Message("notify.unknown-key", place=place, name=name, known=sorted(known)))
    rules = {rule.name: rule for rule in own.rules}
    for name, options in _table(table, "rules", place).items():
        rule = _rule(name, options, f"{place}.rules.{name}")
        rules.pop(name, None)
        rules |= {name: rule} if rule is not None else {}
    channels = dict(own.channels)
    for name, options in _table(table, "channels", place).items():
        channels[channel_name(name)] = _channel(options, f"{place}.channels.{name}")
    ping = own.ping
    if "ping" in table:
        every = table.get("ping_every", 60.0)
        ping = _at(f"{place}.ping", lambda: Ping(_resolved(table["ping"], f"{place}.ping"), every))
    return NotifySettings(tuple(rules.values()), channels, ping, checked_language(table.get("language", own.language)))


def checked_language(language: Any) -> str:
    """Return the language of messages.

    Raises:
        InvalidOption: If there is no such language.
    """
    if language not in LANGUAGES:
        raise InvalidOption(Message("notify.bad-language", value=repr(language), known=list(LANGUAGES)))
    return str(language)


def _rule(name: str, options: Any, place: str) -> AlertRule | None:
    if not isinstance(options, dict):
        raise InvalidOption(Message("notify.not-a-table", place=place))
    given = dict(options)
    if given.pop("enabled", True) is False:
        return None
    known = {one.name for one in fields(AlertRule) if one.init and one.name != "name"}
    for key in given.keys() - known:
        raise InvalidOption(Message("notify.unknown-key", place=place, name=key, known=sorted(known)))
    if "kinds" not in given:
        raise InvalidOption(Message("notify.rule-without", rule=name, option="kinds"))
    return _at(place, lambda: AlertRule(name, **given))


def _channel(options: Any, place: str) -> NotifyChannel:
    if not isinstance(options, dict):
        raise InvalidOption(Message("notify.not-a-table", place=place))
    given = {key: _resolved(value, f"{place}.{key}") for key, value in options.items()}
    make = TYPES.get(given.pop("type", None))
    if make is None:
        raise InvalidOption(Message("notify.bad-type", place=place, known=sorted(TYPES)))
    known = {one.name: one for one in fields(make) if one.init}  # type: ignore[arg-type]
    for key in given.keys() - known.keys():
        raise InvalidOption(Message("notify.unknown-key", place=place, name=key, known=sorted(known)))
    try:
        return make(**given)
    except TypeError:  # an argument is missing
        raise InvalidOption(Message("notify.incomplete-channel", place=place, known=sorted(known))) from None
    except UsageError as error:
        raise InvalidOption(Message("notify.at-place", place=place, error=error)) from None


def _resolved(value: Any, place: str) -> Any:
    """A value, or what the variable of the environment holds that it names."""
    if isinstance(value, list):
        return [_resolved(one, place) for one in value]
    if isinstance(value, dict):
        return {name: _resolved(one, place) for name, one in value.items()}
    if not isinstance(value, str) or not value.startswith(ENVIRONMENT):
        return value
    name = value.removeprefix(ENVIRONMENT)
    if name not in os.environ:
        raise InvalidOption(Message("notify.no-variable", place=place, name=name))
    return os.environ[name]


def _table(table: Mapping[str, Any], key: str, place: str) -> Mapping[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise InvalidOption(Message("notify.not-a-table", place=f"{place}.{key}"))
    return found


def _at(place: str, make: Callable[[], T]) -> T:
    """Make something; an error names the place."""
    try:
        return make()
    except UsageError as error:
        raise InvalidOption(Message("notify.at-place", place=place, error=error)) from None
